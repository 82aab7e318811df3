/* InterProcessMultiLock: several locks as one, in order, all or nothing.
 *
 * Mirrors InterProcessMultiLock, which continues after an error, gives each member the whole
 * timeout and loses most release errors. Here the first failure ends it, one deadline covers all,
 * and every error is reported. Threads: any; members may belong to different clients, so nothing is
 * started on one while another's mutex is held. The chain is guarded by the mutex of the first
 * member's client.
 */
#include "curator/multilock.h"

#include "base/container.h"
#include "base/fork_gate.h"
#include "base/guards.h"
#include "base/tag.h"
#include "core/client-record.h"
#include "core/monitor.h"
#include "curator/mutex.h"
#include "lock/lease-private.h"
#include "lock/lock-private.h"
#include "multilock/batch.h"

/* Of one acquire. */
#define MAX_BATCHES 2

typedef struct
{
  CuratorLock lock;
  GPtrArray *members; /* CuratorLock; no multi-locks: members of members stand in their place */
} MultiLock;

typedef struct
{
  CuratorOp op;
  MultiLock *multi;
  CuratorBatchSpec next; /* its deadline is each member's, which knows why it was not granted */
  guint n_held;
  GPtrArray *leases; /* of the members held; NULL for one that owner no longer holds */
  guint n_taken;     /* batches of several members */
  guint n_done;      /* batches that have ended */
  CuratorBatch *current CURATOR_GUARDED; /* in progress */
  GError *failure CURATOR_GUARDED;       /* the result, once all is rolled back */
} Chain;

static void chain_next (Chain *chain) CURATOR_UNLOCKED;

static MultiLock *
multi_of (CuratorLock *lock)
{
  return (MultiLock *) lock;
}

/* Called without a mutex. Releases what was acquired, in reverse. */
static void
roll_back (Chain *chain)
{
  CURATOR_INSIDE_GATE;
  if (chain->next.owner != 0)
    curator_batch_release (chain->multi->members, chain->n_held, chain->next.owner, NULL);
  else
    curator_leases_release (chain->leases, NULL);
  g_ptr_array_set_size (chain->leases, 0);
  chain->n_held = 0;
}

static CURATOR_UNLOCKED void
cancel_current (gpointer data)
{
  Chain *chain = data;
  CuratorClient *client = chain->op.client;

  curator_client_lock (client);
  CuratorBatch *current = g_steal_pointer (&chain->current);
  curator_client_unlock (client);
  if (current != NULL) {
    /* Its end rolls back. */
    curator_batch_cancel (current);
    curator_batch_unref (current);
  }
  curator_op_unref (&chain->op);
}

/* The member is cancelled with the mutex released, as it may be another client's. The op finishes
 * when nothing is held, also if the client is closed: from then on the thread changes its holds. */
static CURATOR_LOCKED void
chain_cancel (CuratorOp *op, GError *reason)
{
  Chain *chain = (Chain *) op;

  if (chain->failure != NULL) {
    g_error_free (reason);
    return;
  }
  chain->failure = reason;
  curator_client_after_unlock (op->client, cancel_current, curator_op_ref (op));
}

static void
chain_finalize (CuratorOp *op)
{
  Chain *chain = (Chain *) op;
  g_clear_pointer (&chain->current, curator_batch_unref);
  g_clear_pointer (&chain->leases, g_ptr_array_unref);
  g_clear_error (&chain->failure);
  curator_lock_unref (&chain->multi->lock);
}

static void
unref_lease (gpointer lease)
{
  g_clear_pointer (&lease, curator_lease_unref);
}

/* No member's operation is in progress. */
static CURATOR_UNLOCKED void
chain_fail (Chain *chain)
{
  CuratorClient *client = chain->op.client;

  roll_back (chain);
  curator_client_lock (client);
  curator_op_finish (&chain->op, NULL, g_error_copy (chain->failure));
  curator_client_unlock (client);
}

