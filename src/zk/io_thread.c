/* The descriptors that libzookeeper's IO thread polls: its wake-up pipe and its socket.
 *
 * Mirrors nothing. Threads: any; the shared counter and the pipe's number are atomic.
 *
 * NOTES: the thread waits in poll (pipe, socket). Linux shows the system call in which a thread of
 * the own process waits, with its arguments (/proc/self/task/TID/syscall). So the descriptors are
 * certain, and the cost does not depend on how many the program has open. A new thread inherits the
 * name of its creator: a unique name identifies the library's two threads. If the system does not
 * show the descriptors, children inherit them (ZOOKEEPER-2338: a build flag, off in Debian).
 */
#include "zk/io_thread.h"

#include "base/fork_gate.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* A new thread gets the next free id. Other threads may be created at the same time. */
#define MAX_TID_DISTANCE 16

static gboolean
read_file (const char *path, char *text, gsize size)
{
  const int fd = open (path, O_RDONLY | O_CLOEXEC);
  const ssize_t length = fd < 0 ? -1 : read (fd, text, size - 1);

  if (fd >= 0)
    close (fd);
  text[MAX (length, 0)] = '\0';
  return length > 0;
}

/* The system call in which the thread waits, and its first two arguments. */
static gboolean
read_call (pid_t tid, long *number, guint64 arguments[2])
{
  char path[64];
  char text[256];
  char *end;

  g_snprintf (path, sizeof path, "/proc/self/task/%d/syscall", (int) tid);
  if (!read_file (path, text, sizeof text) || !g_ascii_isdigit (text[0]))
    return FALSE;
  *number = strtol (text, &end, 10);
  arguments[0] = g_ascii_strtoull (end, &end, 16);
  arguments[1] = g_ascii_strtoull (end, &end, 16);
  return TRUE;
}

/* For a lock, a condition. */
static gboolean
is_futex (long number)
{
#ifdef SYS_futex_time64
  if (number == SYS_futex_time64)
    return TRUE;
#endif
  return number == SYS_futex;
}

static gboolean
is_poll (long number)
{
#ifdef SYS_poll
  if (number == SYS_poll)
    return TRUE;
#endif
#ifdef SYS_ppoll_time64
  if (number == SYS_ppoll_time64)
    return TRUE;
#endif
  return number == SYS_ppoll;
}

/* The thread may return from its call and even end meanwhile, so the memory is read by the
 * kernel. */
static gboolean
read_memory (guint64 address, void *to, gsize size)
{
  const struct iovec local = { .iov_base = to, .iov_len = size };
  const struct iovec remote = { .iov_base = GSIZE_TO_POINTER ((gsize) address), .iov_len = size };
  return process_vm_readv (getpid (), &local, 1, &remote, 1, 0) == (ssize_t) size;
}

/* TRUE if this system shows the system call in which a thread waits. */
static gboolean
is_shown (void)
{
  static gint answer; /* atomic; 0: not asked yet */
  long number;
  guint64 arguments[2];
  char probe = 1;
  char copy = 0;

  if (g_atomic_int_get (&answer) == 0) {
    /* For the calling thread the file shows the call that reads it. */
    const gboolean shown = read_call (gettid (), &number, arguments)
                           && read_memory ((guint64) GPOINTER_TO_SIZE (&probe), &copy, sizeof copy)
                           && copy == probe;
    g_atomic_int_set (&answer, shown ? 1 : -1);
  }
  return g_atomic_int_get (&answer) > 0;
}

void
curator_io_thread_prepare (CuratorIoThread *io, char before[16])
{
  static gint n_handles; /* atomic */

  io->pipe = -1;
  io->tids[0] = io->tids[1] = 0;
  io->free_before[0] = io->free_before[1] = -1;
  if (pipe2 (io->free_before, O_CLOEXEC) == 0) {
    close (io->free_before[0]);
    close (io->free_before[1]);
  }
  g_snprintf (io->name, sizeof io->name, "zk-io-%x", (guint) g_atomic_int_add (&n_handles, 1));
  pthread_getname_np (pthread_self (), before, 16);
  pthread_setname_np (pthread_self (), io->name);
}

/* FALSE if there are more than two threads of that name: another copy of us uses it too. */
static gboolean
add_if_named (CuratorIoThread *io, const char *tid)
{
  char path[64];
  char name[64];

  g_snprintf (path, sizeof path, "/proc/self/task/%s/comm", tid);
  if (!read_file (path, name, sizeof name) || strcmp (g_strchomp (name), io->name) != 0)
    return TRUE;
  const guint at = io->tids[0] == 0 ? 0 : 1;
  const gboolean is_room = io->tids[at] == 0;
  io->tids[at] = is_room ? (pid_t) g_ascii_strtoll (tid, NULL, 10) : 0;
  return is_room;
}

void
curator_io_thread_find (CuratorIoThread *io, const char before[16], pid_t newest)
{
  pthread_setname_np (pthread_self (), before);
  if (!is_shown ())
    return;
  for (int i = 1; i <= MAX_TID_DISTANCE && io->tids[1] == 0; i++) {
    char tid[16];
    g_snprintf (tid, sizeof tid, "%d", (int) newest + i);
    add_if_named (io, tid);
  }
  if (io->tids[1] != 0)
    return;
  io->tids[0] = 0;
  g_autoptr (GDir) tasks = g_dir_open ("/proc/self/task", 0, NULL);
  const char *tid;
  gboolean is_sure = TRUE;
  while (is_sure && tasks != NULL && (tid = g_dir_read_name (tasks)) != NULL)
    is_sure = add_if_named (io, tid);
  if (!is_sure)
    io->tids[0] = io->tids[1] = 0;
}

