/* InterProcessSemaphoreV2: a turn under locks/, then one or more leases under leases/.
 *
 * Mirrors InterProcessSemaphoreV2. Threads: any; guarded by the client's mutex.
 *
 * NOTES: whoever has the turn creates its lease nodes and waits until no more nodes are there than
 * leases; so only one contender has surplus nodes and the rest queue in order. The turn is kept
 * until all n leases are had (Curator lets it go after each, and two clients that want 2 of 2 can
 * take one each and wait for ever). A lease is never taken back: a smaller number only makes the
 * next contenders wait. Losing the turn, with the session or by the clock alone, begins everything
 * anew: a lease node that waits without its turn would be one too many for whoever has the turn now.
 */
#include "semaphore/semaphore-private.h"

#include "client/async.h"
#include "client/await.h"
#include "client/client-private.h"
#include "client/heartbeat.h"
#include "client/lease_clock.h"
#include "client/monitor.h"
#include "client/path.h"
#include "client/retry_loop.h"
#include "client/settings.h"
#include "client/zk_error.h"
#include "container.h"
#include "lock/lease-private.h"
#include "lock/lock-private.h"
#include "lock/own_watch.h"
#include "lock/revocation.h"
#include "semaphore/shared_count-private.h"

#include <string.h>


struct _CuratorSemaphore
{
  CuratorRefs refs;
  CuratorClient *client;         /* a reference */
  CuratorLockInternals *turns;
  CuratorLockInternals *leases;
  CuratorSharedCount *count;     /* a reference, or NULL */
  CuratorCountHook count_hook;
  GBytes *node_data;             /* guarded by the client's mutex; NULL for the default */
};

typedef struct
{
  CuratorOp op;
  CuratorSemaphore *semaphore;
  int n;
  gboolean once;
  CuratorLease *turn;
  CuratorStake turn_stake;       /* tells when it is lost */
  GPtrArray *got;
  CuratorOp *current;            /* the attempt under way */
  CuratorRetryLoop restarts;     /* after the turn was lost */
  gboolean restarting;
} Acquire;

static void take_turn (Acquire *acquire);
static void take_lease (Acquire *acquire);

static void
unref_lease (gpointer lease)
{
  curator_lease_unref (lease);
}

static void
unref_leases (gpointer leases)
{
  g_ptr_array_unref (leases);
}

static void
unref_op (gpointer op)
{
  curator_op_unref (op);
}

/* @locks client mutex held. The end of the attempt that waits under it begins anew. */
static void
on_turn_changed (CuratorStake *stake, CuratorLeaseState state)
{
  Acquire *acquire = CURATOR_CONTAINER (stake, Acquire, turn_stake);
  CuratorOp *current = acquire->current;

  if (state == CURATOR_LEASE_LOST && current != NULL && !current->finished)
    {
      current->klass->cancel (current,
                              g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_LOCK_LOST,
                                                   "the turn was lost while waiting for a lease"));
    }
}

/* @locks client mutex required. */
static void
hold_turn (Acquire *acquire, CuratorLease *turn)
{
  acquire->turn = turn;
  if (curator_lease_state_now (turn) < CURATOR_LEASE_LOST)
    {
      acquire->turn_stake.path = curator_lease_full_path (turn);
      acquire->turn_stake.changed = on_turn_changed;
      curator_stake_register (&acquire->turn_stake, curator_lease_get_session (turn), TRUE);
    }
}

/* @locks client mutex required. */
static CuratorLease *
let_go_of_turn (Acquire *acquire)
{
  curator_stake_unregister (&acquire->turn_stake);
  return g_steal_pointer (&acquire->turn);
}

/* @locks client mutex required. Nothing is held or under way any more. */
static void
give_back (Acquire *acquire)
{
  CuratorClient *client = acquire->op.client;
  GPtrArray *leases = g_steal_pointer (&acquire->got);

  if (acquire->turn != NULL)
    {
      g_ptr_array_insert (leases, 0, let_go_of_turn (acquire));
    }
  /* The leases go first, so that whoever gets the turn finds them gone. */
  for (guint i = leases->len; i-- > 0;)
    {
      curator_lease_end (g_ptr_array_index (leases, i), G_MAXINT64, NULL, NULL);
    }
  /* Dropping them takes the client's mutex. */
  curator_client_after_unlock (client, unref_leases, leases);
  acquire->got = g_ptr_array_new_with_free_func (unref_lease);
}

