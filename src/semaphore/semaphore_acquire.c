/* Acquires leases of a semaphore: the turn, a lock under locks/, then lease nodes under leases/.
 *
 * Mirrors InterProcessSemaphoreV2.acquire. Threads: any; guarded by the client's mutex.
 *
 * NOTES: the holder of the turn creates its lease nodes and waits until there are no more nodes
 * than leases; so only one contender has surplus nodes and the rest queue in order. The turn is
 * kept until all n leases are granted. (Curator releases it after each, and two clients that want 2
 * of 2 can take one each and wait forever.) A lease is never taken back: a smaller number only
 * makes the next contenders wait. Losing the turn, with the session or by the clock alone, restarts
 * everything: a lease node that waits without its turn would be one too many for the new holder of
 * the turn.
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
#include "lock/queue.h"
#include "lock/wire.h"
#include "session/connection_error.h"
#include "session/heartbeat.h"
#include "session/lease_clock.h"
#include "session/request.h"
#include "session/retry_loop.h"

#include <string.h>

typedef struct
{
  CuratorOp op;
  CuratorSemaphore *semaphore;
  guint n;
  gboolean once;
  CuratorLease *turn CURATOR_GUARDED;
  CuratorStake turn_stake; /* notifies when it is lost */
  GPtrArray *leases CURATOR_GUARDED;
  CuratorOp *current CURATOR_GUARDED; /* the attempt in progress */
  CuratorRetryLoop restarts;          /* after the turn was lost */
} Acquire;

static void attempt_done (CuratorOp *op, gpointer lease, const GError *error,
                          gpointer data) CURATOR_UNLOCKED;

CURATOR_DESTROY_FUNC (unref_lease, curator_lease_unref)
CURATOR_DESTROY_FUNC (unref_internals, curator_lock_internals_unref)
CURATOR_DESTROY_FUNC (unref_leases, g_ptr_array_unref)
CURATOR_DESTROY_FUNC (unref_op, curator_op_unref)

/* Cancels the lease's attempt, whose end starts over. */
static CURATOR_LOCKED void
on_turn_changed (CuratorStake *stake, CuratorLeaseState state)
{
  Acquire *acquire = CURATOR_CONTAINER (stake, Acquire, turn_stake);
  CuratorOp *current = acquire->current;

  if (state == CURATOR_LEASE_STATE_LOST && current != NULL && !current->finished)
    current->klass->cancel (current,
                            g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_LOCK_LOST,
                                                 "the turn was lost while waiting for a lease"));
}

/* The children of the semaphore's path, of which its own lists show nothing. */
static CURATOR_LOCKED void
on_path_listed (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorLockInternals *turns = data;
  g_autofree char *path = curator_path_parent (turns->base);

  for (int i = 0; rc == ZOK && i < reply->children->count; i++) {
    const char *name = reply->children->data[i];
    const char *recipe = curator_queue_recipe_of (name);
    if (recipe != NULL && strcmp (name, CURATOR_LEASES_NAME) != 0)
      curator_lock_internals_warn_of_mix (turns->client, path, recipe);
  }
  curator_client_after_unlock (turns->client, unref_internals, turns);
}

static CURATOR_LOCKED void
hold_turn (Acquire *acquire, CuratorLease *turn)
{
  CuratorSemaphore *semaphore = acquire->semaphore;
  CuratorSession *session = curator_lease_get_session (turn);

  acquire->turn = turn;
  if (!semaphore->has_looked) {
    /* Nobody waits for the answer, which comes before that to the creation of a lease. */
    g_autofree char *path = curator_path_parent (semaphore->turns->base);
    semaphore->has_looked = TRUE;
    curator_request_get_children (session, path, FALSE, on_path_listed,
                                  curator_lock_internals_ref (semaphore->turns));
  }
  if (curator_lease_state_now (turn) < CURATOR_LEASE_STATE_LOST) {
    acquire->turn_stake.path = curator_lease_full_path (turn);
    acquire->turn_stake.changed = on_turn_changed;
    curator_stake_register (&acquire->turn_stake, session, CURATOR_STAKE_HELD);
  }
}

