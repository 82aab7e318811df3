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

#include <string.h>

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
  if (g_str_has_suffix (internals->base, path))
    internals->shown = internals->base + strlen (internals->base) - strlen (path);
  else
    curator_lock_internals_show_as (internals, path);
  internals->lock_name = g_strdup (lock_name);
  internals->max_leases = max_leases;
  internals->max_hold_ms = CURATOR_WAIT_FOREVER;
  internals->driver = curator_lock_driver_ref (driver);
  g_atomic_int_set (&driver->is_used, TRUE);
  internals->data = data != NULL ? g_bytes_ref (data) : NULL;
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
    if (internals->driver->is_builtin)
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
curator_lock_internals_show_as (CuratorLockInternals *internals, const char *path)
{
  g_free (internals->shown_as);
  internals->shown_as = g_strdup (path);
  internals->shown = internals->shown_as;
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
  const char *path = curator_lock_internals_shown (internals);

  if (!is_contended && !(op->contender_was_shown && curator_client_is_connected (client)))
    return curator_unanswered_error (client, "acquiring", path, op->begun_us);
  g_autofree char *shown = curator_path_escape (path);
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
  return curator_lock_driver_key (internals->driver, name, internals->lock_name);
}

static char *
path_to_read (const CuratorParticipants *those)
{
  const CuratorLockInternals *internals = those->internals;
  return those->is_one_node ? curator_path_join (internals->base, internals->lock_name)
                            : g_strdup (internals->base);
}

CuratorOp *
curator_participants_start (const CuratorParticipants *those, gint64 deadline_us,
                            CuratorOpDone done, gpointer data)
{
  g_autofree char *path = path_to_read (those);
  return curator_call_start (those->internals->client, deadline_us,
                             those->is_one_node ? CURATOR_CALL_GET : CURATOR_CALL_GET_CHILDREN,
                             path, done, data);
}

static void
add_queue (const CuratorParticipants *those, const CuratorCallResult *result, GPtrArray *paths)
{
  const CuratorLockInternals *internals = those->internals;
  const char *base = curator_client_user_path (internals->client, internals->base);
  g_auto (CuratorQueue) queue = { 0 };

  curator_queue_init (&queue, (const char *const *) result->children->pdata, result->children->len,
                      curator_lock_internals_key, those->internals);
  for (gsize i = 0; i < queue.n_names; i++)
    if (those->accept == NULL || those->accept (queue.names[i]))
      g_ptr_array_add (paths, curator_path_join (base, queue.names[i]));
}

char **
curator_participants_take (const CuratorParticipants *those, gpointer data, const GError *failure,
                           GError **error)
{
  g_autoptr (CuratorCallResult) result = data;

  if (result == NULL && !g_error_matches (failure, CURATOR_ZK_ERROR, ZNONODE)) {
    g_propagate_error (error, g_error_copy (failure));
    return NULL;
  }
  GPtrArray *paths = g_ptr_array_new ();
  g_autofree char *path = path_to_read (those);
  if (result != NULL && those->is_one_node)
    g_ptr_array_add (paths, g_strdup (curator_client_user_path (those->internals->client, path)));
  else if (result != NULL)
    add_queue (those, result, paths);
  g_ptr_array_add (paths, NULL);
  return (char **) g_ptr_array_free (paths, FALSE);
}

char **
curator_participants_await (const CuratorParticipants *those, const CuratorLimits *limits,
                            GError **error)
{
  CuratorAwait await;
  gpointer result = NULL;
  g_autoptr (GError) failure = NULL;

  curator_await_init (&await, limits->client);
  CuratorOp *op =
      curator_participants_start (those, limits->deadline_us, curator_await_done, &await);
  curator_await_op (&await, op, limits->cancellable, &result, &failure);
  return curator_participants_take (those, result, failure, error);
}