/* @locks client mutex required. Takes error. */
static void
acquire_fail (Acquire *acquire, GError *error)
{
  CuratorOp *current = g_steal_pointer (&acquire->current);

  curator_retry_loop_stop (&acquire->restarts);
  if (current != NULL && !current->finished)
    {
      current->klass->cancel (current, g_error_copy (error));
    }
  give_back (acquire);
  curator_op_finish (&acquire->op, NULL, error);
  if (current != NULL)
    {
      curator_client_after_unlock (acquire->op.client, unref_op, current);
    }
}

/* @locks client mutex required. The turn is gone with its session: all begins anew, as often as the
 * retry policy allows. */
static void
acquire_restart (Acquire *acquire)
{
  give_back (acquire);
  if (!acquire->restarting)
    {
      acquire->restarting = TRUE;
      acquire->restarts.start_us = curator_client_now_us (acquire->op.client);
    }
  curator_retry_loop_again (&acquire->restarts, ZSESSIONEXPIRED);
}

static void
restarts_go (gpointer data)
{
  take_turn (data);
}

static void
restarts_give_up (gpointer data, int rc)
{
  Acquire *acquire = data;
  acquire_fail (acquire, curator_error_from_zk (
                             rc, "acquiring",
                             curator_client_user_path (acquire->op.client,
                                                       acquire->semaphore->leases->base)));
}

/* @locks none. What an attempt brought; the attempt's reference of acquire ends here. */
static void
attempt_done (Acquire *acquire, CuratorLease *lease, const GError *error, gboolean is_turn)
{
  CuratorClient *client = acquire->op.client;
  CuratorLease *unwanted = NULL;

  curator_client_lock (client);
  CuratorOp *ended = g_steal_pointer (&acquire->current);
  if (acquire->op.finished)
    {
      unwanted = lease;
    }
  else if (error != NULL)
    {
      if (!is_turn && g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_LOCK_LOST))
        {
          acquire_restart (acquire);
        }
      else
        {
          acquire_fail (acquire, g_error_copy (error));
        }
    }
  else if (is_turn)
    {
      hold_turn (acquire, lease);
      take_lease (acquire);
    }
  else
    {
      g_ptr_array_add (acquire->got, lease);
      take_lease (acquire);
    }
  curator_client_unlock (client);
  g_clear_pointer (&unwanted, curator_lease_unref);
  g_clear_pointer (&ended, curator_op_unref);
  curator_op_unref (&acquire->op);
}

static void
on_turn (CuratorOp *op, gpointer result, const GError *error, gpointer data)
{
  attempt_done (data, result, error, TRUE);
}

static void
on_lease (CuratorOp *op, gpointer result, const GError *error, gpointer data)
{
  attempt_done (data, result, error, FALSE);
}

/* @locks client mutex required. */
static void
take_turn (Acquire *acquire)
{
  CuratorLockInternals *turns = acquire->semaphore->turns;
  curator_op_ref (&acquire->op);
  acquire->current = curator_lock_internals_attempt_locked (
      turns, NULL, acquire->op.deadline_us, acquire->once, on_turn, acquire);
}

/* @locks client mutex required. All there: the turn goes on without waiting for its delete. */
static void
acquire_succeed (Acquire *acquire)
{
  CuratorClient *client = acquire->op.client;
  CuratorLease *turn = let_go_of_turn (acquire);

  curator_lease_end (turn, G_MAXINT64, NULL, NULL);
  curator_client_after_unlock (client, unref_lease, turn);
  curator_op_finish (&acquire->op, g_steal_pointer (&acquire->got), NULL);
}

