/* How an attempt is granted: the proof that its session and its node are alive, and the lease.
 *
 * Curator has no counterpart: it believes the list. Threads: any; guarded by the client's mutex.
 */
#include "lock/attempt-private.h"

#include "base/container.h"
#include "core/monitor.h"
#include "lock/lease-private.h"
#include "session/lease_clock.h"
#include "session/session.h"

/* A confirmation that was too slow is repeated after 1/5 of a heartbeat's interval. */
#define SLOW_CONFIRM_SHARE 5

gboolean
curator_attempt_lost_required_hold (Attempt *attempt)
{
  CuratorLease *hold = attempt->own.request->required_hold;
  if (hold == NULL
      || (curator_lease_get_session (hold) == attempt->own.session
          && curator_lease_state_now (hold) < CURATOR_LEASE_STATE_LOST))
    return FALSE;
  curator_attempt_fail (attempt,
                        g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_LOCK_LOST,
                                             "the hold that this acquire depends on is lost"));
  return TRUE;
}

/* The last step: no request is in flight. */
static CURATOR_LOCKED void
finish_granted (Attempt *attempt)
{
  if (curator_attempt_lost_required_hold (attempt))
    return;
  curator_attempt_note_outcome (attempt, CURATOR_TRACE_KIND_GRANTED, attempt->own.path);
  CuratorLease *lease = curator_own_node_give (&attempt->own, &attempt->slot);
  curator_attempt_reset (attempt);
  curator_attempt_set_state (attempt, ATTEMPT_DONE);
  if (attempt->granted != NULL)
    attempt->granted (g_steal_pointer (&lease), attempt->op.data);
  curator_attempt_finish (attempt, lease, NULL);
}

/* Session and node were alive when a request was sent that was just answered. */
void
curator_attempt_on_confirmed (CuratorOwnNode *node)
{
  Attempt *attempt = CURATOR_CONTAINER (node, Attempt, own);
  CuratorSession *session = attempt->own.session;
  const gint64 until_fresh_us = curator_lease_until_fresh (
      curator_session_evidence (session), curator_session_terms (session),
      curator_locked_boottime_us (session->client));

  if (curator_own_node_is_proven (node))
    finish_granted (attempt);
  /* The first request after a long silence: a grant now would not last. */
  else if (until_fresh_us > 0)
    curator_retry_loop_after (&attempt->tries, until_fresh_us);
  else if (curator_lease_terms_are_too_short (curator_session_terms (session)))
    curator_attempt_step_failed (attempt, ZOPERATIONTIMEOUT, "confirming");
  /* An answer that took too long proves nothing. The lock is ours as soon as one is prompt. */
  else
    curator_retry_loop_after (&attempt->tries,
                              curator_session_terms (session)->period_us / SLOW_CONFIRM_SHARE);
}

/* A server that lags behind may list the node of a dead session, or a node that was deleted: a
 * grant needs proof that both were alive. */
void
curator_attempt_grant (Attempt *attempt, gboolean must_confirm)
{
  attempt->contender_shown = FALSE;
  if (!must_confirm && curator_own_node_is_proven (&attempt->own)) {
    finish_granted (attempt);
    return;
  }
  curator_front_stop (&attempt->front);
  curator_attempt_enter (attempt, ATTEMPT_CONFIRMING);
}
