/* The states of an attempt, what may follow each, and how it ends without a grant: failed, refused,
 * withdrawn or restarted.
 *
 * Mirrors the end of LockInternals.internalLockLoop, where a node is deleted whatever happens.
 * Threads: any; guarded by the client's mutex.
 */
#include "lock/attempt-private.h"

#include "base/path.h"
#include "core/monitor.h"
#include "core/stats-private.h"
#include "core/zk_error.h"
#include "session/connection_error.h"
#include "session/session.h"

/* How long a failed attempt waits for the deletion of its node. */
#define DELETE_PATIENCE_MS 50

/* --- states ----------------------------------------------------------------------------------- */

#define BIT(state) (1U << ATTEMPT_##state)
/* What may follow once the node exists. */
#define WITH_NODE (BIT (WAITING) | BIT (CONFIRMING) | BIT (STARTING) | BIT (DELETING) | BIT (DONE))

static const struct
{
  const char *name;
  guint next;          /* bits: the states that may follow; any may be entered again */
  gboolean is_passive; /* waits for an event: no step and no retry timer runs */
  gboolean is_later;   /* the first list has not granted the lock */
} rows[] = {
  [ATTEMPT_STARTING] = { "STARTING", BIT (CREATING) | BIT (DONE), FALSE, TRUE },
  [ATTEMPT_CREATING] = { "CREATING",
                         BIT (PARENTS) | BIT (NAME_TAKEN) | BIT (FINDING) | BIT (LISTING)
                             | WITH_NODE,
                         FALSE, FALSE },
  [ATTEMPT_PARENTS] = { "PARENTS", BIT (STARTING) | BIT (CREATING) | BIT (DONE), FALSE, TRUE },
  [ATTEMPT_FINDING] = { "FINDING", BIT (LISTING) | WITH_NODE, FALSE, TRUE },
  [ATTEMPT_NAME_TAKEN] = { "NAME_TAKEN", BIT (LISTING) | WITH_NODE, FALSE, TRUE },
  [ATTEMPT_LISTING] = { "LISTING", BIT (DECIDING) | WITH_NODE, FALSE, FALSE },
  [ATTEMPT_DECIDING] = { "DECIDING", BIT (LISTING) | WITH_NODE, TRUE, TRUE },
  [ATTEMPT_WAITING] = { "WAITING", BIT (LISTING) | BIT (DECIDING) | BIT (NAME_TAKEN) | WITH_NODE,
                        TRUE, TRUE },
  [ATTEMPT_CONFIRMING] = { "CONFIRMING", BIT (STARTING) | BIT (DELETING) | BIT (DONE), FALSE,
                           FALSE },
  [ATTEMPT_DELETING] = { "DELETING", BIT (DONE), TRUE, TRUE },
  [ATTEMPT_DONE] = { "DONE", 0, TRUE, FALSE },
};

/* The first list does not grant the lock, whatever comes now. */
static CURATOR_LOCKED void
not_first (Attempt *attempt)
{
  CuratorAttemptHook *hook = g_steal_pointer (&attempt->batch_hook);
  if (hook != NULL)
    hook->not_first (hook);
}

void
curator_attempt_set_state (Attempt *attempt, AttemptState state)
{
  if (attempt->state == state)
    return;
  g_assert ((rows[attempt->state].next & (1U << state)) != 0);
  curator_debug ("attempt on %s: %s -> %s", attempt->internals->base, rows[attempt->state].name,
                 rows[state].name);
  attempt->state = state;
  if (rows[state].is_passive)
    curator_retry_loop_stop (&attempt->tries);
  if (rows[state].is_later)
    not_first (attempt);
}

void
curator_attempt_enter (Attempt *attempt, AttemptState state)
{
  if (state != ATTEMPT_LISTING)
    curator_listing_leave (&attempt->listing);
  curator_attempt_set_state (attempt, state);
  curator_retry_loop_begin (&attempt->tries);
}

/* --- ends ------------------------------------------------------------------------------------- */

