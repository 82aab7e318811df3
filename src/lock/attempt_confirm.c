/* How an attempt is granted: the proof that its session and its node are alive, and the lease.
 *
 * Curator has no counterpart: it believes the list. Threads: any; guarded by the client's mutex.
 */
#include "lock/attempt-private.h"

#include "core/monitor.h"
#include "core/stats-private.h"
#include "lock/lease-private.h"
#include "session/lease_clock.h"
#include "session/session.h"

/* A confirmation that was too slow is repeated after 1/5 of a heartbeat's interval. */
#define SLOW_CONFIRM_SHARE 5

gboolean
curator_attempt_lost_required_hold (Attempt *attempt)
{
  CuratorLease *hold = curator_own_node_request (&attempt->own)->required_hold;
  if (hold == NULL
      || (curator_lease_get_session (hold) == curator_attempt_session (attempt)
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
  CuratorSession *session = curator_attempt_session (attempt);

  if (curator_attempt_lost_required_hold (attempt))
    return;
  const gint64 now =
      curator_attempt_note_outcome (attempt, CURATOR_TRACE_GRANTED, curator_attempt_node (attempt));
  CuratorLeaseNode node = curator_own_node_give (&attempt->own);
  node.since_us = now;
  node.slot = &attempt->slot;
  CuratorLease *lease = curator_lease_new (session, attempt->internals, &node);
  curator_attempt_reset (attempt);
  curator_attempt_set_state (attempt, ATTEMPT_DONE);
  if (attempt->granted != NULL)
    attempt->granted (g_steal_pointer (&lease), attempt->op.data);
  curator_attempt_finish (attempt, lease, NULL);
}

static CURATOR_LOCKED gboolean
is_proven (Attempt *attempt)
{
  const gint64 now = curator_locked_reread_us (attempt->op.client);
  return curator_lease_clock_is_fresh (curator_attempt_session (attempt), now)
         && curator_stake_is_checked (curator_own_node_stake (&attempt->own), now);
}

/* Session and node were alive when a request was sent that was just answered. */
static CURATOR_LOCKED void
grant_if_proven (Attempt *attempt, gint64 checked_us)
{
  CuratorSession *session = curator_attempt_session (attempt);
  CuratorStake *stake = curator_own_node_stake (&attempt->own);
  const gint64 until_fresh_us = curator_lease_until_fresh (
      curator_session_evidence (session), curator_session_terms (session),
      curator_locked_boottime_us (session->client));

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
  else if (curator_lease_terms_are_too_short (curator_session_terms (session)))
    {
      curator_attempt_step_failed (attempt, ZOPERATIONTIMEOUT, "confirming");
    }
  else
    {
      /* An answer that took too long proves nothing. The lock is ours as soon as one is prompt. */
      curator_retry_loop_after (&attempt->tries,
                                curator_session_terms (session)->period_us / SLOW_CONFIRM_SHARE);
    }
}

/* Its answer comes after all that a quorum had committed before the check. */
static CURATOR_LOCKED void
on_own_node_read (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  Attempt *attempt = data;
  *curator_own_node_in_flight (&attempt->own) = NULL;
  if (rc == ZOK && reply->stat->czxid == curator_own_node_stake (&attempt->own)->czxid)
    {
      grant_if_proven (attempt,
                       curator_session_evidence (curator_attempt_session (attempt))->proof_us);
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

  *curator_own_node_in_flight (&attempt->own) = NULL;
  if (rc == ZOK && stake->needs_read)
    {
      *curator_own_node_in_flight (&attempt->own) = curator_request_exists (
          curator_attempt_session (attempt), stake->path, FALSE, on_own_node_read, attempt);
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
      /* A check needs READ, which the ACL of the node does not grant. Before ZOOKEEPER-2590 exists does not. */
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
  *curator_own_node_in_flight (&attempt->own) =
      curator_request_check (curator_attempt_session (attempt), paths, on_confirmed, attempt);
}

/* A server that lags behind may list the node of a dead session, or a node that was deleted: a grant needs
 * proof that both were alive. */
void
curator_attempt_grant (Attempt *attempt)
{
  attempt->contender_shown = FALSE;
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
  attempt->contender_shown = FALSE;
  curator_front_stop (&attempt->front);
  curator_attempt_enter (attempt, ATTEMPT_CONFIRMING);
}
