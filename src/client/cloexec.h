/* Keeping libzookeeper's descriptors out of programs that this one starts. */
#ifndef CURATOR_CLOEXEC_H
#define CURATOR_CLOEXEC_H

#include <glib.h>
#include <sys/socket.h>

/* The descriptors open now. */
GArray *curator_open_fds (void);
/* Marks the non-blocking pipes that are open now and were not in before. */
void curator_cloexec_new_pipes (GArray *before);
/* Marks the non-blocking sockets connected to peer. */
void curator_cloexec_sockets (const struct sockaddr *peer, socklen_t length);

#endif