/* @locks client mutex required. The next lease, made under the turn; or success. */
static void
take_lease (Acquire *acquire)
{
  CuratorSemaphore *semaphore = acquire->semaphore;
  CuratorLockInternals *leases = semaphore->leases;

  if ((int) acquire->got->len == acquire->n)
    {
      acquire_succeed (acquire);
      return;
    }
  CuratorNodeRequest *request = curator_node_request_new (leases->lock_name);
  request->under = curator_lease_ref (acquire->turn);
  request->data = semaphore->node_data != NULL ? g_bytes_ref (semaphore->node_data) : NULL;
  curator_op_ref (&acquire->op);
  acquire->current = curator_lock_internals_attempt_locked (
      leases, request, acquire->op.deadline_us, acquire->once, on_lease, acquire);
}

static void
acquire_cancel (CuratorOp *op, GError *reason)
{
  acquire_fail ((Acquire *) op, reason);
}

static void
acquire_finalize (CuratorOp *op)
{
  Acquire *acquire = (Acquire *) op;
  g_clear_pointer (&acquire->current, curator_op_unref);
  g_clear_pointer (&acquire->got, g_ptr_array_unref);
  curator_semaphore_unref (acquire->semaphore);
}

CuratorOp *
curator_semaphore_begin (CuratorSemaphore *semaphore, int n, gint64 deadline_us, gboolean once,
                         CuratorOpDone done, gpointer data)
{
  static const CuratorOpClass klass
      = { .cancel = acquire_cancel, .finalize = acquire_finalize, .free_result = unref_leases };
  CuratorClient *client = semaphore->client;
  Acquire *acquire = curator_op_alloc (sizeof *acquire, &klass, client, deadline_us, done, data);

  acquire->semaphore = curator_semaphore_ref (semaphore);
  acquire->n = n;
  acquire->once = once;
  acquire->got = g_ptr_array_new_with_free_func (unref_lease);
  curator_client_lock (client);
  if (curator_op_begin (&acquire->op))
    {
      curator_retry_loop_init (&acquire->restarts, client, restarts_go, restarts_give_up, acquire);
      take_turn (acquire);
    }
  curator_client_unlock (client);
  return &acquire->op;
}

/* Ours as long as no more nodes are there than leases, in whatever order: a lease once given is
 * never looked at again. */
static void
lease_gets_the_lock (CuratorLockDriver *driver, const char *const *children, gsize n_children,
                     const char *sequence_node_name, int max_leases,
                     CuratorPredicateResults *results, gpointer user_data)
{
  results->gets_the_lock = (gint64) n_children <= max_leases;
}

/* @locks client mutex held. */
static void
on_count_changed (CuratorCountHook *hook, gint32 value)
{
  CuratorSemaphore *semaphore
      = CURATOR_CONTAINER (hook, CuratorSemaphore, count_hook);
  semaphore->leases->max_leases = value;
  curator_lock_internals_recheck (semaphore->leases);
}

static CuratorSemaphore *
semaphore_new (CuratorClient *client, const char *path, int max_leases, GError **error)
{
  static const CuratorLockDriverFuncs funcs = { .gets_the_lock = lease_gets_the_lock };

  if (!curator_lock_check_path (client, path, error))
    {
      return NULL;
    }
  CuratorSemaphore *semaphore = g_new0 (CuratorSemaphore, 1);
  g_autofree char *turns = curator_path_join (path, "locks");
  g_autofree char *leases = curator_path_join (path, "leases");
  CuratorLockDriver *lease_driver = curator_lock_driver_new_ours (&funcs, NULL);

  curator_refs_init (&semaphore->refs);
  semaphore->client = curator_client_ref (client);
  semaphore->turns = curator_lock_internals_new (client, turns, "lock-", 1,
                                                 curator_lock_driver_standard (), NULL);
  semaphore->leases
      = curator_lock_internals_new (client, leases, "lease-", max_leases, lease_driver, NULL);
  curator_lock_driver_unref (lease_driver);
  return semaphore;
}

CuratorSemaphore *
curator_semaphore_new (CuratorClient *client, const char *path, int max_leases, GError **error)
{
  g_return_val_if_fail (client != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);
  if (max_leases < 1)
    {
      g_set_error (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT,
                   "a semaphore of %d leases could never be acquired", max_leases);
      return NULL;
    }
  return semaphore_new (client, path, max_leases, error);
}