guint64
curator_fd_inode (int fd, mode_t type)
{
  char path[64];
  struct stat found;

  g_snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
  return stat (path, &found) == 0 && (found.st_mode & S_IFMT) == type ? found.st_ino : 0;
}

/* TRUE if the thread waits in a poll like that of the library. */
static gboolean
look_at (CuratorIoThread *io, pid_t tid, int *pipe, int *sock)
{
  struct pollfd fds[2] = { { .fd = -1 }, { .fd = -1 } };
  const int known = atomic_load (&io->pipe);
  long number;
  guint64 arguments[2];

  if (tid == 0 || !read_call (tid, &number, arguments) || !is_poll (number) || arguments[1] < 1
      || arguments[1] > 2 || !read_memory (arguments[0], fds, arguments[1] * sizeof fds[0])
      || fds[0].events != POLLIN || (known >= 0 && fds[0].fd != known)
      || curator_fd_inode (fds[0].fd, S_IFIFO) == 0)
    return FALSE;
  atomic_store (&io->pipe, fds[0].fd);
  *pipe = fds[0].fd;
  *sock = fds[1].fd >= 0 && curator_fd_inode (fds[1].fd, S_IFSOCK) != 0 ? fds[1].fd : -1;
  return TRUE;
}

gboolean
curator_io_thread_look (CuratorIoThread *io, int *pipe, int *sock)
{
  return look_at (io, io->tids[0], pipe, sock) || look_at (io, io->tids[1], pipe, sock);
}

static gboolean
rests (CuratorIoThread *io, pid_t tid)
{
  long number;
  guint64 arguments[2];
  int fd;
  return (read_call (tid, &number, arguments) && is_futex (number)) || look_at (io, tid, &fd, &fd);
}

gboolean
curator_io_thread_rests (CuratorIoThread *io)
{
  return io->tids[1] == 0 || (rests (io, io->tids[0]) && rests (io, io->tids[1]));
}

/* The thread polls this number before and after it is duplicated, and both are the same socket: it
 * was not closed and reused by the program meanwhile. */
int
curator_io_thread_dup_socket (CuratorIoThread *io)
{
  int pipe;
  int sock;
  int again = -1;

  if (!curator_io_thread_look (io, &pipe, &sock) || sock < 0)
    return -1;
  const int copy = fcntl (sock, F_DUPFD_CLOEXEC, 0);
  if (copy >= 0
      && (!curator_io_thread_look (io, &pipe, &again) || again != sock
          || curator_fd_inode (copy, S_IFSOCK) == 0
          || curator_fd_inode (copy, S_IFSOCK) != curator_fd_inode (sock, S_IFSOCK))) {
    close (copy);
    return -1;
  }
  return copy;
}

/* Looks again and again, for up to patience_us, until the thread is in poll. */
static gboolean
wait_for_poll (CuratorIoThread *io, gint64 patience_us, int *pipe, int *sock)
{
  const gint64 deadline_us = g_get_monotonic_time () + patience_us;

  for (gulong pause_us = 20; io->tids[0] != 0; pause_us = MIN (pause_us * 2, 2000)) {
    if (curator_io_thread_look (io, pipe, sock))
      return TRUE;
    if (g_get_monotonic_time () >= deadline_us)
      return FALSE;
    g_usleep (pause_us);
  }
  return FALSE;
}

/* The other end of the pipe. Both usually got the two lowest free numbers. */
static int
other_end (const CuratorIoThread *io, int end)
{
  const guint64 inode = curator_fd_inode (end, S_IFIFO);
  const int likely[] = { end + 1, io->free_before[1], io->free_before[0] };

  for (guint i = 0; i < G_N_ELEMENTS (likely); i++)
    if (likely[i] >= 0 && likely[i] != end && curator_fd_inode (likely[i], S_IFIFO) == inode)
      return likely[i];
  CURATOR_INSIDE_GATE;
  g_autoptr (GDir) all = g_dir_open ("/proc/self/fd", 0, NULL);
  const char *name;
  while (all != NULL && (name = g_dir_read_name (all)) != NULL) {
    const int fd = (int) g_ascii_strtoll (name, NULL, 10);
    if (fd != end && curator_fd_inode (fd, S_IFIFO) == inode)
      return fd;
  }
  return end;
}

void
curator_io_thread_hide (CuratorIoThread *io, gint64 patience_us, zhandle_t *connected)
{
  struct sockaddr_storage peer;
  struct sockaddr_storage found = { 0 };
  socklen_t length = sizeof peer;
  socklen_t found_length = sizeof found;
  int pipe;
  int sock;

  if (connected != NULL
      && zookeeper_get_connected_host (connected, (struct sockaddr *) &peer, &length) == NULL)
    return;
  /* The thread may be waiting at the gate. */
  const guint depth = connected != NULL ? curator_gate_suspend () : 0;
  const gboolean is_seen = wait_for_poll (io, patience_us, &pipe, &sock);
  curator_gate_resume (depth);
  if (!is_seen)
    return;
  if ((fcntl (pipe, F_GETFD) & FD_CLOEXEC) == 0) {
    fcntl (other_end (io, pipe), F_SETFD, FD_CLOEXEC);
    fcntl (pipe, F_SETFD, FD_CLOEXEC);
  }
  /* Without that peer it is the socket of the next attempt: the connection is lost already. */
  if (connected != NULL && sock >= 0
      && getpeername (sock, (struct sockaddr *) &found, &found_length) == 0
      && found_length == length && memcmp (&found, &peer, length) == 0)
    fcntl (sock, F_SETFD, FD_CLOEXEC);
}
