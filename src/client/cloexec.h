/* Keeps child programs from inheriting libzookeeper's descriptors. */
#ifndef CURATOR_CLOEXEC_H
#define CURATOR_CLOEXEC_H

#include <glib.h>
#include <sys/socket.h>

/* All open descriptors. */
GArray *curator_open_fds (void);
/* Sets FD_CLOEXEC on non-blocking pipes that are open now but were not before. */
void curator_cloexec_new_pipes (GArray *before);
/* Sets FD_CLOEXEC on non-blocking sockets connected to peer. */
void curator_cloexec_sockets (const struct sockaddr *peer, socklen_t length);

#endif
