/* The descriptors that libzookeeper's IO thread waits for, which the library itself does not show. */
#ifndef CURATOR_IO_THREAD_H
#define CURATOR_IO_THREAD_H

#include <glib.h>
#include <stdatomic.h>
#include <sys/types.h>

typedef struct
{
  char name[16];      /* of the two threads of the handle, of no others */
  pid_t tids[2];      /* 0: not found */
  _Atomic int pipe;   /* the end of its wake-up pipe that is read; -1: not known yet */
  int free_before[2]; /* the lowest free descriptors before the handle was opened */
} CuratorIoThread;

/* @locality any thread. TRUE if this system shows what a thread waits for. */
gboolean curator_io_thread_is_shown (void);

/* @locality one thread, which between these two opens the handle; the threads that it starts inherit
 * their name. newest: a thread that was created shortly before. */
void curator_io_thread_prepare (CuratorIoThread *io, char before[16]);
void curator_io_thread_find (CuratorIoThread *io, const char before[16], pid_t newest);

/* @locality any thread. What it waits for: the wake-up pipe and the socket, -1 if it has none. FALSE
 * while the thread runs. */
gboolean curator_io_thread_look (CuratorIoThread *io, int *pipe, int *sock);
/* The same, waiting for the thread to wait, for at most patience_us. */
gboolean curator_io_thread_wait (CuratorIoThread *io, gint64 patience_us, int *pipe, int *sock);
/* A duplicate of the socket, to be closed soon. -1 if there is no socket or the thread runs. */
int curator_io_thread_dup_socket (CuratorIoThread *io);

/* What is open under this number: it is the same file where the result is the same. 0: nothing.
 * By its name in /proc: a look at the descriptor itself would be a race with its owner to tools that
 * watch descriptors. */
guint64 curator_fd_inode (int fd, mode_t type);

#endif
