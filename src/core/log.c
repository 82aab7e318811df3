/* Messages, ours and libzookeeper's, to GLib's structured log. Stands where Java has SLF4J.
 *
 * Threads: any, also inside zookeeper_init2; no lock.
 *
 * NOTES: the program's log writer may block, for instance on a full pipe. With a client's mutex
 * held the message is therefore written after the unlock, or the writer would block the lease
 * clock.
 */
#include "core/log.h"

#include "core/client-record.h"
#include "core/connect_failures.h"
#include "core/monitor.h"

#include <pthread.h>
#include <string.h>

typedef struct
{
  GLogLevelFlags level;
  const char *source; /* constant */
  char *text;
} Message;

static void
write_message (gpointer data)
{
  Message *message = data;
  g_log_structured (CURATOR_LOG_DOMAIN, message->level, "CURATOR_SOURCE", message->source,
                    "MESSAGE", "%s", message->text);
  g_free (message->text);
  g_free (message);
}

/* Takes text. The analysis cannot know whether this thread holds a client's mutex. */
static CURATOR_NOT_ANALYSED void
log_or_defer (GLogLevelFlags level, const char *source, char *text)
{
  CuratorClient *client = curator_locked_client ();
  Message *message = g_new (Message, 1);

  *message = (Message){ level, source, text };
  if (client != NULL)
    curator_client_after_unlock (client, write_message, message);
  else
    write_message (message);
}

/* A line reads "date:pid(thread):ZOO_LEVEL@function@line: text". The level is always INFO: what the
 * library logs as an error, the connection state already reports. */
void
curator_log_zookeeper_line (const char *line)
{
  const char *text = strstr (line, "ZOO_");
  curator_connect_failures_note (line, g_get_monotonic_time ());
  log_or_defer (G_LOG_LEVEL_INFO, "libzookeeper", g_strdup (text != NULL ? text : line));
}

void
curator_log (GLogLevelFlags level, const char *format, ...)
{
  va_list values;

  va_start (values, format);
  char *text = g_strdup_vprintf (format, values);
  va_end (values);
  log_or_defer (level, "curator", text);
}

static gboolean debug_is_on;
static pthread_once_t debug_once = PTHREAD_ONCE_INIT;

static void
look_up_debug (void)
{
  const char *domains = g_getenv ("G_MESSAGES_DEBUG");
  g_auto (GStrv) names = g_strsplit_set (domains != NULL ? domains : "", " ,:", -1);
  debug_is_on = g_strv_contains ((const char *const *) names, "all")
                || g_strv_contains ((const char *const *) names, CURATOR_LOG_DOMAIN);
}

gboolean
curator_log_debug_is_on (void)
{
  pthread_once (&debug_once, look_up_debug);
  return debug_is_on;
}