static CURATOR_LOCKED CuratorLease *
steal_turn (Acquire *acquire)
{
  curator_stake_unregister (&acquire->turn_stake);
  return g_steal_pointer (&acquire->turn);
}

/* Releases the turn and all leases. */
static CURATOR_LOCKED void
release_all (Acquire *acquire)
{
  CuratorClient *client = acquire->op.client;
  GPtrArray *leases = g_steal_pointer (&acquire->leases);

  if (acquire->turn != NULL)
    g_ptr_array_insert (leases, 0, steal_turn (acquire));
  /* The leases go first, so that the next holder of the turn finds them gone. */
  for (guint i = leases->len; i-- > 0;)
    curator_lease_end (g_ptr_array_index (leases, i), NULL);
  /* Dropping them takes the client's mutex. */
  curator_client_after_unlock (client, unref_leases, leases);
  acquire->leases = g_ptr_array_new_with_free_func (unref_lease);
}

/* Takes error. */
static CURATOR_LOCKED void
acquire_fail (CuratorOp *op, GError *error)
{
  Acquire *acquire = (Acquire *) op;
  CuratorOp *current = g_steal_pointer (&acquire->current);

  curator_retry_loop_stop (&acquire->restarts);
  if (current != NULL && !current->finished)
    current->klass->cancel (current, g_error_copy (error));
  release_all (acquire);
  curator_op_finish (op, NULL, error);
  if (current != NULL)
    curator_client_after_unlock (op->client, unref_op, current);
}

static CURATOR_LOCKED void
on_retries_exhausted (gpointer data, int rc)
{
  Acquire *acquire = data;
  acquire_fail (&acquire->op,
                curator_request_error (acquire->op.client, rc, "acquiring",
                                       acquire->semaphore->leases->shown, acquire->op.begun_us));
}

/* Takes request. */
static CURATOR_LOCKED void
start_attempt (Acquire *acquire, CuratorLockInternals *internals, CuratorNodeRequest *request)
{
  const CuratorAttemptSpec spec = { .request = request,
                                    .deadline_us = acquire->op.deadline_us,
                                    .once = acquire->once,
                                    .done = attempt_done,
                                    .data = curator_op_ref (&acquire->op) };
  acquire->current = curator_lock_internals_attempt_locked (internals, &spec);
  curator_op_continue (acquire->current, acquire->op.begun_us, acquire->op.contender_was_shown);
}

static CURATOR_LOCKED void
take_turn (gpointer data)
{
  Acquire *acquire = data;
  start_attempt (acquire, acquire->semaphore->turns, NULL);
}

/* Starts the next lease, or succeeds: then the turn ends without waiting for its node's deletion. */
static CURATOR_LOCKED void
take_lease (Acquire *acquire)
{
  CuratorSemaphore *semaphore = acquire->semaphore;

  if (acquire->leases->len == acquire->n) {
    CuratorLease *turn = steal_turn (acquire);
    curator_lease_end (turn, NULL);
    curator_client_after_unlock (acquire->op.client, unref_lease, turn);
    curator_op_finish (&acquire->op, g_steal_pointer (&acquire->leases), NULL);
    return;
  }
  CuratorNodeRequest *request = curator_node_request_new (semaphore->leases->lock_name);
  request->required_hold = curator_lease_ref (acquire->turn);
  request->data = semaphore->node_data != NULL ? g_bytes_ref (semaphore->node_data) : NULL;
  start_attempt (acquire, semaphore->leases, request);
}

/* The end of an attempt, which drops its reference to acquire. It was for the turn unless that is
 * held. */