/* The members that the batch holds belong to the chain now. */
static void
take_over (Chain *chain, CuratorBatch *batch, guint n_held)
{
  for (guint i = 0; i < n_held; i++) {
    CuratorLock *member = g_ptr_array_index (chain->multi->members, chain->n_held++);
    g_ptr_array_add (chain->leases, chain->next.owner != 0
                                        ? member->klass->dup_lease (member, chain->next.owner)
                                        : curator_batch_steal_lease (batch, i));
  }
}

static CURATOR_UNLOCKED void
on_batch_done (CuratorBatch *batch, guint n_held, const GError *error, gboolean contender_was_shown,
               gpointer data)
{
  Chain *chain = data;
  CuratorClient *client = chain->op.client;

  chain->next.contender_was_shown = chain->next.contender_was_shown || contender_was_shown;
  take_over (chain, batch, n_held);
  curator_client_lock (client);
  CuratorBatch *ended = g_steal_pointer (&chain->current);
  chain->n_done++;
  if (error != NULL && chain->failure == NULL)
    chain->failure = g_error_copy (error);
  const gboolean failed = chain->failure != NULL;
  curator_client_unlock (client);
  g_clear_pointer (&ended, curator_batch_unref);
  if (failed)
    chain_fail (chain);
  else
    chain_next (chain);
  curator_op_unref (&chain->op);
}

/* By the clock: a member may have been lost while the next ones were waited for. */
static CURATOR_UNLOCKED gboolean
are_all_held (Chain *chain)
{
  for (guint i = 0; i < chain->leases->len; i++) {
    CuratorLease *lease = g_ptr_array_index (chain->leases, i);
    if (lease == NULL || curator_lease_get_state (lease) >= CURATOR_LEASE_STATE_LOST)
      return FALSE;
  }
  return TRUE;
}

static CURATOR_UNLOCKED void
chain_succeed (Chain *chain)
{
  CuratorClient *client = chain->op.client;
  g_autoptr (CuratorLease) whole = NULL;

  curator_client_lock (client);
  const gboolean failed = chain->failure != NULL;
  if (!failed && chain->next.owner == 0)
    whole = curator_lease_new_composite (g_steal_pointer (&chain->leases));
  if (!failed)
    curator_op_finish (&chain->op, whole != NULL ? curator_lease_ref (whole) : NULL, NULL);
  curator_client_unlock (client);
  if (whole != NULL)
    curator_composite_follow_members (whole);
  if (failed)
    chain_fail (chain);
}

/* All members again, within the same deadline; a single try fails. */
static CURATOR_UNLOCKED void
chain_start_over (Chain *chain)
{
  CuratorClient *client = chain->op.client;

  roll_back (chain);
  curator_client_lock (client);
  if (chain->next.once && chain->failure == NULL)
    chain->failure = g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_LOCK_LOST,
                                          "a member was lost while the others were acquired");
  const gboolean failed = chain->failure != NULL;
  curator_client_unlock (client);
  if (failed)
    chain_fail (chain);
  else
    chain_next (chain);
}

/* The next member, or several. Once two batches were cut off by contenders, they only get in the
 * way. */
static CURATOR_UNLOCKED CuratorBatch *
start_batch (Chain *chain)
{
  CuratorBatchSpec *next = &chain->next;
  const gboolean alone = next->once || chain->n_taken >= MAX_BATCHES;
  next->first = chain->n_held;
  next->n = alone ? 1 : curator_batch_length (next->members, next->first, next->owner);
  next->begun_us = chain->op.begun_us;
  chain->n_taken += next->n > 1 ? 1 : 0;
  return curator_batch_start (next);
}

static CURATOR_UNLOCKED void
chain_go_on (gpointer data)
{
  Chain *chain = data;
  chain_next (chain);
  curator_op_unref (&chain->op);
}

