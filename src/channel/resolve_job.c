/* Host names to addresses; see resolve_job.h. Threads: the job's resolves; no lock.
 *
 * Mirrors StaticHostProvider.resolve. A name server may take half a minute, so no other thread waits for
 * it.
 */
#include "channel/resolve_job.h"

#include "channel/channel_error.h"

#include <gio/gio.h>

typedef struct
{
  char *host;
  GPtrArray *addresses;
  GError *error;
} Lookup;

static void
lookup_free (gpointer data)
{
  Lookup *lookup = data;
  g_free (lookup->host);
  g_clear_pointer (&lookup->addresses, g_ptr_array_unref);
  g_clear_error (&lookup->error);
  g_free (lookup);
}

static void
look_up (gpointer data)
{
  Lookup *lookup = data;
  GInetAddress *numeric = g_inet_address_new_from_string (lookup->host);
  GList *found = NULL;

  if (numeric != NULL)
    {
      found = g_list_append (NULL, numeric);
    }
  else
    {
      g_autoptr (GResolver) resolver = g_resolver_get_default ();
      found = g_resolver_lookup_by_name (resolver, lookup->host, NULL, &lookup->error);
    }
  lookup->addresses = g_ptr_array_new_with_free_func (g_object_unref);
  for (GList *link = found; link != NULL; link = link->next)
    {
      g_ptr_array_add (lookup->addresses, link->data);
    }
  g_list_free (found);
}

CuratorJob *
curator_resolve_job_start (const char *host, int wake_fd, GError **error)
{
  Lookup *lookup = g_new0 (Lookup, 1);
  lookup->host = g_strdup (host);
  return curator_job_start (look_up, lookup, lookup_free, wake_fd, error);
}

GPtrArray *
curator_resolve_job_take (CuratorJob *job, GError **error)
{
  Lookup *lookup = curator_job_result (job);

  if (lookup->addresses->len > 0)
    {
      return g_steal_pointer (&lookup->addresses);
    }
  g_set_error (error, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_RESOLVE, "%s",
               lookup->error != NULL ? lookup->error->message : "the name has no address");
  return NULL;
}
