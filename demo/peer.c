/* SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

struct _Peer
{
  GSubprocess *process;
  GDataInputStream *out;
  GDataInputStream *err;
  GCancellable *cancellable;
  PeerListener listener;
  gpointer user_data;
  char *pid;
  guint open_streams;
  gboolean waited; /* the process has exited */
  gboolean successfully;
  gboolean reported; /* exited was called */
};

static void
report_exit_if_complete (Peer *peer)
{
  if (peer->waited && peer->open_streams == 0 && !peer->reported)
    {
      peer->reported = TRUE;
      peer->listener.exited (peer, peer->successfully, peer->user_data);
    }
}

static void read_line (Peer *peer, GDataInputStream *stream);

static void
line_read (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GError) error = NULL;
  GDataInputStream *stream = G_DATA_INPUT_STREAM (source);
  g_autofree char *line = g_data_input_stream_read_line_finish_utf8 (stream, result, NULL, &error);

  /* Cancelled while the peer is being freed: data is no longer valid. */
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  Peer *peer = data;
  if (line == NULL)
    {
      peer->open_streams--;
      report_exit_if_complete (peer);
      return;
    }
  (stream == peer->out ? peer->listener.line : peer->listener.complaint) (peer, line,
                                                                          peer->user_data);
  read_line (peer, stream);
}

static void
read_line (Peer *peer, GDataInputStream *stream)
{
  g_data_input_stream_read_line_async (stream, G_PRIORITY_DEFAULT, peer->cancellable, line_read,
                                       peer);
}

static void
process_ended (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GError) error = NULL;
  gboolean successfully = g_subprocess_wait_check_finish (G_SUBPROCESS (source), result, &error);

  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  Peer *peer = data;
  peer->waited = TRUE;
  peer->successfully = successfully;
  report_exit_if_complete (peer);
}

/* Runs in the child. With a process group of its own, Ctrl-C reaches only the demo, which then stops its workers. */
static void
set_up_child (gpointer user_data)
{
  setpgid (0, 0);
  prctl (PR_SET_PDEATHSIG, SIGTERM);
}

static GDataInputStream *
open_stream (Peer *peer, GInputStream *pipe)
{
  GDataInputStream *stream = g_data_input_stream_new (pipe);

  peer->open_streams++;
  read_line (peer, stream);
  return stream;
}

Peer *
peer_spawn (char **argv, const PeerListener *listener, gpointer user_data, GError **error)
{
  g_autoptr (GSubprocessLauncher) launcher =
      g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE
                                 | G_SUBPROCESS_FLAGS_STDERR_PIPE);
  g_subprocess_launcher_set_child_setup (launcher, set_up_child, NULL, NULL);
  GSubprocess *process = g_subprocess_launcher_spawnv (launcher, (const char *const *) argv, error);

  if (process == NULL)
    return NULL;
  Peer *peer = g_new0 (Peer, 1);
  peer->process = process;
  peer->pid = g_strdup (g_subprocess_get_identifier (process));
  peer->cancellable = g_cancellable_new ();
  peer->listener = *listener;
  peer->user_data = user_data;
  peer->out = open_stream (peer, g_subprocess_get_stdout_pipe (process));
  peer->err = open_stream (peer, g_subprocess_get_stderr_pipe (process));
  g_subprocess_wait_check_async (process, peer->cancellable, process_ended, peer);
  return peer;
}

const char *
peer_get_pid (Peer *peer)
{
  return peer->pid;
}

gboolean
peer_is_running (Peer *peer)
{
  return !peer->reported;
}

void
peer_close_stdin (Peer *peer)
{
  g_output_stream_close (g_subprocess_get_stdin_pipe (peer->process), NULL, NULL);
}

void
peer_kill (Peer *peer)
{
  g_subprocess_force_exit (peer->process);
}

void
peer_free (Peer *peer)
{
  if (!peer->waited)
    peer_kill (peer);
  g_cancellable_cancel (peer->cancellable);
  /* Let the cancelled calls finish before the peer is freed. */
  while (g_main_context_iteration (NULL, FALSE))
    {
    }
  g_object_unref (peer->cancellable);
  g_object_unref (peer->out);
  g_object_unref (peer->err);
  g_object_unref (peer->process);
  g_free (peer->pid);
  g_free (peer);
}
