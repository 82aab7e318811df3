/* How long a session's holds are still provable, by our own clock.
 *
 * A proof is the answer to a transaction that a quorum committed, and counts from the moment the
 * request was sent. deadline = newest prompt proof + T - guard on CLOCK_BOOTTIME, or the newest moment
 * at which the leader is known to have been told of us + T, if that is sooner: before that no server
 * can have expired the session. While anything is held or waited for, one multi of checks over those
 * nodes is sent every T/6, or as the user set it; a session that asks for nothing reads something every
 * T/4. Guarded by the client's mutex.
 */
#ifndef CURATOR_LEASE_CLOCK_H
#define CURATOR_LEASE_CLOCK_H

#include "client/session.h"
#include "guards.h"

/* A node that is held (state) or waits in a queue (no state): what the heartbeat looks after. */
typedef struct _CuratorStake CuratorStake;
struct _CuratorStake
{
  GList link;
  CuratorSession *session CURATOR_GUARDED; /* NULL while not registered */
  gboolean held CURATOR_GUARDED;
  const char *path; /* the full one; owned by whoever embeds the stake */
  CuratorLeaseState state CURATOR_GUARDED;
  CuratorCounter loss CURATOR_GUARDED; /* why it is LOST: a CURATOR_COUNTER_LOST_ one */
  /* @locks client mutex held. Held: the state changed; after LOST the stake is unregistered.
   * Waiting: LOST means that the node is gone; the stake stays registered. */
  void (*changed) (CuratorStake *stake, CuratorLeaseState state);
};

void curator_stake_unregister (CuratorStake *stake) CURATOR_LOCKED;
/* The same, except that a heartbeat under way still has it. */
void curator_stake_unlink (CuratorStake *stake) CURATOR_LOCKED;

/* Whether somebody here holds, or waits with, the node of that full path. */
gboolean curator_session_has_stake (CuratorSession *session, const char *path) CURATOR_LOCKED;

/* A server has answered a request of that moment, whatever it said. */
void curator_lease_clock_note_answer (CuratorSession *session, gint64 sent_us) CURATOR_LOCKED;
/* And it was a transaction, which a quorum has committed. */
void curator_lease_clock_note_proof (CuratorSession *session, gint64 sent_us) CURATOR_LOCKED;
/* Microseconds for which a hold of this session is provable; 0 when it is no longer. */
gint64 curator_lease_clock_remaining_us (CuratorSession *session) CURATOR_LOCKED;
/* The newest proof is new enough to grant something on it without asking the server again. */
gboolean curator_lease_clock_is_fresh (CuratorSession *session) CURATOR_LOCKED;
/* If it is not, because the leader may have been told too little of us so far: after how many
 * microseconds another proof shows more. 0 if that is not the reason. */
gint64 curator_lease_clock_until_fresh_us (CuratorSession *session) CURATOR_LOCKED;

/* For session.c. */
void curator_lease_clock_check_timeout (CuratorSession *session)
    CURATOR_LOCKED; /* the time-out is known */

/* For heartbeat.c. */
gint64 curator_lease_clock_session_us (const CuratorSession *session) CURATOR_LOCKED;
gint64 curator_lease_clock_period_us (const CuratorSession *session) CURATOR_LOCKED;
gint64 curator_lease_clock_proof_age_us (CuratorSession *session) CURATOR_LOCKED;
gboolean curator_lease_clock_is_bound_by_leader (CuratorSession *session) CURATOR_LOCKED;
gint64 curator_lease_clock_until_told_us (CuratorSession *session) CURATOR_LOCKED;
/* Looks at the clock now, not when the timer says. */
void curator_lease_clock_update (CuratorSession *session) CURATOR_LOCKED;
void curator_lease_clock_died (CuratorSession *session) CURATOR_LOCKED;

#endif
