/* Messages on stderr, and what the libraries log. */
#include "base/message.h"

#include <curator/curator.h>
#include <stdarg.h>
#include <string.h>

gboolean
message_is_printable (gunichar c)
{
  return c != 0x2028 && c != 0x2029 && g_unichar_isprint (c);
}

static gboolean to_syslog;

void
message_use_syslog (void)
{
  openlog ("zkflock", LOG_PID, LOG_USER);
  to_syslog = TRUE;
}

void
message_print (int priority, const char *path, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  g_autofree char *shown = path != NULL ? curator_escape_name (path, -1) : NULL;
  g_autoptr (GString) line = g_string_new (shown);

  g_string_append (line, shown != NULL ? ": " : "");
  /* It may quote what a server or a user wrote. */
  for (const char *c = valid; *c != '\0'; c = g_utf8_next_char (c))
    g_string_append_unichar (line, message_is_printable (g_utf8_get_char (c)) ? g_utf8_get_char (c)
                                                                              : '?');
  if (priority != LOG_NOTICE)
    g_printerr ("zkflock: %s\n", line->str);
  if (to_syslog)
    syslog (priority, "%s", line->str);
}

/* Apart from its numbers, which differ from one warning to the next. */
static gboolean
is_new (const char *text)
{
  static GMutex mutex;
  static GHashTable *seen;
  GString *key = g_string_new (NULL);

  for (; *text != '\0'; text++)
    if (!g_ascii_isdigit (*text))
      g_string_append_c (key, *text);
  g_mutex_lock (&mutex);
  if (seen == NULL)
    seen = g_hash_table_new (g_str_hash, g_str_equal);
  const gboolean added = g_hash_table_add (seen, g_string_free (key, FALSE));
  g_mutex_unlock (&mutex);
  return added;
}

/* What zkflock says itself, with an exit code. About kinds it knows more (kinds.h): the library
 * judges by names, so it takes the empty folders of a semaphore for one that is in use. */
static gboolean
is_reported_otherwise (const char *text)
{
  return g_str_has_prefix (text, "cannot connect to ")
         || g_str_has_prefix (text, "the server refused the authentication")
         || g_str_has_suffix (text, "they do not exclude each other");
}

/* Of the library. Each warning is shown once. */
static GLogWriterOutput
write_log (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
  const Logs logs = (Logs) GPOINTER_TO_INT (data);

  if ((level & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL)) != 0 || logs == LOGS_ALL)
    return g_log_writer_default (level, fields, n_fields, NULL);
  if ((level & G_LOG_LEVEL_WARNING) != 0 && logs == LOGS_WARNINGS) {
    const char *text = "";
    for (gsize i = 0; i < n_fields; i++)
      if (strcmp (fields[i].key, "MESSAGE") == 0 && fields[i].length < 0)
        text = fields[i].value;
    if (!is_reported_otherwise (text) && is_new (text))
      print_error (NULL, "warning: %s", text);
  }
  return G_LOG_WRITER_HANDLED;
}

void
choose_logs (Logs logs)
{
  g_log_set_writer_func (write_log, GINT_TO_POINTER (logs), NULL);
}