/* Starts the next members, or succeeds. */
static void
chain_next (Chain *chain)
{
  CuratorClient *client = chain->op.client;

  if (chain->n_held == chain->multi->members->len) {
    (are_all_held (chain) ? chain_succeed : chain_start_over) (chain);
    return;
  }
  CuratorLock *member = g_ptr_array_index (chain->multi->members, chain->n_held);
  const guint n_done = chain->n_done;
  curator_op_ref (&chain->op);
  if (curator_lock_moves (member, client, chain_go_on, chain))
    return;
  curator_op_ref (&chain->op);
  CuratorBatch *batch = start_batch (chain);
  curator_client_lock (client);
  const gboolean failed = chain->failure != NULL;
  if (!failed && chain->n_done == n_done)
    chain->current = g_steal_pointer (&batch);
  curator_client_unlock (client);
  if (batch != NULL && failed)
    curator_batch_cancel (batch);
  g_clear_pointer (&batch, curator_batch_unref);
  curator_op_unref (&chain->op);
}

static CURATOR_UNLOCKED CuratorOp *
multi_acquire (CuratorLock *lock, guint64 owner, const CuratorAttemptSpec *spec)
{
  static const CuratorOpClass klass = { .cancel = chain_cancel, .finalize = chain_finalize };
  CuratorClient *client = lock->client;

  Chain *chain =
      curator_op_alloc (sizeof *chain, &klass, client, G_MAXINT64, spec->done, spec->data);

  chain->multi = multi_of (curator_lock_ref (lock));
  chain->next = (CuratorBatchSpec){ .members = chain->multi->members,
                                    .owner = owner,
                                    .deadline_us = spec->deadline_us,
                                    .once = spec->once,
                                    .done = on_batch_done,
                                    .data = chain };
  curator_gate_enter ();
  chain->leases = g_ptr_array_new_with_free_func (unref_lease);
  curator_gate_leave ();
  curator_op_ref (&chain->op);
  curator_client_lock (client);
  const gboolean begun = curator_op_begin (&chain->op);
  curator_client_unlock (client);
  if (begun)
    chain_next (chain);
  curator_op_unref (&chain->op);
  return &chain->op;
}

/* Without members every acquire by a thread succeeds. */
static gboolean
multi_reenter (CuratorLock *lock, guint64 owner, GError **error)
{
  return multi_of (lock)->members->len == 0;
}

static void
multi_release (CuratorLock *lock, guint64 owner, CuratorOp *op)
{
  GPtrArray *members = multi_of (lock)->members;
  curator_batch_release (members, members->len, owner, op);
}

static gboolean
multi_is_acquired (CuratorLock *lock)
{
  GPtrArray *members = multi_of (lock)->members;
  gboolean all = TRUE;
  for (guint i = 0; all && i < members->len; i++)
    all = curator_lock_is_acquired_in_this_process (g_ptr_array_index (members, i));
  return all;
}

static gboolean
multi_is_owned (CuratorLock *lock, guint64 owner)
{
  GPtrArray *members = multi_of (lock)->members;
  gboolean all = TRUE;
  for (guint i = 0; all && i < members->len; i++) {
    CuratorLock *member = g_ptr_array_index (members, i);
    all = member->klass->is_owned (member, owner);
  }
  return all;
}

static CURATOR_UNLOCKED CuratorLease *
multi_dup_lease (CuratorLock *lock, guint64 owner)
{
  CURATOR_INSIDE_GATE;
  GPtrArray *members = multi_of (lock)->members;
  g_autoptr (GPtrArray) leases = g_ptr_array_new_with_free_func (unref_lease);

  for (guint i = 0; i < members->len; i++) {
    CuratorLock *member = g_ptr_array_index (members, i);
    CuratorLease *lease = member->klass->dup_lease (member, owner);
    if (lease == NULL)
      return NULL;
    g_ptr_array_add (leases, lease);
  }
  CuratorLease *whole =
      leases->len > 0 ? curator_lease_new_composite (g_steal_pointer (&leases)) : NULL;
  if (whole != NULL)
    curator_composite_follow_members (whole);
  return whole;
}

static void
multi_set_max_hold (CuratorLock *lock, gint64 max_hold_ms)
{
  GPtrArray *members = multi_of (lock)->members;
  for (guint i = 0; i < members->len; i++)
    curator_lock_set_max_hold (g_ptr_array_index (members, i), max_hold_ms);
}

