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

/* A node that is held (state) or waits in a queue (no state): what the heartbeat looks after. */
typedef struct _CuratorStake CuratorStake;
struct _CuratorStake
{
  GList link;
  CuratorSession *session; /* NULL while not registered */
  gboolean held;
  const char *path; /* the full one; owned by whoever embeds the stake */
  CuratorLeaseState state;
  CuratorCounter loss; /* why it is LOST: a CURATOR_COUNTER_LOST_ one */
  /* @locks client mutex held. Held: the state changed; after LOST the stake is unregistered.
   * Waiting: LOST means that the node is gone; the stake stays registered. */
  void (*changed) (CuratorStake *stake, CuratorLeaseState state);
};

/* @locks client mutex required, all of them. */
void curator_stake_unregister (CuratorStake *stake);
/* The same, except that a heartbeat under way still has it. */
void curator_stake_unlink (CuratorStake *stake);

/* Whether somebody here holds, or waits with, the node of that full path. */
gboolean curator_session_has_stake (CuratorSession *session, const char *path);

/* A server has answered a request of that moment, whatever it said. */
void curator_lease_clock_heard (CuratorSession *session, gint64 sent_us);
/* And it was a transaction, which a quorum has committed. */
void curator_lease_clock_proof (CuratorSession *session, gint64 sent_us);
/* Microseconds for which a hold of this session is provable; 0 when it is no longer. */
gint64 curator_lease_clock_remaining_us (CuratorSession *session);
/* The newest proof is new enough to grant something on it without asking the server again. */
gboolean curator_lease_clock_is_fresh (CuratorSession *session);
/* If it is not, because the leader may have been told too little of us so far: after how many
 * microseconds another proof shows more. 0 if that is not the reason. */
gint64 curator_lease_clock_until_told_us (CuratorSession *session);

/* For session.c. */
void curator_lease_clock_began (CuratorSession *session); /* the time-out is known */

/* For heartbeat.c. */
gint64 curator_lease_clock_session_us (const CuratorSession *session);
gint64 curator_lease_clock_period_us (const CuratorSession *session);
gint64 curator_lease_clock_proof_age_us (CuratorSession *session);
gboolean curator_lease_clock_is_young (CuratorSession *session);
gint64 curator_lease_clock_next_told_us (CuratorSession *session);
/* Looks at the clock now, not when the timer says. */
void curator_lease_clock_look (CuratorSession *session);
void curator_lease_clock_died (CuratorSession *session);

#endif
