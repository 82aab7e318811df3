#include "outcome.h"

#include <curator/curator.h>
#include <stdarg.h>
#include <zookeeper/zookeeper.h>

static gint64 start_us;

/* A message may quote what a server or a user wrote; it stays on its line all the same. */
static char *
one_line (const char *text)
{
  char *line = g_utf8_make_valid (text, -1);
  for (char *c = line; *c != '\0'; c++)
    {
      if ((guchar) *c < ' ' || *c == 0x7f)
        {
          *c = '?';
        }
    }
  return line;
}

static void print_line (const char *path, const char *format, va_list args) G_GNUC_PRINTF (2, 0);

static void
print_line (const char *path, const char *format, va_list args)
{
  g_autofree char *text = g_strdup_vprintf (format, args);
  g_autofree char *line = one_line (text);
  g_autofree char *shown = path != NULL ? curator_escape_name (path, -1) : NULL;
  g_printerr ("zkflock: %s%s%s\n", shown != NULL ? shown : "", shown != NULL ? ": " : "", line);
}

void
print_error (const char *path, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  print_line (path, format, args);
  va_end (args);
}

void
print_verbose (const Options *options, const char *format, ...)
{
  if (!options->verbose)
    {
      return;
    }
  va_list args;
  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  const gint64 ms = (g_get_monotonic_time () - start_us) / 1000;
  print_error (options->paths[0], "%d.%03d s: %s", (int) (ms / 1000), (int) (ms % 1000), text);
}

static gboolean
is_refusal (const GError *error)
{
  return g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_AUTH_FAILED)
         || g_error_matches (error, CURATOR_ZK_ERROR, ZNOAUTH)
         || g_error_matches (error, CURATOR_ZK_ERROR, ZINVALIDACL)
         || g_error_matches (error, CURATOR_ZK_ERROR, ZAUTHFAILED);
}

int
exit_code_of (const Options *options, const GError *error)
{
  if (is_refusal (error))
    {
      return EXIT_CODE_REFUSED;
    }
  if (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT))
    {
      return EXIT_CODE_USAGE;
    }
  if (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT))
    {
      return options->conflict_code;
    }
  if (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_LOCK_LOST))
    {
      return EXIT_CODE_LOST;
    }
  return EXIT_CODE_UNREACHABLE;
}

int
fail_with (const Options *options, const GError *error)
{
  if (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT))
    {
      print_verbose (options, "somebody else is still in front");
    }
  else
    {
      print_error (options->paths[0], "%s", error->message);
    }
  return exit_code_of (options, error);
}

static GLogWriterOutput
drop_chatter (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
  if ((level & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL)) != 0 || GPOINTER_TO_INT (data))
    {
      return g_log_writer_default (level, fields, n_fields, NULL);
    }
  return G_LOG_WRITER_HANDLED;
}

void
silence_logs (gboolean verbose)
{
  start_us = g_get_monotonic_time ();
  g_log_set_writer_func (drop_chatter, GINT_TO_POINTER (verbose), NULL);
}
