/* The public functions of every lock (InterProcessLock).
 *
 * Threads: any. Each kind of lock is guarded by its client's mutex, and so is the maximum of its
 * holds. A blocking call starts the same operation as the asynchronous one and waits for it.
 */
#include "lock/lock-private.h"

#include "base/fork_gate.h"
#include "base/path.h"
#include "base/tag.h"
#include "base/threads.h"
#include "core/async.h"
#include "core/await.h"
#include "core/client-record.h"
#include "core/monitor.h"
#include "lock/reentry.h"
#include "lock/revocation.h"

#include <string.h>

/* Room for a protected prefix, a lock name and a number behind the path. */
#define NODE_NAME_ROOM 128

void
curator_lock_destroy (CuratorLock *lock)
{
  CuratorClient *client = lock->client;
  lock->klass->finalize (lock);
  curator_tag_clear (lock);
  g_free (lock);
  g_clear_pointer (&client, curator_client_unref);
}

gpointer
curator_lock_alloc (gsize size, const CuratorLockClass *klass, CuratorClient *client)
{
  static _Atomic guint64 last_serial;
  CuratorLock *lock = g_malloc0 (size);
  lock->tag = CURATOR_TAG_LOCK;
  curator_refs_init (&lock->own_refs);
  lock->refs = &lock->own_refs;
  lock->free = curator_lock_destroy;
  lock->klass = klass;
  lock->serial = ++last_serial;
  lock->client = client != NULL ? curator_client_ref (client) : NULL;
  return lock;
}

CuratorLock *
curator_lock_ref (CuratorLock *lock)
{
  g_return_val_if_fail (CURATOR_IS_LOCK (lock), NULL);
  curator_refs_inc (lock->refs);
  return lock;
}

void
curator_lock_unref (CuratorLock *lock)
{
  g_return_if_fail (CURATOR_IS_LOCK (lock));
  if ((lock->client != NULL && !curator_client_check_forked (lock->client, NULL))
      || !curator_refs_dec (lock->refs))
    return;
  CURATOR_INSIDE_GATE;
  lock->free (lock);
}

gboolean
curator_lock_moves (CuratorLock *lock, CuratorClient *client, CuratorWork go_on, gpointer data)
{
  const gboolean moves =
      curator_thread_role ().is_ours && lock->internals->driver->funcs.creates_the_lock != NULL;
  if (moves) {
    curator_client_lock (client);
    curator_dispatch_push (client, CURATOR_LANE_QUESTIONS, go_on, data, NULL);
    curator_client_unlock (client);
  }
  return moves;
}

CuratorOp *
curator_lock_refused_op (CuratorClient *client, GError *error, const CuratorAttemptSpec *spec)
{
  static const CuratorOpClass klass = { 0 };
  CuratorOp *op = curator_op_alloc (sizeof *op, &klass, client, G_MAXINT64, spec->done, spec->data);

  curator_client_lock (client);
  if (curator_op_begin (op))
    curator_op_finish (op, NULL, g_steal_pointer (&error));
  curator_client_unlock (client);
  g_clear_error (&error);
  return op;
}

gboolean
curator_lock_check_path (CuratorClient *client, const char *path, GError **error)
{
  if (!curator_client_check_forked (client, error) || !curator_path_validate (path, error))
    return FALSE;
  if (strlen (client->settings.prefix) + strlen (path) + NODE_NAME_ROOM > CURATOR_PATH_MAX_LENGTH)
    return CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT,
                           "the path is too long: lock nodes below it would exceed %d bytes",
                           CURATOR_PATH_MAX_LENGTH);
  return TRUE;
}

const char *
curator_lock_get_path (const CuratorLock *lock)
{
  g_return_val_if_fail (CURATOR_IS_LOCK (lock), NULL);
  return lock->internals != NULL ? lock->internals->shown : NULL;
}