CuratorSemaphore *
curator_semaphore_new_with_shared_count (CuratorClient *client, const char *path,
                                         CuratorSharedCount *count, GError **error)
{
  g_return_val_if_fail (client != NULL && count != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);
  if (curator_shared_count_get_client (count) != client)
    {
      g_set_error_literal (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT,
                           "the shared count belongs to another client");
      return NULL;
    }
  CuratorSemaphore *semaphore = semaphore_new (client, path, 0, error);
  if (semaphore == NULL)
    {
      return NULL;
    }
  semaphore->count = curator_shared_count_ref (count);
  semaphore->count_hook.changed = on_count_changed;
  const gint32 value = curator_shared_count_add_hook (count, &semaphore->count_hook);
  curator_client_lock (client);
  semaphore->leases->max_leases = value;
  curator_client_unlock (client);
  return semaphore;
}

CuratorSemaphore *
curator_semaphore_ref (CuratorSemaphore *semaphore)
{
  g_return_val_if_fail (semaphore != NULL, NULL);
  curator_refs_inc (&semaphore->refs);
  return semaphore;
}

void
curator_semaphore_unref (CuratorSemaphore *semaphore)
{
  g_return_if_fail (semaphore != NULL);
  if (!curator_client_check_forked (semaphore->client, NULL)
      || !curator_refs_dec (&semaphore->refs))
    {
      return;
    }
  if (semaphore->count != NULL)
    {
      curator_shared_count_remove_hook (semaphore->count, &semaphore->count_hook);
      curator_shared_count_unref (semaphore->count);
    }
  curator_revocation_clear (semaphore->leases);
  curator_lock_internals_unref (semaphore->turns);
  curator_lock_internals_unref (semaphore->leases);
  g_clear_pointer (&semaphore->node_data, g_bytes_unref);
  curator_client_unref (semaphore->client);
  g_free (semaphore);
}

int
curator_semaphore_get_max_leases (CuratorSemaphore *semaphore)
{
  g_return_val_if_fail (semaphore != NULL, 0);
  if (!curator_client_check_forked (semaphore->client, NULL))
    {
      return 0;
    }
  curator_client_lock (semaphore->client);
  const int max_leases = semaphore->leases->max_leases;
  curator_client_unlock (semaphore->client);
  return max_leases;
}

void
curator_semaphore_set_node_data (CuratorSemaphore *semaphore, const void *data, gsize length)
{
  g_return_if_fail (semaphore != NULL);
  if (!curator_client_check_forked (semaphore->client, NULL))
    {
      return;
    }
  GBytes *bytes = data != NULL ? g_bytes_new (data, length) : NULL;
  curator_client_lock (semaphore->client);
  GBytes *before = semaphore->node_data;
  semaphore->node_data = bytes;
  curator_client_unlock (semaphore->client);
  g_clear_pointer (&before, g_bytes_unref);
}

const char *
curator_semaphore_get_path (CuratorSemaphore *semaphore)
{
  return curator_client_user_path (semaphore->client, semaphore->leases->base);
}

static gboolean
check_acquire (CuratorSemaphore *semaphore, int n, gint64 timeout_ms, GCancellable *cancellable,
               GError **error)
{
  if (n < 1)
    {
      g_set_error (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT,
                   "%d leases cannot be acquired", n);
      return FALSE;
    }
  if (!curator_check_call (semaphore->client, timeout_ms, cancellable, error))
    {
      return FALSE;
    }
  curator_client_lock (semaphore->client);
  const gsize length = semaphore->node_data != NULL ? g_bytes_get_size (semaphore->node_data) : 0;
  curator_client_unlock (semaphore->client);
  return curator_check_payload (length, error);
}

static CuratorOp *
begin (CuratorSemaphore *semaphore, int n, gint64 timeout_ms, CuratorOpDone done, gpointer data)
{
  return curator_semaphore_begin (semaphore, n,
                                  curator_call_deadline (semaphore->client, timeout_ms),
                                  timeout_ms == 0, done, data);
}

static void
unref_semaphore (gpointer semaphore)
{
  curator_semaphore_unref (semaphore);
}

