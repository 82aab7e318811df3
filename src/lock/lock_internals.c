/* A lock path as its recipe uses it, and the list of its participants (LockInternals).
 *
 * Threads: any; max_leases and the lists are guarded by the client's mutex, the rest is constant.
 */
#include "lock/lock_internals-private.h"

#include "client/call.h"
#include "client/monitor.h"
#include "client/path.h"
#include "client/settings.h"
#include "lock/queue.h"

CuratorLockInternals *
curator_lock_internals_new (CuratorClient *client, const char *path, const char *lock_name,
                            int max_leases, CuratorLockDriver *driver, GBytes *data)
{
  CuratorLockInternals *internals = g_new0 (CuratorLockInternals, 1);

  curator_not_shared ();
  curator_refs_init (&internals->refs);
  curator_client_memory_ref (client);
  internals->client = client;
  internals->base = curator_client_full_path (client, path);
  internals->lock_name = g_strdup (lock_name);
  internals->max_leases = max_leases;
  internals->driver = curator_lock_driver_ref (driver);
  internals->data = data != NULL ? g_bytes_ref (data) : NULL;
  return internals;
}

CuratorLockInternals *
curator_lock_internals_ref (CuratorLockInternals *internals)
{
  curator_refs_inc (&internals->refs);
  return internals;
}

void
curator_lock_internals_unref (CuratorLockInternals *internals)
{
  if (curator_refs_dec (&internals->refs))
    {
      curator_lock_driver_unref (internals->driver);
      g_clear_pointer (&internals->data, g_bytes_unref);
      g_free (internals->base);
      g_free (internals->lock_name);
      curator_client_memory_unref (internals->client);
      g_free (internals);
    }
}

const char *
curator_lock_internals_key (const char *name, gpointer user_data)
{
  const CuratorLockInternals *internals = user_data;
  return curator_lock_driver_key (internals->driver, name, internals->lock_name);
}

char **
curator_lock_internals_participants (CuratorLockInternals *internals,
                                     gboolean (*accept) (const char *name), GError **error)
{
  g_autoptr (GError) local = NULL;
  g_autoptr (CuratorCallResult) result = curator_call (internals->client, CURATOR_CALL_GET_CHILDREN,
                                                       internals->base, NULL, 0, NULL, &local);
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  g_auto (CuratorQueue) queue = { 0 };

  if (result == NULL && !g_error_matches (local, CURATOR_ZK_ERROR, ZNONODE))
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return NULL;
    }
  if (result != NULL)
    {
      curator_queue_init (&queue, (const char *const *) result->children->pdata,
                          result->children->len, curator_lock_internals_key, internals);
    }
  const char *base = curator_client_user_path (internals->client, internals->base);
  for (gsize i = 0; i < queue.n_names; i++)
    {
      if (accept == NULL || accept (queue.names[i]))
        {
          g_ptr_array_add (paths, curator_path_join (base, queue.names[i]));
        }
    }
  g_ptr_array_add (paths, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&paths), FALSE);
}

char **
curator_lock_internals_one_participant (CuratorLockInternals *internals, GError **error)
{
  g_autofree char *path = curator_path_join (internals->base, internals->lock_name);
  g_autoptr (GError) local = NULL;
  g_autoptr (CuratorCallResult) result =
      curator_call (internals->client, CURATOR_CALL_GET, path, NULL, 0, NULL, &local);

  if (result == NULL && !g_error_matches (local, CURATOR_ZK_ERROR, ZNONODE))
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return NULL;
    }
  char **paths = g_new0 (char *, 2);
  paths[0] = result != NULL ? g_strdup (curator_client_user_path (internals->client, path)) : NULL;
  return paths;
}
