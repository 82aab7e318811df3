/* Messages on stderr, and what the libraries log. */
#include "base/message.h"

#include "base/outlet.h"

#include <curator/curator.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

gboolean
message_is_printable (gunichar c)
{
  return c != 0x2028 && c != 0x2029 && g_unichar_isprint (c);
}

static int
write_stderr (const char *words)
{
  return write_words (STDERR_FILENO, words);
}

/* The words begin with the priority, as one character. */
static int
write_syslog (const char *words)
{
  syslog (*words - '0', "%s", words + 1);
  return 0;
}

static char *
tell_stderr (guint n)
{
  return g_strdup_printf ("zkflock: %u messages were dropped\n", n);
}

static char *
tell_syslog (guint n)
{
  return g_strdup_printf ("%c%u messages were dropped", '0' + LOG_WARNING, n);
}

static Outlet to_stderr = { .write = write_stderr, .tell_dropped = tell_stderr };
static Outlet to_syslog = { .write = write_syslog, .tell_dropped = tell_syslog };
static gboolean uses_syslog;

void
message_use_syslog (void)
{
  openlog ("zkflock", LOG_PID, LOG_USER);
  outlet_open (&to_syslog);
  uses_syslog = TRUE;
}

/* In the encoding of the user. */
static void
print_line (const char *text)
{
  const char *charset;
  char *line = g_strconcat ("zkflock: ", text, "\n", NULL);

  if (!g_get_charset (&charset)) {
    char *converted = g_convert_with_fallback (line, -1, charset, "UTF-8", "?", NULL, NULL, NULL);
    if (converted != NULL) {
      g_free (line);
      line = converted;
    }
  }
  outlet_send (&to_stderr, line);
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
    print_line (line->str);
  if (uses_syslog)
    outlet_send (&to_syslog, g_strdup_printf ("%c%s", '0' + priority, line->str));
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

static const char *
field_of (const char *key, const GLogField *fields, gsize n_fields)
{
  for (gsize i = 0; i < n_fields; i++)
    if (strcmp (fields[i].key, key) == 0 && fields[i].length < 0)
      return fields[i].value;
  return "";
}

/* Whether G_MESSAGES_DEBUG asks for what is shown to nobody else. */
static gboolean
is_wanted (GLogLevelFlags level, const char *domain)
{
  const char *domains = g_getenv ("G_MESSAGES_DEBUG");
  g_auto (GStrv) names = g_strsplit_set (domains != NULL ? domains : "", " ,", -1);

  return (level & (G_LOG_LEVEL_INFO | G_LOG_LEVEL_DEBUG)) == 0
         || g_strv_contains ((const char *const *) names, "all")
         || g_strv_contains ((const char *const *) names, domain);
}

static GLogLevelFlags fatal;

/* GLib's own writer would wait for whoever reads. */
static void
print_log (GLogLevelFlags level, const GLogField *fields, gsize n_fields)
{
  g_autofree char *text = g_log_writer_format_fields (level, fields, n_fields,
                                                      g_log_writer_supports_color (STDERR_FILENO));

  outlet_send (&to_stderr, g_strconcat (text, "\n", NULL));
  if ((level & (fatal | G_LOG_FLAG_FATAL)) != 0) {
    outlets_finish ();
    abort ();
  }
}

/* Of the library. Each warning is shown once. */
static GLogWriterOutput
write_log (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
  const Logs logs = (Logs) GPOINTER_TO_INT (data);
  const char *text = field_of ("MESSAGE", fields, n_fields);

  if ((level & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL)) != 0 || logs == LOGS_ALL) {
    if (is_wanted (level, field_of ("GLIB_DOMAIN", fields, n_fields)))
      print_log (level, fields, n_fields);
  } else if ((level & G_LOG_LEVEL_WARNING) != 0 && logs == LOGS_WARNINGS
             && !is_reported_otherwise (text) && is_new (text)) {
    print_error (NULL, "warning: %s", text);
  }
  return G_LOG_WRITER_HANDLED;
}

void
choose_logs (Logs logs)
{
  outlet_open (&to_stderr);
  /* What G_DEBUG has set. */
  fatal = g_log_set_always_fatal (G_LOG_FATAL_MASK);
  g_log_set_always_fatal (fatal);
  g_log_set_writer_func (write_log, GINT_TO_POINTER (logs), NULL);
}
