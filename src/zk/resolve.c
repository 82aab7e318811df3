/* Resolves host names, so that libzookeeper never does.
 *
 * Mirrors HostProvider. Threads: a detached one for each name that is being looked up, which owns a
 * memory reference of the client; guarded by the client's mutex.
 *
 * NOTES: libzookeeper resolves names on every turn of its loop, and one failure silences the whole
 * client. Numeric addresses cannot fail. A resolver may take half a minute, so nobody waits for it,
 * and a name has one look-up at a time. The threads are ours and not those of a pool: after a fork
 * the child starts its own.
 */
#include "zk/resolve.h"

#include "base/container.h"
#include "base/fork_gate.h"
#include "base/lookup.h"
#include "base/server_list.h"
#include "base/thread_start.h"
#include "core/monitor.h"

typedef struct
{
  CuratorClient *client;
  void (*found) (CuratorClient *client);
  char *host; /* in the table of names */
} LookUp;

/* The names that are being looked up. */
static CURATOR_LOCKED GHashTable *
names_of (CuratorClient *client)
{
  static const CuratorAttachmentType type = { sizeof (GHashTable *), curator_attached_clear_table };
  GHashTable **names = curator_attached (&client->attached, &type);

  if (*names == NULL)
    *names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  return *names;
}

static CURATOR_UNLOCKED void *
look_up (void *data)
{
  CURATOR_INSIDE_GATE; /* not while it looks up */
  g_autofree LookUp *job = data;
  CuratorClient *client = job->client;
  g_autofree char *why = NULL;
  int failed = 0;
  g_autoptr (GPtrArray) addresses = curator_lookup (job->host, &failed);

  if (addresses->len == 0)
    why = g_strdup_printf ("the name cannot be resolved: %s", gai_strerror (failed));
  /* A name server may answer in another order each time. */
  g_ptr_array_sort (addresses, curator_address_compare);
  curator_client_lock (client);
  for (guint i = 0; i < client->known->len; i++) {
    CuratorServer *server = client->known->pdata[i];
    if (g_str_equal (server->host, job->host))
      curator_server_resolved (server, addresses, why);
  }
  g_hash_table_remove (names_of (client), job->host);
  if (curator_client_is_running (client))
    job->found (client);
  curator_client_unlock (client);
  curator_client_memory_unref (client);
  return NULL;
}

void
curator_resolve_start (CuratorClient *client, void (*found) (CuratorClient *client))
{
  for (guint i = 0; i < client->known->len; i++) {
    CuratorServer *server = client->known->pdata[i];
    if (server->is_numeric || g_hash_table_contains (names_of (client), server->host))
      continue;
    LookUp *job = g_new (LookUp, 1);
    *job = (LookUp){ client, found, g_strdup (server->host) };
    curator_client_memory_ref (client);
    g_hash_table_add (names_of (client), job->host);
    if (curator_thread_start_detached ("curator-name", look_up, job) != 0) {
      curator_client_memory_unref (client);
      g_hash_table_remove (names_of (client), server->host);
      g_free (job);
      curator_server_resolved (server, NULL, "the system has no threads left");
    }
  }
}

gboolean
curator_resolve_is_busy (CuratorClient *client)
{
  for (guint i = 0; i < client->known->len; i++) {
    const CuratorServer *server = client->known->pdata[i];
    if (g_hash_table_contains (names_of (client), server->host))
      return TRUE;
  }
  return FALSE;
}