void
curator_attempt_reset (Attempt *attempt)
{
  attempt->question++;
  curator_retry_loop_stop (&attempt->tries);
  if (attempt->restarts != NULL)
    curator_retry_loop_stop (attempt->restarts);
  curator_listing_leave (&attempt->listing);
  g_clear_pointer (&attempt->parents, curator_parents_forget);
  curator_front_stop (&attempt->front);
  if (attempt->linked) {
    g_queue_unlink (&attempt->internals->attempts, &attempt->link);
    attempt->linked = FALSE;
  }
  g_autofree char *path = curator_own_node_discard (&attempt->own, attempt->withdrawn != 0);
  curator_queue_slot_leave (&attempt->slot, FALSE, path != NULL ? curator_path_leaf (path) : NULL);
  g_clear_pointer (&attempt->local_queue, curator_local_queue_leave);
  attempt->contender_shown = FALSE;
  attempt->ahead_is_being_deleted = FALSE;
  curator_session_remove_hook (&attempt->session_hook);
  curator_own_node_leave (&attempt->own);
}

void
curator_attempt_note_outcome (Attempt *attempt, CuratorTraceKind kind, const char *path)
{
  CuratorClient *client = attempt->op.client;
  const gint64 took_us = curator_locked_now_us (client) - attempt->called_us;
  const gboolean granted = kind == CURATOR_TRACE_KIND_GRANTED;

  curator_count (client, granted ? CURATOR_COUNTER_GRANTS : CURATOR_COUNTER_FAILURES, 1);
  if (attempt->counted_as_waiter) {
    curator_count (client, CURATOR_COUNTER_WAITS, 1);
    curator_count_waiting (client, -1);
  }
  if (granted)
    curator_count_duration (client, CURATOR_DURATION_WAIT, took_us);
  curator_trace (client, kind, path, took_us,
                 attempt->own.session != NULL ? attempt->own.session->id : 0);
}

void
curator_attempt_finish (Attempt *attempt, CuratorLease *lease, GError *error)
{
  curator_attempt_set_state (attempt, ATTEMPT_DONE);
  curator_own_node_forget_data (&attempt->own);
  curator_op_finish (&attempt->op, lease, error);
}

static CURATOR_LOCKED void
finish_failed (Attempt *attempt)
{
  curator_attempt_finish (attempt, NULL, g_steal_pointer (&attempt->failure));
}

static CURATOR_UNLOCKED void
on_node_deleted (CuratorOp *release, gpointer result, const GError *error, gpointer data)
{
  Attempt *attempt = data;
  curator_client_lock (attempt->op.client);
  if (attempt->state == ATTEMPT_DELETING)
    finish_failed (attempt);
  curator_client_unlock (attempt->op.client);
  curator_op_unref (&attempt->op);
}

/* Takes error. While connected, waits briefly for the deletion of the node, so that a caller
 * that asks the server next does not find it. */
void
curator_attempt_fail (Attempt *attempt, GError *error)
{
  CuratorClient *client = attempt->op.client;

  attempt->failure = error;
  curator_attempt_note_outcome (attempt, CURATOR_TRACE_KIND_FAILED, attempt->internals->base);
  if (attempt->own.path != NULL && attempt->own.request->protected_
      && curator_client_is_running (client) && curator_client_is_connected (client)) {
    curator_attempt_set_state (attempt, ATTEMPT_DELETING);
    curator_op_stop_deadline (&attempt->op);
    curator_op_ref (&attempt->op);
    const gint64 owner = curator_own_node_owner (&attempt->own);
    g_autofree char *node = curator_own_node_steal (&attempt->own);
    curator_queue_slot_leave (&attempt->slot, FALSE, curator_path_leaf (node));
    curator_attempt_reset (attempt);
    CuratorOp *release = curator_release_new (client, DELETE_PATIENCE_MS, on_node_deleted, attempt);
    curator_deletion_start (curator_deletion_new (client, node, owner, 0), release);
    curator_op_unref (release);
    return;
  }
  curator_attempt_reset (attempt);
  finish_failed (attempt);
}

