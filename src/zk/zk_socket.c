/* The socket of a handle of our own: how long an attempt may take, how long a server may be silent,
 * and the end of both.
 *
 * Mirrors nothing. Threads: one at a time looks and ends, the library's IO thread learns of the
 * end, its completion thread begins with each connection; the flags between them are atomic.
 *
 * NOTES: libzookeeper gives an address, and a server that has become silent, 2/3 of the session
 * timeout, and pauses for 1/60 of it after each round. It takes a socket that was shut down for one
 * closed by the server, and closes its descriptor itself. A byte in its wake-up pipe ends its
 * pause.
 */
#include "zk/zk_socket.h"

#include "channel/patience.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Since when it has been seen in that stage. The inode is 0 in a pause. */
static gint64
note_stage (CuratorZkHandle *handle, guint64 inode, CuratorStage stage)
{
  const gint64 now_us = g_get_monotonic_time ();

  if (inode != handle->socket.inode || stage != handle->socket.stage) {
    handle->socket.inode = inode;
    handle->socket.stage = stage;
    handle->socket.since_us = now_us;
  }
  return now_us - handle->socket.since_us;
}

static gboolean
end_pause (CuratorZkHandle *handle, int pipe, gint64 patience_us)
{
  char path[64];

  if (note_stage (handle, 0, CURATOR_STAGE_PAUSED) < patience_us)
    return FALSE;
  g_snprintf (path, sizeof path, "/proc/self/fd/%d", pipe);
  const int end = open (path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  const gboolean woken = end >= 0 && write (end, "", 1) == 1;
  if (end >= 0)
    close (end);
  handle->socket.since_us = g_get_monotonic_time ();
  return woken;
}

static void
end_socket (CuratorZkHandle *handle, int sock)
{
  atomic_store (&handle->socket.is_ended, TRUE);
  shutdown (sock, SHUT_RDWR);
}

gboolean
curator_zk_end_attempt (CuratorZkOps *ops, CuratorZkHandle *handle,
                        const gint64 patience_us[CURATOR_N_STAGES], CuratorStage *ended)
{
  int pipe;
  int polled;

  if (!curator_io_thread_look (&handle->io, &pipe, &polled))
    return FALSE;
  if (polled < 0) {
    *ended = CURATOR_STAGE_PAUSED;
    return end_pause (handle, pipe, patience_us[CURATOR_STAGE_PAUSED]);
  }
  const int sock = curator_io_thread_dup_socket (&handle->io);
  if (sock < 0)
    return FALSE;
  struct pollfd connected = { .fd = sock, .events = POLLOUT };
  struct pollfd answer = { .fd = sock, .events = POLLIN };
  *ended = poll (&connected, 1, 0) == 0 ? CURATOR_STAGE_CONNECTING : CURATOR_STAGE_ASKING;
  /* If nothing has come, which IO thread and library would see otherwise. */
  const gboolean is_over =
      note_stage (handle, curator_fd_inode (sock, S_IFSOCK), *ended) >= patience_us[*ended]
      && poll (&answer, 1, 0) == 0 && zoo_state (handle->zh) != ZOO_CONNECTED_STATE;
  if (is_over)
    end_socket (handle, sock);
  close (sock);
  return is_over;
}

void
curator_zk_socket_connected (CuratorZkHandle *handle)
{
  const int sock = handle->socket.is_loopback ? -1 : curator_io_thread_dup_socket (&handle->io);

  atomic_store (&handle->socket.is_bound, sock >= 0);
  if (sock >= 0) {
    curator_patience_bind (sock, zoo_recv_timeout (handle->zh));
    close (sock);
  }
}

static void
leave_if_silent (CuratorZkHandle *handle, gint64 silent_us)
{
  const int sock = curator_io_thread_dup_socket (&handle->io);

  if (sock < 0)
    return;
  if (zoo_state (handle->zh) == ZOO_CONNECTED_STATE && curator_patience_is_over (sock, silent_us))
    end_socket (handle, sock);
  close (sock);
}

gboolean
curator_zk_bound_silence (CuratorZkOps *ops, CuratorZkHandle *handle, gint64 silent_us)
{
  if (silent_us > 0)
    leave_if_silent (handle, silent_us);
  else if (!atomic_load (&handle->socket.is_bound))
    curator_zk_socket_connected (handle);
  return handle->io.tids[1] != 0;
}
