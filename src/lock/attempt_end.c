/* How an attempt ends: granted, failed or restarted, and what becomes of its node.
 *
 * Mirrors the end of LockInternals.internalLockLoop, where a node is deleted whatever happens.
 * Threads: any; guarded by the client's mutex.
 */
#include "lock/attempt-private.h"

#include "base/path.h"
#include "core/monitor.h"
#include "core/stats-private.h"
#include "core/zk_error.h"
#include "lock/lease-private.h"
#include "session/connection_error.h"
#include "session/lease_clock.h"
#include "session/session.h"

/* How long a failed attempt waits for the deletion of its node. */
#define DELETE_PATIENCE_US (50 * 1000)
/* A confirmation that was too slow is repeated after 1/5 of a heartbeat's interval. */
#define SLOW_CONFIRM_SHARE 5

/* path: the full one that our node had; or NULL. */
static CURATOR_LOCKED void
leave_line (Attempt *attempt, const char *path)
{
  curator_place_leave (&attempt->place, FALSE, path != NULL ? curator_path_leaf (path) : NULL);
  g_clear_pointer (&attempt->line, curator_line_leave);
}

static CURATOR_LOCKED void
discard_node (Attempt *attempt)
{
  if (attempt->linked)
    {
      g_queue_unlink (&attempt->internals->attempts, &attempt->link);
      attempt->linked = FALSE;
    }
  g_autofree char *path = curator_own_node_discard (&attempt->own, attempt->withdrawn);
  leave_line (attempt, path);
}

void
curator_attempt_reset (Attempt *attempt)
{
  attempt->question++;
  curator_retry_loop_stop (&attempt->tries);
  if (attempt->restarts != NULL)
    {
      curator_retry_loop_stop (attempt->restarts);
    }
  g_clear_pointer (&attempt->confirmation, curator_request_forget);
  curator_listing_leave (&attempt->listing);
  g_clear_pointer (&attempt->parents, curator_parents_forget);
  curator_front_stop (&attempt->front);
  discard_node (attempt);
  attempt->behind = FALSE;
  attempt->only_litter = FALSE;
  curator_session_remove_hook (&attempt->hook);
  g_clear_pointer (&attempt->session, curator_session_unref);
}

/* path: the full one. */
static CURATOR_LOCKED void
note_outcome (Attempt *attempt, CuratorTraceKind kind, const char *path)
{
  CuratorClient *client = attempt->op.client;
  const gint64 took_us = curator_client_now_us (client) - attempt->called_us;
  const gboolean granted = kind == CURATOR_TRACE_GRANTED;

  curator_count (client, granted ? CURATOR_COUNTER_GRANTS : CURATOR_COUNTER_FAILURES, 1);
  if (attempt->has_waited)
    {
      curator_count (client, CURATOR_COUNTER_WAITS, 1);
      client->n_waiting--;
    }
  if (granted)
    {
      curator_count_duration (client, CURATOR_DURATION_WAIT, took_us);
    }
  curator_trace (client, kind, path, took_us, attempt->session != NULL ? attempt->session->id : 0);
}

static CURATOR_LOCKED void
finish (Attempt *attempt, CuratorLease *lease, GError *error)
{
  curator_attempt_set_state (attempt, ATTEMPT_DONE);
  curator_own_node_forget_data (&attempt->own);
  curator_op_finish (&attempt->op, lease, error);
}

static CURATOR_LOCKED void
finish_failed (Attempt *attempt)
{
  finish (attempt, NULL, g_steal_pointer (&attempt->failure));
}

/* Called by the reaper. */
static CURATOR_UNLOCKED void
on_node_deleted (const GError *error, gpointer data)
{
  Attempt *attempt = data;
  curator_client_lock (attempt->op.client);
  if (attempt->state == ATTEMPT_DELETING)
    {
      finish_failed (attempt);
    }
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
  note_outcome (attempt, CURATOR_TRACE_FAILED, attempt->internals->base);
  if (curator_attempt_node (attempt) != NULL && curator_own_node_request (&attempt->own)->protected_
      && curator_client_is_running (client) && curator_client_is_connected (client))
    {
      curator_attempt_set_state (attempt, ATTEMPT_DELETING);
      curator_op_stop_deadline (&attempt->op);
      curator_op_ref (&attempt->op);
      const gint64 owner = curator_own_node_owner (&attempt->own);
      g_autofree char *node = curator_own_node_steal (&attempt->own);
      curator_place_leave (&attempt->place, FALSE, curator_path_leaf (node));
      curator_attempt_reset (attempt);
      curator_reaper_delete (client, node, owner, DELETE_PATIENCE_US, on_node_deleted, attempt);
      return;
    }
  curator_attempt_reset (attempt);
  finish_failed (attempt);
}