static void
attempt_done (CuratorOp *op, gpointer lease, const GError *error, gpointer data)
{
  Acquire *acquire = data;
  CuratorClient *client = acquire->op.client;
  CuratorLease *unwanted = NULL;

  curator_client_lock (client);
  CuratorOp *ended = g_steal_pointer (&acquire->current);
  curator_op_continue (&acquire->op, acquire->op.begun_us,
                       ended != NULL && ended->contender_was_shown);
  if (acquire->op.finished) {
    unwanted = lease;
  } else if (acquire->turn != NULL
             && g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_LOCK_LOST)) {
    /* The turn is lost: starts over, and as often as the retry policy allows if its node was deleted. */
    CuratorSession *session = curator_lease_get_session (acquire->turn);
    const gboolean was_deleted =
        session == client->session && !curator_lease_clock_has_lapsed (session);
    release_all (acquire);
    if (acquire->restarts.start_us == 0)
      acquire->restarts.start_us = curator_client_now_us (client);
    if (!was_deleted)
      curator_retry_loop_begin (&acquire->restarts);
    else
      curator_retry_loop_again (&acquire->restarts, ZSESSIONEXPIRED);
  } else if (error != NULL) {
    acquire_fail (&acquire->op, g_error_copy (error));
  } else {
    if (acquire->turn == NULL)
      hold_turn (acquire, lease);
    else
      g_ptr_array_add (acquire->leases, lease);
    take_lease (acquire);
  }
  curator_client_unlock (client);
  g_clear_pointer (&unwanted, curator_lease_unref);
  g_clear_pointer (&ended, curator_op_unref);
  curator_op_unref (&acquire->op);
}

/* The attempt in progress knows whether a contender is in front. One that ends because the turn was
 * lost does not. */
static CURATOR_LOCKED GError *
acquire_timed_out (CuratorOp *op)
{
  Acquire *acquire = (Acquire *) op;
  CuratorOp *current = acquire->current;

  /* Its end is about to be handled: it decides. */
  if (current != NULL && current->finished)
    return NULL;
  if (current != NULL) {
    curator_op_continue (current, op->begun_us, op->contender_was_shown);
    g_autoptr (GError) error = current->klass->timed_out (current);
    if (!g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_LOCK_LOST))
      return g_steal_pointer (&error);
  }
  return curator_lock_internals_timed_out (acquire->semaphore->leases, op, FALSE);
}

static void
acquire_finalize (CuratorOp *op)
{
  Acquire *acquire = (Acquire *) op;
  g_clear_pointer (&acquire->current, curator_op_unref);
  g_clear_pointer (&acquire->leases, g_ptr_array_unref);
  curator_semaphore_unref (acquire->semaphore);
}

CuratorOp *
curator_semaphore_begin (CuratorSemaphore *semaphore, guint n, gint64 deadline_us, gboolean once,
                         CuratorOpDone done, gpointer data)
{
  static const CuratorOpClass klass = { .cancel = acquire_fail,
                                        .timed_out = acquire_timed_out,
                                        .finalize = acquire_finalize };
  CuratorClient *client = semaphore->client;
  Acquire *acquire = curator_op_alloc (sizeof *acquire, &klass, client, deadline_us, done, data);

  acquire->semaphore = curator_semaphore_ref (semaphore);
  acquire->n = n;
  acquire->once = once;
  curator_client_lock (client);
  acquire->leases = g_ptr_array_new_with_free_func (unref_lease);
  if (curator_op_begin (&acquire->op)) {
    curator_retry_loop_init (&acquire->restarts, client, take_turn, on_retries_exhausted, acquire);
    take_turn (acquire);
  }
  curator_client_unlock (client);
  return &acquire->op;
}

static CURATOR_UNLOCKED gboolean
check_acquire (CuratorSemaphore *semaphore, guint n, GCancellable *cancellable, GError **error)
{
  if (n < 1 || n > G_MAXINT)
    return CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT, "%u leases cannot be acquired",
                           n);
  if (!curator_check_call (semaphore->client, cancellable, error))
    return FALSE;
  const guint max_leases = curator_semaphore_get_max_leases (semaphore);
  if (semaphore->count == NULL && n > max_leases)
    return CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT,
                           "%u leases cannot be acquired from a semaphore of %u", n, max_leases);
  curator_client_lock (semaphore->client);
  const gsize length = semaphore->node_data != NULL ? g_bytes_get_size (semaphore->node_data) : 0;
  curator_client_unlock (semaphore->client);
  return curator_check_payload (length, error);
}