static gint64
multi_get_max_hold_ms (const CuratorLock *lock)
{
  GPtrArray *members = ((const MultiLock *) lock)->members;
  gint64 least = CURATOR_WAIT_FOREVER;
  for (guint i = 0; i < members->len; i++) {
    const gint64 max_hold_ms = curator_lock_get_max_hold_ms (g_ptr_array_index (members, i));
    least = MIN (least, max_hold_ms);
  }
  return least;
}

static void
multi_finalize (CuratorLock *lock)
{
  g_ptr_array_unref (multi_of (lock)->members);
}

CURATOR_DESTROY_FUNC (unref_lock, curator_lock_unref)

static const CuratorLockClass multi_class = { .name = "multi-lock",
                                              .acquire = multi_acquire,
                                              .reenter = multi_reenter,
                                              .release = multi_release,
                                              .is_acquired = multi_is_acquired,
                                              .is_owned = multi_is_owned,
                                              .dup_lease = multi_dup_lease,
                                              .set_max_hold = multi_set_max_hold,
                                              .get_max_hold_ms = multi_get_max_hold_ms,
                                              .finalize = multi_finalize };

CuratorLock *
curator_multi_lock_new (CuratorLock *const *locks, gsize n_locks)
{
  g_return_val_if_fail (locks != NULL || n_locks == 0, NULL);
  CURATOR_INSIDE_GATE;
  g_autoptr (GPtrArray) members = g_ptr_array_new_with_free_func (unref_lock);

  for (gsize i = 0; i < n_locks; i++) {
    g_return_val_if_fail (CURATOR_IS_LOCK (locks[i]), NULL);
    if (locks[i]->klass != &multi_class) {
      g_ptr_array_add (members, curator_lock_ref (locks[i]));
      continue;
    }
    /* The order of acquires and releases is the same as if the members stayed inside. */
    GPtrArray *inner = multi_of (locks[i])->members;
    for (guint k = 0; k < inner->len; k++)
      g_ptr_array_add (members, curator_lock_ref (g_ptr_array_index (inner, k)));
  }
  CuratorLock *first = members->len > 0 ? g_ptr_array_index (members, 0) : NULL;
  MultiLock *multi =
      curator_lock_alloc (sizeof *multi, &multi_class, first != NULL ? first->client : NULL);
  multi->members = g_steal_pointer (&members);
  return &multi->lock;
}

CuratorLock *
curator_multi_lock_new_for_paths (CuratorClient *client, const char *const *paths, GError **error)
{
  CURATOR_CHECK_CALL (CURATOR_IS_CLIENT (client) && paths != NULL, error, NULL);
  CURATOR_INSIDE_GATE;
  g_autoptr (GPtrArray) locks = g_ptr_array_new_with_free_func (unref_lock);

  for (gsize i = 0; paths[i] != NULL; i++) {
    for (gsize j = 0; j < i; j++) {
      if (strcmp (paths[i], paths[j]) == 0) {
        g_set_error (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT,
                     "%s is named twice: the multi-lock would count it twice", paths[i]);
        return NULL;
      }
    }
    CuratorLock *lock = curator_mutex_new (client, paths[i], error);
    if (lock == NULL)
      return NULL;
    g_ptr_array_add (locks, lock);
  }
  return curator_multi_lock_new ((CuratorLock *const *) locks->pdata, locks->len);
}

CuratorLock *
curator_multi_lock_new_for_paths_sorted (CuratorClient *client, const char *const *paths,
                                         GError **error)
{
  g_return_val_if_fail (CURATOR_IS_CLIENT (client) && paths != NULL, NULL);
  CURATOR_INSIDE_GATE;
  g_autoptr (GPtrArray) sorted = g_ptr_array_new ();

  for (gsize i = 0; paths[i] != NULL; i++)
    g_ptr_array_add (sorted, (gpointer) paths[i]);
  g_ptr_array_sort (sorted, curator_compare_strings);
  g_ptr_array_add (sorted, NULL);
  return curator_multi_lock_new_for_paths (client, (const char *const *) sorted->pdata, error);
}