/* The delete of the node is sent and not waited for: the session's next request comes behind it. */
void
curator_attempt_refuse (Attempt *attempt)
{
  attempt->op.client->n_waiting += attempt->has_waited ? 0 : 1;
  attempt->has_waited = TRUE;
  attempt->failure = curator_lock_internals_timed_out (attempt->internals, &attempt->op, TRUE);
  note_outcome (attempt, CURATOR_TRACE_FAILED, attempt->internals->base);
  curator_attempt_reset (attempt);
  finish_failed (attempt);
}

/* The caller has not failed: another attempt will follow, so no failure is counted. */
void
curator_lock_internals_withdraw (CuratorOp *op)
{
  Attempt *attempt = (Attempt *) op;
  if (op->finished || attempt->state == ATTEMPT_DELETING)
    {
      return;
    }
  op->client->n_waiting -= attempt->has_waited ? 1 : 0;
  attempt->withdrawn = TRUE;
  curator_attempt_reset (attempt);
  finish (attempt, NULL,
          g_error_new_literal (G_IO_ERROR, G_IO_ERROR_CANCELLED, "it is not its turn"));
}

void
curator_attempt_fail_zk (Attempt *attempt, int rc, const char *what)
{
  curator_attempt_fail (attempt,
                        curator_request_error (attempt->op.client, rc, what,
                                               curator_lock_internals_shown (attempt->internals),
                                               attempt->op.begun_us));
}

void
curator_attempt_on_retries_exhausted (gpointer data, int rc)
{
  curator_attempt_fail_zk (data, rc, "acquiring");
}

static CURATOR_LOCKED void
run_restart (gpointer data)
{
  curator_attempt_enter (data, ATTEMPT_STARTING);
}

/* Created when needed, which is rare: waiters are many, and this is a tenth of their memory. */
static CURATOR_LOCKED CuratorRetryLoop *
get_restarts (Attempt *attempt)
{
  if (attempt->restarts == NULL)
    {
      attempt->restarts = g_new (CuratorRetryLoop, 1);
      curator_retry_loop_init (attempt->restarts, attempt->op.client, run_restart,
                               curator_attempt_on_retries_exhausted, attempt);
    }
  return attempt->restarts;
}

/* Starts over at the tail of the queue, as often as the retry policy allows. */
void
curator_attempt_restart (Attempt *attempt, int rc)
{
  curator_attempt_reset (attempt);
  curator_attempt_set_state (attempt, ATTEMPT_STARTING);
  CuratorRetryLoop *restarts = get_restarts (attempt);
  if (!attempt->restarting)
    {
      attempt->restarting = TRUE;
      restarts->start_us = curator_client_now_us (attempt->op.client);
    }
  curator_retry_loop_again (restarts, rc);
}

void
curator_attempt_step_failed (Attempt *attempt, int rc, const char *what)
{
  curator_attempt_not_first (attempt);
  if (curator_zk_is_retryable (rc))
    {
      curator_retry_loop_again (&attempt->tries, rc);
      return;
    }
  curator_attempt_fail_zk (attempt, rc, what);
}

gboolean
curator_attempt_lost_required_hold (Attempt *attempt)
{
  CuratorLease *hold = curator_own_node_request (&attempt->own)->required_hold;
  if (hold == NULL
      || (curator_lease_get_session (hold) == attempt->session
          && curator_lease_state_now (hold) < CURATOR_LEASE_LOST))
    {
      return FALSE;
    }
  curator_attempt_fail (attempt,
                        g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_LOCK_LOST,
                                             "the hold that this acquire depends on is lost"));
  return TRUE;
}

/* The last step: no request is in flight. */
static CURATOR_LOCKED void
finish_granted (Attempt *attempt)
{
  CuratorSession *session = attempt->session;

  if (curator_attempt_lost_required_hold (attempt))
    {
      return;
    }
  note_outcome (attempt, CURATOR_TRACE_GRANTED, curator_attempt_node (attempt));
  CuratorLeaseNode node = curator_own_node_give (&attempt->own);
  node.place = &attempt->place;
  CuratorLease *lease = curator_lease_new (session, attempt->internals, &node);
  curator_attempt_reset (attempt);
  curator_attempt_set_state (attempt, ATTEMPT_DONE);
  if (attempt->granted != NULL)
    {
      attempt->granted (g_steal_pointer (&lease), attempt->op.data);
    }
  finish (attempt, lease, NULL);
}