/* NULL with an error, without a call of done. */
static CURATOR_UNLOCKED CuratorOp *
begin (CuratorSemaphore *semaphore, guint n, gint64 timeout_ms, GCancellable *cancellable,
       CuratorOpDone done, gpointer data, GError **error)
{
  if (!check_acquire (semaphore, n, cancellable, error))
    return NULL;
  gboolean once;
  const gint64 deadline_us = curator_acquire_deadline (semaphore->client, timeout_ms, &once);
  return curator_semaphore_begin (semaphore, n, deadline_us, once, done, data);
}

CURATOR_DESTROY_FUNC (unref_semaphore, curator_semaphore_unref)

CuratorLease *
curator_semaphore_only_lease (GPtrArray *leases)
{
  CuratorLease *lease = leases != NULL ? curator_lease_ref (g_ptr_array_index (leases, 0)) : NULL;
  g_clear_pointer (&leases, g_ptr_array_unref);
  return lease;
}

static void
deliver_leases (GCallback callback, gpointer semaphore, gpointer leases, const GError *error,
                gpointer user_data)
{
  ((CuratorSemaphoreAcquireNCallback) callback) (semaphore, leases, error, user_data);
}

static void
deliver_one (GCallback callback, gpointer semaphore, gpointer leases, const GError *error,
             gpointer user_data)
{
  ((CuratorSemaphoreAcquireCallback) callback) (semaphore, curator_semaphore_only_lease (leases),
                                                error, user_data);
}

static void
acquire_then (CuratorSemaphore *semaphore, guint n, gint64 timeout_ms, GCancellable *cancellable,
              CuratorDeliver deliver, GCallback callback, gpointer user_data)
{
  CuratorAsync *async = curator_async_new (semaphore->client, curator_semaphore_ref (semaphore),
                                           unref_semaphore, deliver, callback, user_data);
  GError *error = NULL;
  CuratorOp *op = begin (semaphore, n, timeout_ms, cancellable, curator_async_done, async, &error);
  curator_async_started (async, op, cancellable, error);
}

void
curator_semaphore_acquire_n_then (CuratorSemaphore *semaphore, guint n, gint64 timeout_ms,
                                  GCancellable *cancellable,
                                  CuratorSemaphoreAcquireNCallback callback, gpointer user_data)
{
  g_return_if_fail (CURATOR_IS_SEMAPHORE (semaphore) && callback != NULL);
  g_return_if_fail (curator_is_cancellable (cancellable));
  acquire_then (semaphore, n, timeout_ms, cancellable, deliver_leases, G_CALLBACK (callback),
                user_data);
}

void
curator_semaphore_acquire_then (CuratorSemaphore *semaphore, gint64 timeout_ms,
                                GCancellable *cancellable, CuratorSemaphoreAcquireCallback callback,
                                gpointer user_data)
{
  g_return_if_fail (CURATOR_IS_SEMAPHORE (semaphore) && callback != NULL);
  g_return_if_fail (curator_is_cancellable (cancellable));
  acquire_then (semaphore, 1, timeout_ms, cancellable, deliver_one, G_CALLBACK (callback),
                user_data);
}

GPtrArray *
curator_semaphore_acquire_n (CuratorSemaphore *semaphore, guint n, gint64 timeout_ms,
                             GCancellable *cancellable, GError **error)
{
  CURATOR_CHECK_WAITING (CURATOR_IS_SEMAPHORE (semaphore), cancellable, error, NULL);
  CuratorAwait await;
  gpointer leases = NULL;

  if (!curator_client_check_forked (semaphore->client, error))
    return NULL;
  curator_await_init (&await, semaphore->client);
  CuratorOp *op = begin (semaphore, n, timeout_ms, cancellable, curator_await_done, &await, error);
  return op != NULL && curator_await_op (&await, op, cancellable, &leases, error) ? leases : NULL;
}

CuratorLease *
curator_semaphore_acquire (CuratorSemaphore *semaphore, gint64 timeout_ms,
                           GCancellable *cancellable, GError **error)
{
  return curator_semaphore_only_lease (
      curator_semaphore_acquire_n (semaphore, 1, timeout_ms, cancellable, error));
}
