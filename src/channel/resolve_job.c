/* Host names to addresses; see resolve_job.h. Threads: the job's resolves; no lock.
 *
 * Mirrors StaticHostProvider.resolve. A name server may take half a minute, so no other thread waits for
 * it.
 */
#include "channel/resolve_job.h"

#include "channel/channel_error.h"

#include <netdb.h>
#include <string.h>

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
  const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
  Lookup *lookup = data;
  struct addrinfo *found = NULL;
  char port[8];

  g_snprintf (port, sizeof port, "%u", lookup->port);
  lookup->failed = getaddrinfo (lookup->host, port, &hints, &found);
  lookup->addresses = g_ptr_array_new_with_free_func (g_free);
  for (const struct addrinfo *next = found; next != NULL; next = next->ai_next)
    {
      CuratorAddress *address = g_new0 (CuratorAddress, 1);
      memcpy (&address->name, next->ai_addr, next->ai_addrlen);
      address->length = next->ai_addrlen;
      g_ptr_array_add (lookup->addresses, address);
    }
  if (found != NULL)
    {
      freeaddrinfo (found);
    }
}

CuratorJob *
curator_resolve_job_start (const char *host, guint16 port, int wake_fd, GError **error)
{
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
