#include "base/message.h"

#include <curator/curator.h>
#include <stdarg.h>

/* A message may quote what a server or a user wrote. */
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

void
print_error (const char *path, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  g_autofree char *line = one_line (text);
  g_autofree char *shown = path != NULL ? curator_escape_name (path, -1) : NULL;
  g_printerr ("zkflock: %s%s%s\n", shown != NULL ? shown : "", shown != NULL ? ": " : "", line);
}

static GLogWriterOutput
write_log (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer verbose)
{
  if ((level & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL)) != 0 || GPOINTER_TO_INT (verbose))
    {
      return g_log_writer_default (level, fields, n_fields, NULL);
    }
  return G_LOG_WRITER_HANDLED;
}

void
silence_logs (gboolean verbose)
{
  g_log_set_writer_func (write_log, GINT_TO_POINTER (verbose), NULL);
}