static CURATOR_LOCKED gboolean
is_proven (Attempt *attempt)
{
  return curator_lease_clock_is_fresh (attempt->session)
         && curator_stake_is_checked (curator_own_node_stake (&attempt->own));
}

/* Session and node were alive when a request was sent that was just answered. */
static CURATOR_LOCKED void
grant_if_proven (Attempt *attempt, gint64 checked_us)
{
  CuratorSession *session = attempt->session;
  CuratorStake *stake = curator_own_node_stake (&attempt->own);
  const gint64 until_fresh_us = curator_lease_clock_until_fresh_us (session);

  stake->checked_us = MAX (stake->checked_us, checked_us);
  if (is_proven (attempt))
    {
      finish_granted (attempt);
    }
  else if (until_fresh_us > 0)
    {
      /* The first request after a long silence: a grant now would not last. */
      curator_retry_loop_after (&attempt->tries, until_fresh_us);
    }
  else if (curator_lease_terms_are_too_short (&session->terms))
    {
      curator_attempt_step_failed (attempt, ZOPERATIONTIMEOUT, "confirming");
    }
  else
    {
      /* An answer that took too long proves nothing. The lock is ours as soon as one is prompt. */
      curator_retry_loop_after (&attempt->tries, session->terms.period_us / SLOW_CONFIRM_SHARE);
    }
}

/* Its answer comes after all that a quorum had committed before the check. */
static CURATOR_LOCKED void
on_own_node_read (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  Attempt *attempt = data;
  attempt->confirmation = NULL;
  if (rc == ZOK && reply->stat->czxid == curator_own_node_stake (&attempt->own)->czxid)
    {
      grant_if_proven (attempt, attempt->session->evidence.proof_us);
    }
  else if (rc == ZOK || rc == ZNONODE)
    {
      curator_attempt_restart (attempt, ZNONODE);
    }
  else
    {
      curator_attempt_step_failed (attempt, rc, "confirming");
    }
}

static CURATOR_LOCKED void
on_confirmed (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  Attempt *attempt = data;
  CuratorStake *stake = curator_own_node_stake (&attempt->own);

  attempt->confirmation = NULL;
  if (rc == ZOK && stake->needs_read)
    {
      attempt->confirmation =
          curator_request_exists (attempt->session, stake->path, FALSE, on_own_node_read, attempt);
    }
  else if (rc == ZOK)
    {
      grant_if_proven (attempt, sent_us);
    }
  else if (rc == ZNONODE)
    {
      curator_attempt_restart (attempt, rc);
    }
  else if (rc == ZNOAUTH && !stake->refuses_check)
    {
      /* A check needs READ, which the ACL of the node does not grant. exists needs no permission. */
      stake->needs_read = TRUE;
      stake->refuses_check = TRUE;
      curator_attempt_confirm (attempt);
    }
  else
    {
      curator_attempt_step_failed (attempt, rc, "confirming");
    }
}

void
curator_attempt_confirm (gpointer data)
{
  Attempt *attempt = data;
  const CuratorStake *stake = curator_own_node_stake (&attempt->own);
  GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (paths, g_strdup (stake->refuses_check ? attempt->internals->base : stake->path));
  curator_count (attempt->op.client, CURATOR_COUNTER_CONFIRMATIONS, 1);
  attempt->confirmation = curator_request_check (attempt->session, paths, on_confirmed, attempt);
}

/* A server that lags behind may list the node of a dead session, or a node that was deleted: a grant needs
 * proof that both were alive. */
void
curator_attempt_grant (Attempt *attempt)
{
  attempt->behind = FALSE;
  if (is_proven (attempt))
    {
      finish_granted (attempt);
      return;
    }
  curator_attempt_grant_if_confirmed (attempt);
}

void
curator_attempt_grant_if_confirmed (Attempt *attempt)
{
  attempt->behind = FALSE;
  curator_front_stop (&attempt->front);
  curator_attempt_enter (attempt, ATTEMPT_CONFIRMING);
}

/* A user's driver is asked about a list that a server has sent. */
GError *
curator_attempt_timed_out (CuratorOp *op)
{
  const Attempt *attempt = (const Attempt *) op;
  const gboolean is_contended = attempt->behind || attempt->state == ATTEMPT_DECIDING;

  return attempt->failure != NULL
             ? g_error_copy (attempt->failure)
             : curator_lock_internals_timed_out (attempt->internals, op, is_contended);
}

void
curator_attempt_cancel (CuratorOp *op, GError *reason)
{
  Attempt *attempt = (Attempt *) op;

  if (attempt->state == ATTEMPT_DELETING)
    {
      g_clear_error (&reason);
      finish_failed (attempt);
      return;
    }
  curator_attempt_fail (attempt, reason);
}
