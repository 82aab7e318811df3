/* Keeps child programs from inheriting libzookeeper's descriptors. */
#pragma once

#include "zk/io_thread.h"

#include <zookeeper/zookeeper.h>

/* Sets FD_CLOEXEC on both ends of the wake-up pipe, and on the socket of the handle that has just
 * connected, if one is given; unless the thread does not wait within patience_us. */
void curator_cloexec (CuratorIoThread *io, gint64 patience_us, zhandle_t *connected);
