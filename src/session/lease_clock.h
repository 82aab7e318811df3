/* How long a session's holds are still provable, by our own clock.
 *
 * A proof is the answer to a transaction that a quorum committed, and counts from the moment the
 * request was sent. deadline = newest prompt proof + T - guard on the clock of leases, or the
 * newest moment at which the leader is known to have been told of us + T, if that is sooner: before
 * that no server can have expired the session. While anything is held, one multi of checks over
 * those nodes is sent every T/6, or as the user set it; a session that waits sends fewer, see
 * heartbeat.c. A session that asks for nothing reads something every T/4, unless the pings of
 * libzookeeper have dates. Guarded by the client's mutex.
 */
#pragma once

#include "base/guards.h"
#include "session/stakes.h"

static inline CURATOR_LOCKED const CuratorLeaseTerms *
curator_session_terms (const CuratorSession *session)
{
  return &session->clock.terms;
}

static inline CURATOR_LOCKED const CuratorLeaseEvidence *
curator_session_evidence (const CuratorSession *session)
{
  return &session->clock.evidence;
}

/* The first attempt to connect begins. */
void curator_lease_clock_connecting (CuratorSession *session) CURATOR_LOCKED;
/* The clock ended holds, and LOST is the state told last. */
gboolean curator_lease_clock_has_lapsed (const CuratorSession *session) CURATOR_LOCKED;
/* What a server grants from now on. Before, a hold may have been thought to last longer. */
void curator_lease_clock_set_timeout (CuratorSession *session, int timeout_ms) CURATOR_LOCKED;
/* A server has answered a request of that moment, whatever it said. */
void curator_lease_clock_note_answer (CuratorSession *session, gint64 sent_us,
                                      gint64 now_us) CURATOR_LOCKED;
/* And it was a transaction, which a quorum has committed. */
void curator_lease_clock_note_proof (CuratorSession *session, gint64 sent_us,
                                     gint64 now_us) CURATOR_LOCKED;

/* Takes no lock. Milliseconds until a moment of CLOCK_BOOTTIME; G_MAXINT64 for that. 0 when it has
 * passed, and then it is 0 itself, so that whoever wants to move it knows that somebody has seen it
 * pass. */
gint64 curator_deadline_remaining_ms (_Atomic gint64 *deadline_us, CuratorClient *client);
/* Takes no lock. Milliseconds for which a hold of this session is provable. Returns 0 once the
 * deadline has passed. Every hold of that moment is then LOST, and a later proof does not revive
 * it. */
gint64 curator_lease_clock_remaining_ms (CuratorSession *session);
/* The newest proof is new enough to grant something on it without asking the server again. */
gboolean curator_lease_clock_is_fresh (CuratorSession *session, gint64 now_us) CURATOR_LOCKED;
/* The stake's own node was seen as recently as a proof must be to grant something on it. */
gboolean curator_stake_is_checked (const CuratorStake *stake, gint64 now_us) CURATOR_LOCKED;

/* There is a connection, with the timeout that was set before. */
void curator_lease_clock_connected (CuratorSession *session) CURATOR_LOCKED;
/* A hold was found to be over by the clock, and is LOST. The others, and the connection state,
 * follow at once, but not inside this call, whose caller may be in the middle of a grant. */
void curator_lease_clock_note_end (CuratorSession *session) CURATOR_LOCKED;
/* A hold has begun. */
void curator_lease_clock_note_hold (CuratorSession *session) CURATOR_LOCKED;
/* Looks at the clock now, not when the timer says. */
void curator_lease_clock_update (CuratorSession *session) CURATOR_LOCKED;
void curator_lease_clock_died (CuratorSession *session) CURATOR_LOCKED;
