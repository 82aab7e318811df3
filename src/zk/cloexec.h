/* Keeps child programs from inheriting libzookeeper's descriptors. */
#pragma once

#include "zk/io_thread.h"

#include <glib.h>
#include <sys/socket.h>

/* Sets FD_CLOEXEC on both ends of the wake-up pipe, unless the thread does not wait within
 * patience_us. */
void curator_cloexec_pipe (CuratorIoThread *io, gint64 patience_us);
/* The same, and on its socket if that has this peer. */
void curator_cloexec_socket (CuratorIoThread *io, gint64 patience_us, const struct sockaddr *peer,
                             socklen_t length);
