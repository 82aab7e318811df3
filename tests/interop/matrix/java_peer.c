#include "java_peer.h"

#include "interop/contest.h"
#include "support/waiting.h"

#include <gio/gio.h>
#include <pthread.h>
#include <string.h>

#define START_MS 60000

struct _JavaPeer
{
  GSubprocess *process;
  pthread_t reader;
  pthread_mutex_t mutex;
  GPtrArray *lines; /* guarded by mutex; a line that was waited for begins with a tab */
};

static void *
read_lines (void *data)
{
  JavaPeer *peer = data;
  g_autoptr (GDataInputStream) stream =
      g_data_input_stream_new (g_subprocess_get_stdout_pipe (peer->process));
  char *line;
  while ((line = g_data_input_stream_read_line_utf8 (stream, NULL, NULL, NULL)) != NULL)
    {
      pthread_mutex_lock (&peer->mutex);
      g_ptr_array_add (peer->lines, line);
      pthread_mutex_unlock (&peer->mutex);
    }
  return NULL;
}

JavaPeer *
java_peer_start (const char *connect_string, int session_ms, gboolean compression)
{
  g_autofree char *session = g_strdup_printf ("%d", session_ms);
  g_autoptr (GError) error = NULL;
  JavaPeer *peer = g_new0 (JavaPeer, 1);
  peer->process = g_subprocess_new (
      G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE
          | G_SUBPROCESS_FLAGS_STDERR_SILENCE,
      &error, CONTEST_JAVA, "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
      "-XX:-UsePerfData", compression ? "-Dcompression=yes" : "-Dplain=yes", "-cp",
      contest_classpath (), "MatrixPeer", connect_string, session, NULL);
  if (peer->process == NULL)
    {
      g_printerr ("%s\n", error->message);
      g_free (peer);
      return NULL;
    }
  peer->lines = g_ptr_array_new_with_free_func (g_free);
  pthread_mutex_init (&peer->mutex, NULL);
  pthread_create (&peer->reader, NULL, read_lines, peer);
  if (!java_peer_expect (peer, "READY", START_MS))
    {
      g_autofree char *output = java_peer_output (peer);
      g_printerr ("the peer does not start: %s\n", output);
      g_clear_pointer (&peer, java_peer_free);
    }
  return peer;
}

void
java_peer_tell (JavaPeer *peer, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_autofree char *line = g_strconcat (text, "\n", NULL);
  GOutputStream *stream = g_subprocess_get_stdin_pipe (peer->process);
  g_output_stream_write_all (stream, line, strlen (line), NULL, NULL, NULL);
  g_output_stream_flush (stream, NULL, NULL);
}

static char **
find (JavaPeer *peer, const char *text)
{
  for (guint i = 0; i < peer->lines->len; i++)
    {
      char **line = (char **) &g_ptr_array_index (peer->lines, i);
      if (g_str_has_prefix (*line, text)
          && ((*line)[strlen (text)] == '\0' || (*line)[strlen (text)] == ' '))
        return line;
    }
  return NULL;
}

gboolean
java_peer_has (JavaPeer *peer, const char *line)
{
  pthread_mutex_lock (&peer->mutex);
  const gboolean found = find (peer, line) != NULL;
  pthread_mutex_unlock (&peer->mutex);
  return found;
}

static gboolean
take (JavaPeer *peer, const char *text)
{
  pthread_mutex_lock (&peer->mutex);
  char **line = find (peer, text);
  if (line != NULL)
    {
      char *taken = g_strconcat ("\t", *line, NULL);
      g_free (*line);
      *line = taken;
    }
  pthread_mutex_unlock (&peer->mutex);
  return line != NULL;
}

gboolean
java_peer_expect (JavaPeer *peer, const char *line, int timeout_ms)
{
  const gint64 deadline = wait_now_ms () + timeout_ms;
  gboolean found;
  while (!(found = take (peer, line)) && !java_peer_has (peer, "ERROR")
         && wait_now_ms () < deadline)
    wait_ms (5);
  return found;
}

char *
java_peer_output (JavaPeer *peer)
{
  GString *output = g_string_new (NULL);
  pthread_mutex_lock (&peer->mutex);
  for (guint i = 0; i < peer->lines->len; i++)
    {
      g_string_append_printf (output, "%s%s", i > 0 ? "; " : "",
                              g_strstrip ((char *) g_ptr_array_index (peer->lines, i)));
    }
  pthread_mutex_unlock (&peer->mutex);
  return g_string_free (output, FALSE);
}

void
java_peer_kill (JavaPeer *peer)
{
  g_subprocess_force_exit (peer->process);
  g_subprocess_wait (peer->process, NULL, NULL);
}

void
java_peer_free (JavaPeer *peer)
{
  if (peer == NULL)
    return;
  java_peer_kill (peer);
  pthread_join (peer->reader, NULL);
  g_ptr_array_unref (peer->lines);
  pthread_mutex_destroy (&peer->mutex);
  g_object_unref (peer->process);
  g_free (peer);
}
