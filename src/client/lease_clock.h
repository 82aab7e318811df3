/* The lease clock of a session: how long its holds are still provable, by CLOCK_BOOTTIME.
 *
 * A proof is the answer to a transaction that a quorum committed; it counts from the moment at
 * which its request was sent. With session timeout T a hold ends at the newest prompt proof + T -
 * guard, or at T after the newest moment at which the leader is known to count the session,
 * whichever is sooner. No server can have expired the session before. heartbeat.c sends the
 * requests. Guarded by the client's mutex.
 */
#ifndef CURATOR_LEASE_CLOCK_H
#define CURATOR_LEASE_CLOCK_H

#include "client/session.h"
#include "guards.h"

/* A node that the heartbeat checks: it is held, or waits in a queue. state is for held ones
 * only. */
typedef struct _CuratorStake CuratorStake;
struct _CuratorStake
{
  GList link;
  CuratorSession *session CURATOR_GUARDED; /* NULL while not registered */
  gboolean held CURATOR_GUARDED;
  const char *path; /* the full path; owned by the struct around the stake */
  CuratorLeaseState state CURATOR_GUARDED;
  CuratorCounter loss CURATOR_GUARDED; /* why it is LOST: a CURATOR_COUNTER_LOST_ one */
  /* Called with the client's mutex held. Held: the state changed; after LOST the stake is
   * unregistered. Waiting: LOST means that the node is gone. */
  void (*changed) (CuratorStake *stake, CuratorLeaseState state);
};

void curator_stake_unregister (CuratorStake *stake) CURATOR_LOCKED;
/* The same, except that a heartbeat in flight still refers to it. */
void curator_stake_unlink (CuratorStake *stake) CURATOR_LOCKED;

/* Whether the node of that full path is held or waits. */
gboolean curator_session_has_stake (CuratorSession *session, const char *path) CURATOR_LOCKED;

/* A server answered a request that was sent then; the answer may be an error. */
void curator_lease_clock_note_answer (CuratorSession *session, gint64 sent_us) CURATOR_LOCKED;
/* The request was a transaction that a quorum committed. */
void curator_lease_clock_note_proof (CuratorSession *session, gint64 sent_us) CURATOR_LOCKED;
/* How long a hold of this session is still provable; 0 if it is not. */
gint64 curator_lease_clock_remaining_us (CuratorSession *session) CURATOR_LOCKED;
/* The newest proof is new enough to grant a lock without asking the server again. */
gboolean curator_lease_clock_is_fresh (CuratorSession *session) CURATOR_LOCKED;
/* After how long a further proof makes it fresh, if it lacks only what the leader is known to have
 * been told. 0 otherwise. */
gint64 curator_lease_clock_until_fresh_us (CuratorSession *session) CURATOR_LOCKED;

/* For session_states.c: warns if the negotiated session timeout is too short. */
void curator_lease_clock_check_timeout (CuratorSession *session) CURATOR_LOCKED;

/* For heartbeat.c. */
gint64 curator_lease_clock_session_us (const CuratorSession *session) CURATOR_LOCKED;
gint64 curator_lease_clock_period_us (const CuratorSession *session) CURATOR_LOCKED;
gint64 curator_lease_clock_proof_age_us (CuratorSession *session) CURATOR_LOCKED;
gboolean curator_lease_clock_is_bound_by_leader (CuratorSession *session) CURATOR_LOCKED;
gint64 curator_lease_clock_until_told_us (CuratorSession *session) CURATOR_LOCKED;
/* Updates the state of the holds now instead of when the timer fires. */
void curator_lease_clock_update (CuratorSession *session) CURATOR_LOCKED;
void curator_lease_clock_died (CuratorSession *session) CURATOR_LOCKED;

#endif