CuratorClient *
curator_lock_get_client (const CuratorLock *lock)
{
  g_return_val_if_fail (CURATOR_IS_LOCK (lock), NULL);
  return lock->internals != NULL ? lock->client : NULL;
}

void
curator_lock_set_max_hold (CuratorLock *lock, gint64 max_hold_ms)
{
  g_return_if_fail (CURATOR_IS_LOCK (lock));
  g_return_if_fail (max_hold_ms > 0);
  if (lock->client == NULL || !curator_client_check_forked (lock->client, NULL))
    return;
  if (lock->internals == NULL) {
    lock->klass->set_max_hold (lock, max_hold_ms);
    return;
  }
  curator_client_lock (lock->client);
  lock->internals->max_hold_ms = max_hold_ms;
  curator_client_unlock (lock->client);
}

gint64
curator_lock_get_max_hold_ms (const CuratorLock *lock)
{
  g_return_val_if_fail (CURATOR_IS_LOCK (lock), 0);
  if (lock->client == NULL)
    return CURATOR_WAIT_FOREVER;
  if (!curator_client_check_forked (lock->client, NULL))
    return 0;
  return lock->internals != NULL ? CURATOR_WITH_MUTEX (lock->client, lock->internals->max_hold_ms)
                                 : lock->klass->get_max_hold_ms (lock);
}

static CURATOR_UNLOCKED gboolean
check_acquire (CuratorLock *lock, GCancellable *cancellable, GError **error)
{
  if (lock->client == NULL)
    return CURATOR_REFUSE (error, CURATOR_ERROR_UNSUPPORTED,
                           "a multi-lock without members has no lease");
  return curator_check_call (lock->client, cancellable, error);
}

/* Called without the mutex. The caller has ruled out a re-entry. */
static CuratorOp *
start_acquire (CuratorLock *lock, guint64 owner, gint64 timeout_ms, CuratorOpDone done,
               gpointer data)
{
  CuratorAttemptSpec spec = { .done = done, .data = data };
  spec.deadline_us = curator_acquire_deadline (lock->client, timeout_ms, &spec.once);
  return lock->klass->acquire (lock, owner, &spec);
}

static gboolean
await_acquire (CuratorLock *lock, guint64 owner, gint64 timeout_ms, GCancellable *cancellable,
               gpointer *lease, GError **error)
{
  CuratorAwait await;

  if (!check_acquire (lock, cancellable, error))
    return FALSE;
  curator_await_init (&await, lock->client);
  CuratorOp *op = start_acquire (lock, owner, timeout_ms, curator_await_done, &await);
  return curator_await_op (&await, op, cancellable, lease, error);
}

/* Not inlined, so that a re-entry needs no stack frame for this. */
G_NO_INLINE static gboolean
acquire_first (CuratorLock *lock, gint64 timeout_ms, GCancellable *cancellable, GError **error)
{
  const guint64 owner = curator_thread_id ();
  GError *local = NULL;

  if (lock->client != NULL && !curator_client_check_forked (lock->client, error))
    return FALSE;
  if (lock->klass->reenter != NULL && lock->klass->reenter (lock, owner, &local)) {
    if (local == NULL)
      return TRUE;
    g_propagate_error (error, local);
    return FALSE;
  }
  const gboolean acquired = await_acquire (lock, owner, timeout_ms, cancellable, NULL, error);
  curator_reentry_forget_all ();
  return acquired;
}

gboolean
curator_lock_acquire (CuratorLock *lock, gint64 timeout_ms, GCancellable *cancellable,
                      GError **error)
{
  if (G_LIKELY (CURATOR_IS_LOCK (lock) && curator_reentry_enter (lock)))
    return TRUE;
  CURATOR_CHECK_WAITING (CURATOR_IS_LOCK (lock), cancellable, error, FALSE);
  return acquire_first (lock, timeout_ms, cancellable, error);
}

