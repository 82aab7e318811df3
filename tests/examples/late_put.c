#define main example_main
int example_main (int argc, char **argv);
#include "examples/fencing_put.c"

#include "late_writer.h"

#include <unistd.h>

/* The store stops the writer when it has read the object's token, which is the check, and before
 * its PUT. */
const gboolean late_resource_stops = TRUE;
static const char *store;
static gboolean is_stopped;
static CURL *curl;

void
late_open (const char *resource, gboolean stops)
{
  store = resource;
  is_stopped = stops;
  curl = curl_easy_init ();
}

void
late_close (void)
{
  curl_easy_cleanup (curl);
}

gboolean
late_write_guarded (const char *name, guint64 token, const char *body)
{
  g_autofree char *url = g_strdup_printf ("%s/%s?stop=%d", store, name, is_stopped ? getpid () : 0);
  return write_fenced (curl, url, token, body);
}

gboolean
late_write_plain (const char *name, guint64 token, const char *body)
{
  g_autofree char *url = g_strdup_printf ("%s/%s", store, name);
  g_autofree char *object = g_strdup_printf ("%" G_GUINT64_FORMAT " %s", token, body);
  g_autoptr (GString) answer = g_string_new (NULL);
  return request (curl, url, NULL, object, answer) == 201;
}
