#include "peer.h"

#include "contest.h"
#include "support/waiting.h"

#include <gio/gio.h>
#include <pthread.h>
#include <string.h>

#define START_MS 60000

struct _Peer
{
  void (*on_line) (const char *line, gpointer data);
  gpointer data;
  GSubprocess *process;
  pthread_t reader;
  pthread_mutex_t mutex;
  GPtrArray *lines; /* guarded by mutex; a line that was waited for begins with a tab */
};

static void *
read_lines (void *data)
{
  Peer *peer = data;
  g_autoptr (GDataInputStream) stream =
      g_data_input_stream_new (g_subprocess_get_stdout_pipe (peer->process));
  char *line;
  while ((line = g_data_input_stream_read_line_utf8 (stream, NULL, NULL, NULL)) != NULL) {
    if (peer->on_line != NULL)
      peer->on_line (line, peer->data);
    pthread_mutex_lock (&peer->mutex);
    g_ptr_array_add (peer->lines, line);
    pthread_mutex_unlock (&peer->mutex);
  }
  return NULL;
}

Peer *
peer_start (GPtrArray *argv, void (*on_line) (const char *line, gpointer data), gpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) own_argv = argv;
  Peer *peer = g_new0 (Peer, 1);
  g_ptr_array_add (own_argv, NULL);
  peer->process =
      g_subprocess_newv ((const char *const *) argv->pdata,
                         G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE, &error);
  if (peer->process == NULL) {
    g_printerr ("%s\n", error->message);
    g_free (peer);
    return NULL;
  }
  peer->on_line = on_line;
  peer->data = data;
  peer->lines = g_ptr_array_new_with_free_func (g_free);
  pthread_mutex_init (&peer->mutex, NULL);
  pthread_create (&peer->reader, NULL, read_lines, peer);
  return peer;
}

Peer *
peer_start_java (const char *connect_string, int session_ms, gboolean compression)
{
  const char *const options[] = { "-Dcompression=yes", NULL };
  GPtrArray *argv = contest_java (compression ? options : NULL, "MatrixPeer");
  contest_add (argv, "%s", connect_string);
  contest_add (argv, "%d", session_ms);
  Peer *peer = peer_start (argv, NULL, NULL);
  if (peer != NULL && !peer_expect (peer, START_MS, "READY")) {
    g_autofree char *output = peer_output (peer);
    g_printerr ("the peer does not start: %s\n", output);
    g_clear_pointer (&peer, peer_free);
  }
  return peer;
}

void
peer_tell (Peer *peer, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  GOutputStream *stream = g_subprocess_get_stdin_pipe (peer->process);
  g_output_stream_vprintf (stream, NULL, NULL, NULL, format, arguments);
  g_output_stream_printf (stream, NULL, NULL, NULL, "\n");
  g_output_stream_flush (stream, NULL, NULL);
  va_end (arguments);
}

static char **
find (Peer *peer, const char *text)
{
  for (guint i = 0; i < peer->lines->len; i++) {
    char **line = (char **) &g_ptr_array_index (peer->lines, i);
    if (g_str_has_prefix (*line, text)
        && ((*line)[strlen (text)] == '\0' || (*line)[strlen (text)] == ' '))
      return line;
  }
  return NULL;
}

gboolean
peer_has (Peer *peer, const char *line)
{
  pthread_mutex_lock (&peer->mutex);
  const gboolean found = find (peer, line) != NULL;
  pthread_mutex_unlock (&peer->mutex);
  return found;
}

static char *
take (Peer *peer, const char *text)
{
  char *taken = NULL;
  pthread_mutex_lock (&peer->mutex);
  char **line = find (peer, text);
  if (line != NULL) {
    taken = *line;
    *line = g_strconcat ("\t", taken, NULL);
  }
  pthread_mutex_unlock (&peer->mutex);
  return taken;
}

char *
peer_await (Peer *peer, const char *line, int timeout_ms)
{
  char *taken = NULL;
  return holds_within ((taken = take (peer, line)) != NULL || peer_has (peer, "ERROR"), timeout_ms)
             ? taken
             : NULL;
}

gboolean
peer_expect (Peer *peer, int timeout_ms, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *line = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_autofree char *taken = peer_await (peer, line, timeout_ms);
  return taken != NULL;
}

char *
peer_output (Peer *peer)
{
  GString *output = g_string_new (NULL);
  pthread_mutex_lock (&peer->mutex);
  for (guint i = 0; i < peer->lines->len; i++) {
    g_string_append_printf (output, "%s%s", i > 0 ? "; " : "",
                            g_strstrip ((char *) g_ptr_array_index (peer->lines, i)));
  }
  pthread_mutex_unlock (&peer->mutex);
  return g_string_free (output, FALSE);
}

void
peer_kill (Peer *peer)
{
  g_subprocess_force_exit (peer->process);
  g_subprocess_wait (peer->process, NULL, NULL);
}

void
peer_free (Peer *peer)
{
  if (peer == NULL)
    return;
  peer_kill (peer);
  pthread_join (peer->reader, NULL);
  g_ptr_array_unref (peer->lines);
  pthread_mutex_destroy (&peer->mutex);
  g_object_unref (peer->process);
  g_free (peer);
}
