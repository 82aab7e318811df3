/* Keeps child programs from inheriting libzookeeper's descriptors. */
#ifndef CURATOR_CLOEXEC_H
#define CURATOR_CLOEXEC_H

#include "zk/io_thread.h"

#include <glib.h>
#include <sys/socket.h>

/* Sets FD_CLOEXEC on both ends of the wake-up pipe. FALSE if the thread did not wait within
 * patience_us. */
gboolean curator_cloexec_pipe (CuratorIoThread *io, gint64 patience_us);
/* The same, and on its socket if that has this peer. */
gboolean curator_cloexec_socket (CuratorIoThread *io, gint64 patience_us,
                                 const struct sockaddr *peer, socklen_t length);

/* For systems that do not show what a thread waits for; these examine every descriptor. */

/* All open descriptors. */
GArray *curator_open_fds (void);
/* Sets FD_CLOEXEC on non-blocking pipes that are open now but were not before. */
void curator_cloexec_new_pipes (GArray *before);
/* Sets FD_CLOEXEC on non-blocking sockets connected to peer. */
void curator_cloexec_sockets (const struct sockaddr *peer, socklen_t length);

#endif