/* The delete of the node is sent and not waited for: the session's next request comes behind it. */
void
curator_attempt_refuse (Attempt *attempt)
{
  curator_count_waiting (attempt->op.client, attempt->counted_as_waiter ? 0 : 1);
  attempt->counted_as_waiter = TRUE;
  attempt->failure = curator_lock_internals_timed_out (attempt->internals, &attempt->op, TRUE);
  curator_attempt_note_outcome (attempt, CURATOR_TRACE_KIND_FAILED, attempt->internals->base);
  curator_attempt_reset (attempt);
  finish_failed (attempt);
}

/* The caller has not failed: another attempt will follow, so no failure is counted. */
void
curator_lock_internals_withdraw (CuratorOp *op)
{
  Attempt *attempt = (Attempt *) op;
  if (op->finished || attempt->state == ATTEMPT_DELETING)
    return;
  curator_count_waiting (op->client, attempt->counted_as_waiter ? -1 : 0);
  attempt->withdrawn = TRUE;
  curator_attempt_reset (attempt);
  curator_attempt_finish (
      attempt, NULL, g_error_new_literal (G_IO_ERROR, G_IO_ERROR_CANCELLED, "it is not its turn"));
}

static CURATOR_LOCKED void
fail_zk (Attempt *attempt, int rc, const char *what)
{
  const gboolean creates = attempt->state == ATTEMPT_CREATING || attempt->state == ATTEMPT_PARENTS;
  GError *error = curator_request_error (attempt->op.client, rc, what, attempt->internals->shown,
                                         attempt->op.begun_us);
  if (rc == ZNOAUTH)
    g_prefix_error (&error, "the ACL does not grant %s: ", creates ? "CREATE" : "READ");
  curator_attempt_fail (attempt, error);
}

void
curator_attempt_on_retries_exhausted (gpointer data, int rc)
{
  fail_zk (data, rc, "acquiring");
}

static CURATOR_LOCKED void
run_restart (gpointer data)
{
  curator_attempt_enter (data, ATTEMPT_STARTING);
}

/* Starts over at the tail of the queue: at once in a new session, in which retries are counted anew; in
 * the same one as often as the retry policy allows. */
void
curator_attempt_restart (Attempt *attempt, int rc)
{
  curator_attempt_reset (attempt);
  curator_attempt_set_state (attempt, ATTEMPT_STARTING);
  if (rc == ZSESSIONEXPIRED) {
    g_clear_pointer (&attempt->restarts, g_free);
    curator_retry_loop_begin (&attempt->tries);
    return;
  }
  /* Created when needed, which is rare: waiters are many, and this is a tenth of their memory. */
  if (attempt->restarts == NULL) {
    attempt->restarts = g_new (CuratorRetryLoop, 1);
    curator_retry_loop_init (attempt->restarts, attempt->op.client, run_restart,
                             curator_attempt_on_retries_exhausted, attempt);
    attempt->restarts->start_us = curator_locked_now_us (attempt->op.client);
  }
  curator_retry_loop_again (attempt->restarts, rc);
}

void
curator_attempt_step_failed (Attempt *attempt, int rc, const char *what)
{
  not_first (attempt);
  if (curator_zk_is_retryable (rc))
    curator_retry_loop_again (&attempt->tries, rc);
  else
    fail_zk (attempt, rc, what);
}

/* A user's driver is asked about a list that a server has sent; and a list has shown nodes that
 * this client deletes. */
GError *
curator_attempt_timed_out (CuratorOp *op)
{
  const Attempt *attempt = (const Attempt *) op;
  const gboolean is_contended =
      attempt->contender_shown || attempt->state == ATTEMPT_DECIDING
      || (attempt->state == ATTEMPT_WAITING && curator_client_is_connected (op->client));

  return attempt->failure != NULL
             ? g_error_copy (attempt->failure)
             : curator_lock_internals_timed_out (attempt->internals, op, is_contended);
}

void
curator_attempt_cancel (CuratorOp *op, GError *reason)
{
  Attempt *attempt = (Attempt *) op;

  if (attempt->state == ATTEMPT_DELETING) {
    g_clear_error (&reason);
    finish_failed (attempt);
    return;
  }
  curator_attempt_fail (attempt, reason);
}
