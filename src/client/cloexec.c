/* Sets FD_CLOEXEC on libzookeeper's descriptors (ZOOKEEPER-2338: a build flag, off in Debian).
 *
 * Mirrors nothing. Threads: the session lane and ZooKeeper's completion thread; no lock.
 *
 * NOTES: the library does not show its descriptors. Its wake-up pipe is recognised as the
 * non-blocking pipe that is new after the handle was opened, its socket by its peer. If a
 * descriptor of the program matches too, children do not inherit it, which programs rarely want
 * anyway.
 */
#include "client/cloexec.h"

#include <fcntl.h>
#include <string.h>

GArray *
curator_open_fds (void)
{
  GArray *fds = g_array_new (FALSE, FALSE, sizeof (int));
  GDir *dir = g_dir_open ("/proc/self/fd", 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      const int fd = (int) g_ascii_strtoll (name, NULL, 10);
      g_array_append_val (fds, fd);
    }
  g_clear_pointer (&dir, g_dir_close);
  /* The directory's own descriptor is closed now; another file may get its number. */
  for (guint i = fds->len; i-- > 0;)
    {
      if (fcntl (g_array_index (fds, int, i), F_GETFD) < 0)
        {
          g_array_remove_index_fast (fds, i);
        }
    }
  return fds;
}

/* It is non-blocking, and children would inherit it. */
static gboolean
is_candidate (int fd)
{
  const int flags = fcntl (fd, F_GETFL);
  const int fd_flags = fcntl (fd, F_GETFD);
  return flags >= 0 && (flags & O_NONBLOCK) != 0 && fd_flags >= 0 && (fd_flags & FD_CLOEXEC) == 0;
}

/* Reads its name in /proc: ThreadSanitizer would report fstat() as a race with the owner. */
static gboolean
is_pipe (int fd)
{
  g_autofree char *path = g_strdup_printf ("/proc/self/fd/%d", fd);
  g_autofree char *target = g_file_read_link (path, NULL);
  return target != NULL && g_str_has_prefix (target, "pipe:");
}

static gboolean
contains (const GArray *fds, int fd)
{
  for (guint i = 0; i < fds->len; i++)
    {
      if (g_array_index (fds, int, i) == fd)
        {
          return TRUE;
        }
    }
  return FALSE;
}

void
curator_cloexec_new_pipes (GArray *before)
{
  g_autoptr (GArray) now = curator_open_fds ();

  for (guint i = 0; i < now->len; i++)
    {
      const int fd = g_array_index (now, int, i);
      if (!contains (before, fd) && is_candidate (fd) && is_pipe (fd))
        {
          fcntl (fd, F_SETFD, FD_CLOEXEC);
        }
    }
}

void
curator_cloexec_sockets (const struct sockaddr *peer, socklen_t length)
{
  g_autoptr (GArray) now = curator_open_fds ();

  for (guint i = 0; i < now->len; i++)
    {
      const int fd = g_array_index (now, int, i);
      struct sockaddr_storage found = { 0 };
      socklen_t found_length = sizeof found;
      if (is_candidate (fd) && getpeername (fd, (struct sockaddr *) &found, &found_length) == 0
          && found_length == length && memcmp (&found, peer, length) == 0)
        {
          fcntl (fd, F_SETFD, FD_CLOEXEC);
        }
    }
}
