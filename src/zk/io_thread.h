/* The descriptors that libzookeeper's IO thread polls; the library has no call that returns
 * them. */
#pragma once

#include <glib.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <zookeeper/zookeeper.h>

typedef struct
{
  char name[16];      /* only the two threads of the handle have it */
  pid_t tids[2];      /* 0: not found */
  _Atomic int pipe;   /* the read end of its wake-up pipe; -1: not known yet */
  int free_before[2]; /* the lowest free descriptors before the handle was opened */
} CuratorIoThread;

/* The caller opens the handle between these two calls. newest: a thread created shortly before. */
void curator_io_thread_prepare (CuratorIoThread *io, char before[16]);
void curator_io_thread_find (CuratorIoThread *io, const char before[16], pid_t newest);

/* The wake-up pipe and the socket (-1 if there is none). FALSE while the thread is not in poll. */
gboolean curator_io_thread_look (CuratorIoThread *io, int *pipe, int *sock);
/* TRUE while each of the handle's two threads waits for the network or for a lock: in no look-up and
 * in no message. Also if that is not shown here. */
gboolean curator_io_thread_rests (CuratorIoThread *io);
/* A duplicate of the socket, to be closed by the caller. -1 without a socket, and while the thread
 * is not in poll. */
int curator_io_thread_dup_socket (CuratorIoThread *io);

/* Keeps child programs from inheriting them: sets FD_CLOEXEC on both ends of the wake-up pipe, and
 * on the socket of the handle that has just connected, if one is given; unless the thread does not
 * wait in poll within patience_us. */
void curator_io_thread_hide (CuratorIoThread *io, gint64 patience_us, zhandle_t *connected);

/* The inode of an open pipe or socket, 0 if the descriptor is not of that type. Reads its name in
 * /proc: ThreadSanitizer would report fstat() as a race with the owner. */
guint64 curator_fd_inode (int fd, mode_t type);
