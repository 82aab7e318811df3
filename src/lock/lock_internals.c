/* A lock path as its recipe uses it, and the list of its participants (LockInternals).
 *
 * Threads: any; max_leases and the lists are guarded by the client's mutex, the rest is constant.
 */
#include "lock/lock_internals-private.h"

#include "base/path.h"
#include "core/await.h"
#include "core/listeners.h"
#include "core/log.h"
#include "core/monitor.h"
#include "core/namespace.h"
#include "lock/queue.h"
#include "nodes/call.h"
#include "session/connection_error.h"
#include "session/session.h"

#include <string.h>

CuratorLockInternals *
curator_lock_internals_new (CuratorClient *client, const char *path, const char *shown,
                            const char *lock_name, int max_leases, CuratorLockDriver *driver)
{
  CuratorLockInternals *internals = g_new0 (CuratorLockInternals, 1);

  curator_not_shared ();
  curator_refs_init (&internals->refs);
  curator_client_memory_ref (client);
  internals->client = client;
  internals->base = curator_client_full_path (client, path);
  if (g_str_has_suffix (internals->base, shown))
    internals->shown = internals->base + strlen (internals->base) - strlen (shown);
  else
    internals->shown = internals->shown_as = g_strdup (shown);
  internals->lock_name = g_strdup (lock_name);
  internals->max_leases = max_leases;
  internals->max_hold_ms = CURATOR_WAIT_FOREVER;
  internals->driver =
      driver != NULL ? driver : curator_lock_driver_ref (curator_lock_driver_standard ());
  g_atomic_int_set (&internals->driver->is_used, TRUE);
  return internals;
}

CuratorLockInternals *
curator_lock_internals_ref (CuratorLockInternals *internals)
{
  curator_refs_inc (&internals->refs);
  return internals;
}

CURATOR_DESTROY_FUNC (unref_driver, curator_lock_driver_unref)

void
curator_lock_internals_unref (CuratorLockInternals *internals)
{
  if (curator_refs_dec (&internals->refs)) {
    if (internals->driver->predicate != NULL)
      curator_lock_driver_unref (internals->driver);
    else
      curator_user_data_destroy (internals->client, unref_driver, internals->driver);
    g_clear_pointer (&internals->data, g_bytes_unref);
    g_free (internals->base);
    g_free (internals->shown_as);
    g_free (internals->lock_name);
    curator_client_memory_unref (internals->client);
    g_free (internals);
  }
}

void
curator_lock_internals_warn_of_mix (CuratorClient *client, const char *path,
                                    const char *other_recipe)
{
  static const CuratorAttachmentType warned_of = { sizeof (GHashTable *),
                                                   curator_attached_clear_table };
  GHashTable **warned = curator_attached (&client->attached, &warned_of);

  if (*warned == NULL)
    *warned = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  if (g_hash_table_add (*warned, g_strdup (path))) {
    curator_warn ("%s is also used by %s: they do not exclude each other",
                  curator_client_user_path (client, path), other_recipe);
  }
}

gboolean
curator_lock_internals_is_exclusive (const CuratorLockInternals *internals)
{
  return internals->driver->neighbours_succeed && internals->max_leases == 1;
}

/* The connection decides about a contender that has left: what came after it may be unknown. */
GError *
curator_lock_internals_timed_out (const CuratorLockInternals *internals, const CuratorOp *op,
                                  gboolean is_contended)
{
  CuratorClient *client = internals->client;

  if (!is_contended && !(op->contender_was_shown && curator_client_is_connected (client)))
    return curator_unanswered_error (client, "acquiring", internals->shown, op->begun_us);
  g_autofree char *shown = curator_path_escape (internals->shown);
  g_autofree char *outage = curator_connection_error_suffix (client);
  return g_error_new (CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT,
                      "acquiring %s: not granted within %" G_GINT64_FORMAT " ms: %s%s", shown,
                      (curator_client_now_us (client) - op->begun_us) / 1000,
                      op->contender_was_shown ? "another contender is in front"
                      : internals->driver == curator_lock_driver_standard ()
                          ? "a node that this client gave up is in front and is not deleted yet"
                          : "the lock driver has not decided",
                      outage);
}

const char *
curator_lock_internals_key (const char *name, gpointer user_data)
{
  const CuratorLockInternals *internals = user_data;
  CuratorLockDriver *driver = internals->driver;
  return driver->funcs.fix_for_sorting != NULL
             ? driver->funcs.fix_for_sorting (driver, name, internals->lock_name, driver->user_data)
             : curator_queue_standard_key (name, internals->lock_name);
}

CuratorOp *
curator_participants_start (CuratorLockInternals *internals, gint64 deadline_us, CuratorOpDone done,
                            gpointer data)
{
  if (!internals->is_one_node)
    return curator_call_start (internals->client, deadline_us, CURATOR_CALL_GET_CHILDREN,
                               internals->base, done, data);
  g_autofree char *path = curator_path_join (internals->base, internals->lock_name);
  return curator_call_start (internals->client, deadline_us, CURATOR_CALL_GET, path, done, data);
}

char **
curator_participants_take (CuratorLockInternals *internals, gpointer data, const GError *failure,
                           GError **error)
{
  g_autoptr (CuratorCallResult) result = data;

  if (result == NULL && !g_error_matches (failure, CURATOR_ZK_ERROR, ZNONODE)) {
    g_propagate_error (error, g_error_copy (failure));
    return NULL;
  }
  GPtrArray *paths = g_ptr_array_new ();
  if (result != NULL && internals->is_one_node) {
    g_ptr_array_add (paths, g_strdup (internals->shown));
  } else if (result != NULL) {
    const char *base = curator_client_user_path (internals->client, internals->base);
    g_auto (CuratorQueue) queue = { 0 };
    curator_queue_init (&queue, (const char *const *) result->children->pdata,
                        result->children->len, curator_lock_internals_key, internals);
    for (gsize i = 0; i < queue.n_names; i++)
      if (!internals->shares_queue || strstr (queue.names[i], internals->lock_name) != NULL)
        g_ptr_array_add (paths, curator_path_join (base, queue.names[i]));
  }
  g_ptr_array_add (paths, NULL);
  return (char **) g_ptr_array_free (paths, FALSE);
}

char **
curator_participants_await (CuratorLockInternals *internals, const CuratorLimits *limits,
                            GError **error)
{
  CuratorAwait await;
  gpointer result = NULL;
  g_autoptr (GError) failure = NULL;

  curator_await_init (&await, limits->client);
  CuratorOp *op =
      curator_participants_start (internals, limits->deadline_us, curator_await_done, &await);
  curator_await_op (&await, op, limits->cancellable, &result, &failure);
  return curator_participants_take (internals, result, failure, error);
}
