/* The attempt of libzookeeper to connect, and its end.
 *
 * Mirrors nothing. Threads: one at a time looks and ends, the library's IO thread learns of the
 * end; the flag between them is atomic.
 *
 * NOTES: libzookeeper gives an address 2/3 of the session timeout, and pauses for 1/60 of it after
 * each round. It takes a socket that was shut down for one closed by the server, and closes its
 * descriptor itself. A byte in its wake-up pipe ends its pause.
 */
#include "zk/attempt.h"

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

  if (inode != handle->attempt.inode || stage != handle->attempt.stage) {
    handle->attempt.inode = inode;
    handle->attempt.stage = stage;
    handle->attempt.since_us = now_us;
  }
  return now_us - handle->attempt.since_us;
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
  handle->attempt.since_us = g_get_monotonic_time ();
  return woken;
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
  if (is_over) {
    atomic_store (&handle->attempt.is_ended, TRUE);
    shutdown (sock, SHUT_RDWR);
  }
  close (sock);
  return is_over;
}
