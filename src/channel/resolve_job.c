/* Host names to addresses; see resolve_job.h. Threads: the job's resolves; no lock.
 *
 * Mirrors StaticHostProvider.resolve. A name server may take half a minute, so no other thread waits for
 * it.
 */
#include "channel/resolve_job.h"

#include "channel/channel_error.h"
#include "base/lookup.h"

typedef struct
{
  char *host;
  guint16 port;
  GPtrArray *addresses; /* CuratorAddress */
  int failed;           /* of getaddrinfo() */
} Lookup;

static void
lookup_free (gpointer data)
{
  Lookup *lookup = data;
  g_free (lookup->host);
  g_clear_pointer (&lookup->addresses, g_ptr_array_unref);
  g_free (lookup);
}

static void
look_up (gpointer data)
{
  Lookup *lookup = data;
  lookup->addresses = curator_lookup (lookup->host, lookup->port, &lookup->failed);
}

static void
drop_job (gpointer job)
{
  curator_job_drop (job);
}

GPtrArray *
curator_lookups_new (void)
{
  return g_ptr_array_new_with_free_func (drop_job);
}

void
curator_resolve_job_leave (GPtrArray *lookups, CuratorJob *job)
{
  g_ptr_array_add (lookups, job);
}

static CuratorJob *
take_left (GPtrArray *lookups, const char *host, guint16 port)
{
  for (guint i = 0; i < lookups->len; i++)
    {
      const Lookup *lookup = curator_job_data (lookups->pdata[i]);
      if (lookup->port == port && strcmp (lookup->host, host) == 0)
        {
          return g_ptr_array_steal_index_fast (lookups, i);
        }
    }
  return NULL;
}

CuratorJob *
curator_resolve_job_start (GPtrArray *lookups, const char *host, guint16 port, int wake_fd,
                           GError **error)
{
  CuratorJob *left = take_left (lookups, host, port);
  if (left != NULL)
    {
      return left;
    }
  Lookup *lookup = g_new0 (Lookup, 1);
  lookup->host = g_strdup (host);
  lookup->port = port;
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
  g_set_error (error, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_RESOLVE,
               "the name cannot be resolved: %s", gai_strerror (lookup->failed));
  return NULL;
}
