/* When the heartbeats of a session are due.
 *
 * Curator has no counterpart. Threads: any; guarded by the client's mutex.
 *
 * NOTES: a session that holds something sends one every period of the lease clock. One that only
 * waits needs a proof when its turn comes. Right behind a holder that may be any moment, so that
 * session sends four for each session timeout. Further back it sends one, at a random moment, to
 * find a node that was deleted; a turn that comes without warning is confirmed first, see
 * attempt_confirm.c. A reconnect does not bring that one forward, because an election disconnects
 * all sessions at once.
 */
#include "session/beat_due.h"

#include "core/client-record.h"
#include "core/monitor.h"

/* The next node to be granted is checked so often in the session timeout. */
#define NEAR_SHARE 4
/* The heartbeats of far nodes spread over an eighth of the session timeout more with each. */
#define FAR_SPREAD_SHARE 8

/* Less than most_us. */
static CURATOR_LOCKED gint64
random_us (const CuratorSession *session, gint64 most_us)
{
  CuratorZkOps *ops = session->client->ops;
  guint16 bits = 0;
  ops->random (ops, (guint8 *) &bits, sizeof bits);
  return most_us * bits >> 16;
}

static CURATOR_LOCKED gint64
held_due_us (const CuratorSession *session)
{
  const CuratorLeaseTerms *terms = curator_session_terms (session);
  const CuratorLeaseEvidence *evidence = curator_session_evidence (session);
  const gint64 now = curator_locked_boottime_us (session->client);
  const gint64 period = terms->period_us;
  const gint64 age = MIN (curator_lease_proof_age (evidence, now), period);
  const gint64 pause = curator_lease_is_bound_by_leader (evidence, terms)
                           ? MAX (curator_lease_until_told (evidence, terms, now), period / 5)
                           : MAX (period - age, period / 2);
  return now + MIN (pause, period);
}

gint64
curator_beat_due_us (const CuratorSession *session, const CuratorStake *stake)
{
  const CuratorLeaseTerms *terms = curator_session_terms (session);
  const gint64 proof_us = curator_session_evidence (session)->proof_us;

  if (stake->kind == CURATOR_STAKE_FAR)
    return session->beat.far_due_us;
  if (stake->kind == CURATOR_STAKE_HELD) {
    /* A new hold may begin with an older proof than a heartbeat leaves. */
    const gint64 now = curator_locked_boottime_us (session->client);
    return MIN (held_due_us (session), MAX (proof_us + terms->period_us, now));
  }
  /* A near node and the session are checked again before the evidence is too old for a grant. */
  return MAX (MIN (stake->checked_us, proof_us), session->beat.sent_us)
         + MIN (terms->session_us / NEAR_SHARE, terms->period_us * 3 / 2);
}

void
curator_beat_note_far (CuratorSession *session, const CuratorStake *stake)
{
  if (session->stakes[CURATOR_STAKE_FAR].length == 0) {
    const gint64 half = curator_session_terms (session)->session_us / 2;
    session->beat.far_due_us =
        MAX (stake->checked_us + half, curator_locked_boottime_us (session->client))
        + random_us (session, half);
  }
}

gint64
curator_beat_next_due_us (const CuratorSession *session)
{
  if (curator_session_holds (session))
    return held_due_us (session);
  gint64 due =
      session->stakes[CURATOR_STAKE_FAR].length > 0 ? session->beat.far_due_us : G_MAXINT64;
  for (GList *link = session->stakes[CURATOR_STAKE_NEAR].head; link != NULL; link = link->next)
    due = MIN (due, curator_beat_due_us (session, link->data));
  return due;
}

void
curator_beat_note_far_sent (CuratorSession *session, gboolean is_all)
{
  const gint64 period = curator_session_terms (session)->session_us;
  session->beat.far_due_us = curator_locked_boottime_us (session->client)
                             + (is_all ? period + random_us (session, period / FAR_SPREAD_SHARE)
                                       : curator_session_terms (session)->period_us);
}

void
curator_beat_spread_far (CuratorSession *session)
{
  const gint64 now = curator_locked_boottime_us (session->client);
  if (session->beat.far_due_us <= now)
    session->beat.far_due_us =
        now + random_us (session, curator_session_terms (session)->session_us);
}
