/* InterProcessSemaphoreV2: lease nodes under leases/, created by the holder of a lock under locks/.
 *
 * Threads: any; guarded by the client's mutex. semaphore_acquire.c has the acquire.
 */
#include "semaphore/semaphore-private.h"

#include "base/container.h"
#include "base/path.h"
#include "core/async.h"
#include "core/await.h"
#include "core/client-record.h"
#include "core/monitor.h"
#include "core/payload.h"
#include "lock/lease-private.h"
#include "lock/lock-private.h"
#include "lock/revocation.h"
#include "lock/wire.h"

/* Granted while there are no more nodes than leases, in any order: a granted lease is never
 * checked again. */
static void
lease_predicate (CuratorQueue *order, gsize index, int max_leases, CuratorPredicateResults *results)
{
  results->gets_the_lock = (gint64) order->n_names <= max_leases;
}

static CURATOR_LOCKED void
on_count_changed (CuratorCountHook *hook, gint32 value)
{
  CuratorSemaphore *semaphore = CURATOR_CONTAINER (hook, CuratorSemaphore, count_hook);
  semaphore->leases->max_leases = value;
  curator_lock_internals_recheck (semaphore->leases);
}

static CuratorSemaphore *
semaphore_new (CuratorClient *client, const char *path, int max_leases, GError **error)
{
  if (!curator_lock_check_path (client, path, error))
    return NULL;
  CuratorSemaphore *semaphore = g_new0 (CuratorSemaphore, 1);
  g_autofree char *turns = curator_path_join (path, CURATOR_TURNS_NAME);
  g_autofree char *leases = curator_path_join (path, CURATOR_LEASES_NAME);

  semaphore->tag = CURATOR_TAG_SEMAPHORE;
  curator_refs_init (&semaphore->refs);
  semaphore->client = curator_client_ref (client);
  semaphore->turns = curator_lock_internals_new (client, turns, path, CURATOR_LOCK_NAME, 1, NULL);
  semaphore->leases =
      curator_lock_internals_new (client, leases, path, CURATOR_LEASE_NAME, max_leases,
                                  curator_lock_driver_new_builtin (lease_predicate));
  return semaphore;
}

CuratorSemaphore *
curator_semaphore_new (CuratorClient *client, const char *path, guint max_leases, GError **error)
{
  CURATOR_CHECK_CALL (CURATOR_IS_CLIENT (client), error, NULL);
  if (max_leases < 1 || max_leases > G_MAXINT) {
    g_set_error (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT,
                 "a semaphore cannot have %u leases", max_leases);
    return NULL;
  }
  return semaphore_new (client, path, (int) max_leases, error);
}

CuratorSemaphore *
curator_semaphore_new_with_shared_count (CuratorClient *client, const char *path,
                                         CuratorSharedCount *count, GError **error)
{
  CURATOR_CHECK_CALL (CURATOR_IS_CLIENT (client) && CURATOR_IS_SHARED_COUNT (count), error, NULL);
  if (curator_shared_count_get_client (count) != client) {
    g_set_error_literal (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT,
                         "the shared count belongs to another client");
    return NULL;
  }
  CuratorSemaphore *semaphore = semaphore_new (client, path, 0, error);
  if (semaphore == NULL)
    return NULL;
  semaphore->count = curator_shared_count_ref (count);
  semaphore->count_hook.changed = on_count_changed;
  curator_shared_count_add_hook (count, &semaphore->count_hook);
  return semaphore;
}

CURATOR_REF_FUNC (curator_semaphore_ref, CuratorSemaphore, SEMAPHORE)

void
curator_semaphore_unref (CuratorSemaphore *semaphore)
{
  g_return_if_fail (CURATOR_IS_SEMAPHORE (semaphore));
  if (!curator_client_check_forked (semaphore->client, NULL)
      || !curator_refs_dec (&semaphore->refs))
    return;
  if (semaphore->count != NULL) {
    curator_shared_count_remove_hook (semaphore->count, &semaphore->count_hook);
    curator_shared_count_unref (semaphore->count);
  }
  curator_revocation_set (semaphore->leases, NULL);
  curator_lock_internals_unref (semaphore->turns);
  curator_lock_internals_unref (semaphore->leases);
  g_clear_pointer (&semaphore->node_data, g_bytes_unref);
  curator_client_unref (semaphore->client);
  curator_tag_clear (semaphore);
  g_free (semaphore);
}

CURATOR_GETTER (const char *, curator_semaphore_get_path, const CuratorSemaphore, SEMAPHORE,
                leases->shown, NULL)
CURATOR_GETTER (CuratorClient *, curator_semaphore_get_client, const CuratorSemaphore, SEMAPHORE,
                client, NULL)