static void
deliver_leases (GCallback callback, gpointer semaphore, gpointer leases, const GError *error,
                gpointer user_data)
{
  ((CuratorSemaphoreCallback) callback) (semaphore, leases, error, user_data);
}

void
curator_semaphore_acquire_async (CuratorSemaphore *semaphore, int n, gint64 timeout_ms,
                                 GCancellable *cancellable, CuratorSemaphoreCallback callback,
                                 gpointer user_data)
{
  g_return_if_fail (semaphore != NULL && callback != NULL);
  const CuratorAsyncSpec spec = { .owner = curator_semaphore_ref (semaphore),
                                  .unref_owner = unref_semaphore,
                                  .callback = G_CALLBACK (callback),
                                  .user_data = user_data,
                                  .deliver = deliver_leases };
  CuratorAsync *async = curator_async_new (semaphore->client, &spec);
  GError *error = NULL;

  if (!check_acquire (semaphore, n, timeout_ms, cancellable, &error))
    {
      curator_async_refuse (async, error);
      return;
    }
  curator_async_started (async, begin (semaphore, n, timeout_ms, curator_async_done, async),
                         cancellable);
}

GPtrArray *
curator_semaphore_acquire_n (CuratorSemaphore *semaphore, int n, gint64 timeout_ms,
                             GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (semaphore != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);
  CuratorAwait await;
  gpointer leases = NULL;

  if (!curator_client_check_forked (semaphore->client, error)
      || !check_acquire (semaphore, n, timeout_ms, cancellable, error))
    {
      return NULL;
    }
  curator_await_init (&await, semaphore->client);
  CuratorOp *op = begin (semaphore, n, timeout_ms, curator_await_done, &await);
  return curator_await_op (&await, op, cancellable, &leases, error) ? leases : NULL;
}

CuratorLease *
curator_semaphore_acquire (CuratorSemaphore *semaphore, gint64 timeout_ms,
                           GCancellable *cancellable, GError **error)
{
  g_autoptr (GPtrArray) leases
      = curator_semaphore_acquire_n (semaphore, 1, timeout_ms, cancellable, error);
  return leases != NULL ? curator_lease_ref (g_ptr_array_index (leases, 0)) : NULL;
}

void
curator_semaphore_return_all (CuratorSemaphore *semaphore, GPtrArray *leases)
{
  g_return_if_fail (semaphore != NULL && leases != NULL);
  for (guint i = 0; i < leases->len; i++)
    {
      g_autoptr (GError) error = NULL;
      if (!curator_lease_release (g_ptr_array_index (leases, i), &error))
        {
          g_info ("a lease is given back in the background: %s", error->message);
        }
    }
}

char **
curator_semaphore_get_participant_nodes (CuratorSemaphore *semaphore, GError **error)
{
  g_return_val_if_fail (semaphore != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);
  return curator_lock_internals_participants (semaphore->leases, NULL, error);
}

static void
call_revocation_listener (GCallback listener, gpointer semaphore, CuratorLease *lease,
                          gpointer user_data)
{
  ((CuratorSemaphoreRevocationListener) listener) (semaphore, lease, user_data);
}

gboolean
curator_semaphore_make_revocable (CuratorSemaphore *semaphore,
                                  CuratorSemaphoreRevocationListener listener, gpointer user_data,
                                  GDestroyNotify destroy, GError **error)
{
  g_return_val_if_fail (semaphore != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);
  if (!curator_client_check_forked (semaphore->client, error))
    {
      return FALSE;
    }
  if (listener == NULL)
    {
      curator_revocation_clear (semaphore->leases);
      return TRUE;
    }
  const CuratorRevocationSpec spec = { .owner = semaphore,
                                       .owner_refs = &semaphore->refs,
                                       .unref_owner = unref_semaphore,
                                       .listener = G_CALLBACK (listener),
                                       .user_data = user_data,
                                       .destroy = destroy,
                                       .only_holds = TRUE,
                                       .call = call_revocation_listener };
  curator_revocation_set (semaphore->leases, &spec);
  return TRUE;
}
