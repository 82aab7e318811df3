/* libzookeeper's log lines, turned into GLib's structured log.
 *
 * Threads: any, also inside zookeeper_init2. No lock.
 */
#include "client/log.h"

#include <pthread.h>
#include <string.h>

/* A line reads "date:pid(thread):ZOO_LEVEL@function@line: text". The library's connection errors
 * are news of the outage that the connection state already tells, so they are only informative. */
void
curator_log_zookeeper_line (const char *line)
{
  const char *text = strstr (line, "ZOO_");

  g_log_structured (CURATOR_LOG_DOMAIN, G_LOG_LEVEL_INFO, "CURATOR_SOURCE", "libzookeeper",
                    "MESSAGE", "%s", text != NULL ? text : line);
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