CuratorLease *
curator_lock_acquire_lease (CuratorLock *lock, gint64 timeout_ms, GCancellable *cancellable,
                            GError **error)
{
  CURATOR_CHECK_WAITING (CURATOR_IS_LOCK (lock), cancellable, error, NULL);
  gpointer lease = NULL;
  return await_acquire (lock, 0, timeout_ms, cancellable, &lease, error) ? lease : NULL;
}

CURATOR_DESTROY_FUNC (unref_lock, curator_lock_unref)

static void
deliver_acquire (GCallback callback, gpointer lock, gpointer lease, const GError *error,
                 gpointer user_data)
{
  ((CuratorLockAcquireCallback) callback) (lock, lease, error, user_data);
}

void
curator_lock_acquire_then (CuratorLock *lock, gint64 timeout_ms, GCancellable *cancellable,
                           CuratorLockAcquireCallback callback, gpointer user_data)
{
  g_return_if_fail (CURATOR_IS_LOCK (lock) && callback != NULL);
  g_return_if_fail (curator_is_cancellable (cancellable));
  CuratorAsync *async = curator_async_new (lock->client, curator_lock_ref (lock), unref_lock,
                                           deliver_acquire, G_CALLBACK (callback), user_data);
  GError *error = NULL;
  CuratorOp *op = check_acquire (lock, cancellable, &error)
                      ? start_acquire (lock, 0, timeout_ms, curator_async_done, async)
                      : NULL;

  curator_async_started (async, op, cancellable, error);
}

/* Ends one level of the calling thread's hold. */
G_NO_INLINE static gboolean
release_last (CuratorLock *lock, gint64 timeout_ms, GCancellable *cancellable, GError **error)
{
  CuratorAwait await;

  if (lock->client == NULL)
    return TRUE;
  if (!curator_client_check_forked (lock->client, error))
    return FALSE;
  curator_await_init (&await, lock->client);
  CuratorOp *op = curator_release_new (lock->client, timeout_ms, curator_await_done, &await);
  lock->klass->release (lock, curator_thread_id (), op);
  return curator_await_op (&await, op, cancellable, NULL, error);
}

gboolean
curator_lock_release (CuratorLock *lock, gint64 timeout_ms, GCancellable *cancellable,
                      GError **error)
{
  if (G_LIKELY (CURATOR_IS_LOCK (lock) && curator_reentry_leave (lock)))
    return TRUE;
  CURATOR_CHECK_WAITING (CURATOR_IS_LOCK (lock), cancellable, error, FALSE);
  return release_last (lock, timeout_ms, cancellable, error);
}

static void
deliver_release (GCallback callback, gpointer lock, gpointer result, const GError *error,
                 gpointer user_data)
{
  ((CuratorLockReleaseCallback) callback) (lock, error, user_data);
}

void
curator_lock_release_then (CuratorLock *lock, gint64 timeout_ms, GCancellable *cancellable,
                           CuratorLockReleaseCallback callback, gpointer user_data)
{
  g_return_if_fail (CURATOR_IS_LOCK (lock));
  g_return_if_fail (curator_is_cancellable (cancellable));
  if (callback == NULL) {
    /* No thread is woken. */
    if (lock->client != NULL && curator_client_check_forked (lock->client, NULL))
      lock->klass->release (lock, curator_thread_id (), NULL);
    return;
  }
  CuratorAsync *async = curator_async_new (lock->client, curator_lock_ref (lock), unref_lock,
                                           deliver_release, G_CALLBACK (callback), user_data);
  GError *error = NULL;
  CuratorOp *op = NULL;

  if (lock->client != NULL && curator_client_check_forked (lock->client, &error)) {
    op = curator_release_new (lock->client, timeout_ms, curator_async_done, async);
    lock->klass->release (lock, curator_thread_id (), op);
  }
  curator_async_started (async, op, cancellable, error);
}

