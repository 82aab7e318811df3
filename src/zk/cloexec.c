/* Sets FD_CLOEXEC on libzookeeper's descriptors (ZOOKEEPER-2338: a build flag, off in Debian).
 *
 * Mirrors nothing. Threads: the session lane and ZooKeeper's completion thread; no lock.
 *
 * NOTES: the descriptors that the library's IO thread polls belong to the library (io_thread.h). If
 * the system does not show them, children inherit them.
 */
#include "zk/cloexec.h"

#include "base/fork_gate.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

static GArray *
open_fds (void)
{
  CURATOR_INSIDE_GATE;
  GArray *fds = g_array_new (FALSE, FALSE, sizeof (int));
  GDir *dir = g_dir_open ("/proc/self/fd", 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL) {
    const int fd = (int) g_ascii_strtoll (name, NULL, 10);
    g_array_append_val (fds, fd);
  }
  g_clear_pointer (&dir, g_dir_close);
  /* The directory's own descriptor is closed now; another file may get its number. */
  for (guint i = fds->len; i-- > 0;)
    if (fcntl (g_array_index (fds, int, i), F_GETFD) < 0)
      g_array_remove_index_fast (fds, i);
  return fds;
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
  g_autoptr (GArray) all = open_fds ();
  for (guint i = 0; i < all->len; i++) {
    const int fd = g_array_index (all, int, i);
    if (fd != end && curator_fd_inode (fd, S_IFIFO) == inode)
      return fd;
  }
  return end;
}

void
curator_cloexec (CuratorIoThread *io, gint64 patience_us, zhandle_t *connected)
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
  const gboolean is_seen = curator_io_thread_wait (io, patience_us, &pipe, &sock);
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