guint
curator_semaphore_get_max_leases (const CuratorSemaphore *semaphore)
{
  g_return_val_if_fail (CURATOR_IS_SEMAPHORE (semaphore), 0);
  const int max_leases =
      CURATOR_UNLESS_FORKED (semaphore->client, semaphore->leases->max_leases, 0);
  return (guint) MAX (max_leases, 0);
}

void
curator_semaphore_set_node_data (CuratorSemaphore *semaphore, const void *data, gsize length)
{
  g_return_if_fail (CURATOR_IS_SEMAPHORE (semaphore));
  if (!curator_client_check_forked (semaphore->client, NULL))
    return;
  GBytes *bytes = data != NULL ? curator_payload_new (data, length) : NULL;
  curator_client_lock (semaphore->client);
  GBytes *before = semaphore->node_data;
  semaphore->node_data = bytes;
  curator_client_unlock (semaphore->client);
  g_clear_pointer (&before, g_bytes_unref);
}

/* NULL with an error, without a call of done. */
static CuratorOp *
start_return_all (CuratorSemaphore *semaphore, GPtrArray *leases, gint64 timeout_ms,
                  CuratorOpDone done, gpointer data, GError **error)
{
  if (!curator_client_check_forked (semaphore->client, error))
    return NULL;
  CuratorOp *whole = curator_release_new (semaphore->client, timeout_ms, done, data);
  curator_release_split (whole, leases->len);
  for (guint i = 0; i < leases->len; i++)
    curator_lease_release_part (g_ptr_array_index (leases, i), whole);
  return whole;
}

gboolean
curator_semaphore_return_all (CuratorSemaphore *semaphore, GPtrArray *leases, gint64 timeout_ms,
                              GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (CURATOR_IS_SEMAPHORE (semaphore), FALSE);
  CURATOR_CHECK_WAITING (curator_is_array_of (leases, CURATOR_TAG_LEASE), cancellable, error,
                         FALSE);
  CuratorAwait await;

  curator_await_init (&await, semaphore->client);
  CuratorOp *whole =
      start_return_all (semaphore, leases, timeout_ms, curator_await_done, &await, error);
  return whole != NULL && curator_await_op (&await, whole, cancellable, NULL, error);
}

CURATOR_DESTROY_FUNC (unref_semaphore, curator_semaphore_unref)

static void
deliver_return (GCallback callback, gpointer semaphore, gpointer result, const GError *error,
                gpointer user_data)
{
  ((CuratorSemaphoreReturnCallback) callback) (semaphore, error, user_data);
}

void
curator_semaphore_return_all_then (CuratorSemaphore *semaphore, GPtrArray *leases,
                                   gint64 timeout_ms, GCancellable *cancellable,
                                   CuratorSemaphoreReturnCallback callback, gpointer user_data)
{
  g_return_if_fail (CURATOR_IS_SEMAPHORE (semaphore) && callback != NULL);
  g_return_if_fail (curator_is_array_of (leases, CURATOR_TAG_LEASE));
  g_return_if_fail (curator_is_cancellable (cancellable));
  CuratorAsync *async =
      curator_async_new (semaphore->client, curator_semaphore_ref (semaphore), unref_semaphore,
                         deliver_return, G_CALLBACK (callback), user_data);
  GError *error = NULL;
  CuratorOp *op =
      start_return_all (semaphore, leases, timeout_ms, curator_async_done, async, &error);
  curator_async_started (async, op, cancellable, error);
}

char **
curator_semaphore_get_participant_nodes (CuratorSemaphore *semaphore, gint64 timeout_ms,
                                         GCancellable *cancellable, GError **error)
{
  CuratorLimits limits;

  CURATOR_CHECK_WAITING (CURATOR_IS_SEMAPHORE (semaphore), cancellable, error, NULL);
  return curator_limits_init (&limits, semaphore->client, timeout_ms, cancellable, error)
             ? curator_participants_await (semaphore->leases, &limits, error)
             : NULL;
}

gboolean
curator_semaphore_make_revocable (CuratorSemaphore *semaphore,
                                  CuratorSemaphoreRevocationListener listener, gpointer user_data,
                                  GDestroyNotify destroy, GError **error)
{
  CURATOR_CHECK_CALL (CURATOR_IS_SEMAPHORE (semaphore), error, FALSE);
  if (!curator_client_check_forked (semaphore->client, error))
    return FALSE;
  const CuratorRevocationSpec spec = { .owner = semaphore,
                                       .owner_refs = &semaphore->refs,
                                       .unref_owner = unref_semaphore,
                                       .listener = G_CALLBACK (listener),
                                       .user_data = user_data,
                                       .destroy = destroy,
                                       .is_semaphore = TRUE };
  curator_revocation_set (semaphore->leases, listener != NULL ? &spec : NULL);
  return TRUE;
}