gboolean
curator_lock_is_acquired_in_this_process (CuratorLock *lock)
{
  g_return_val_if_fail (CURATOR_IS_LOCK (lock), FALSE);
  return lock->client == NULL
         || (curator_client_check_forked (lock->client, NULL) && lock->klass->is_acquired (lock));
}

gboolean
curator_lock_is_owned_by_current_thread (CuratorLock *lock)
{
  g_return_val_if_fail (CURATOR_IS_LOCK (lock), FALSE);
  return lock->client == NULL
         || (curator_client_check_forked (lock->client, NULL)
             && lock->klass->is_owned (lock, curator_thread_id ()));
}

static gboolean
check_participants (CuratorLock *lock, GError **error)
{
  return lock->internals != NULL
         || CURATOR_REFUSE (error, CURATOR_ERROR_UNSUPPORTED, "a %s has no participants of its own",
                            lock->klass->name);
}

char **
curator_lock_get_participant_nodes (CuratorLock *lock, gint64 timeout_ms, GCancellable *cancellable,
                                    GError **error)
{
  CuratorLimits limits;

  CURATOR_CHECK_WAITING (CURATOR_IS_LOCK (lock), cancellable, error, NULL);
  if (!check_participants (lock, error)
      || !curator_limits_init (&limits, lock->client, timeout_ms, cancellable, error))
    return NULL;
  return curator_participants_await (lock->internals, &limits, error);
}

/* A driver of the user's, which names the participants, is asked where callbacks run. */
static void
deliver_nodes (GCallback callback, gpointer data, gpointer result, const GError *error,
               gpointer user_data)
{
  CuratorLock *lock = data;
  char **nodes = curator_participants_take (lock->internals, result, error, NULL);
  ((CuratorLockParticipantNodesCallback) callback) (lock, nodes, nodes == NULL ? error : NULL,
                                                    user_data);
}

void
curator_lock_get_participant_nodes_then (CuratorLock *lock, gint64 timeout_ms,
                                         GCancellable *cancellable,
                                         CuratorLockParticipantNodesCallback callback,
                                         gpointer user_data)
{
  g_return_if_fail (CURATOR_IS_LOCK (lock) && callback != NULL);
  g_return_if_fail (curator_is_cancellable (cancellable));
  CuratorAsync *async = curator_async_new (lock->client, curator_lock_ref (lock), unref_lock,
                                           deliver_nodes, G_CALLBACK (callback), user_data);
  GError *error = NULL;
  CuratorOp *op = NULL;

  if (check_participants (lock, &error) && curator_check_call (lock->client, cancellable, &error))
    op = curator_participants_start (lock->internals,
                                     curator_client_deadline (lock->client, timeout_ms),
                                     curator_async_done, async);
  curator_async_started (async, op, cancellable, error);
}

CuratorLease *
curator_lock_dup_lease (CuratorLock *lock)
{
  g_return_val_if_fail (CURATOR_IS_LOCK (lock), NULL);
  return lock->client != NULL && curator_client_check_forked (lock->client, NULL)
             ? lock->klass->dup_lease (lock, curator_thread_id ())
             : NULL;
}

gboolean
curator_lock_make_revocable (CuratorLock *lock, CuratorRevocationListener listener,
                             gpointer user_data, GDestroyNotify destroy, GError **error)
{
  CURATOR_CHECK_CALL (CURATOR_IS_LOCK (lock), error, FALSE);
  if (!lock->klass->is_revocable)
    return CURATOR_REFUSE (error, CURATOR_ERROR_UNSUPPORTED, "a %s cannot be made revocable",
                           lock->klass->name);
  if (!curator_client_check_forked (lock->client, error))
    return FALSE;
  const CuratorRevocationSpec spec = { .owner = lock,
                                       .owner_refs = lock->refs,
                                       .unref_owner = unref_lock,
                                       .listener = G_CALLBACK (listener),
                                       .user_data = user_data,
                                       .destroy = destroy };
  curator_revocation_set (lock->internals, listener != NULL ? &spec : NULL);
  return TRUE;
}
