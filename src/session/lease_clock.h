/* How long a session's holds are still provable, by our own clock.
 *
 * A proof is the answer to a transaction that a quorum committed, and counts from the moment the
 * request was sent. deadline = newest prompt proof + T - guard on CLOCK_BOOTTIME, or the newest moment
 * at which the leader is known to have been told of us + T, if that is sooner: before that no server
 * can have expired the session. While anything is held, one multi of checks over those nodes is sent
 * every T/6, or as the user set it; a session that waits sends fewer, see beat_due.c. A session that
 * asks for nothing reads something every T/4, unless the pings of libzookeeper have dates. Guarded by
 * the client's mutex.
 */
#ifndef CURATOR_LEASE_CLOCK_H
#define CURATOR_LEASE_CLOCK_H

#include "base/guards.h"
#include "session/session.h"

/* A node that is held (state) or waits in a queue (no state): what the heartbeat looks after. */
typedef struct _CuratorStake CuratorStake;
/* How often the heartbeat checks a node. */
typedef enum
{
  CURATOR_STAKE_HELD,
  CURATOR_STAKE_NEAR, /* waits right behind what holds the lock */
  CURATOR_STAKE_FAR   /* waits further back */
} CuratorStakeKind;
/* A read of a stake's node, which may outlive the stake. */
typedef struct
{
  CuratorStake *stake CURATOR_GUARDED; /* NULL when it was unregistered */
} CuratorStakeRead;
struct _CuratorStake
{
  GList link;
  CuratorSession *session CURATOR_GUARDED; /* NULL while not registered */
  const char *path; /* the full one; owned by the record that embeds the stake */
  CuratorStakeKind kind CURATOR_GUARDED;
  CuratorLeaseState state CURATOR_GUARDED;
  CuratorCounter loss CURATOR_GUARDED;     /* why it is LOST: a CURATOR_COUNTER_LOST_ one */
  unsigned needs_read : 1 CURATOR_GUARDED; /* the check of its path proves nothing of the node */
  unsigned
      refuses_check : 1 CURATOR_GUARDED; /* and is refused: it would fail the whole transaction */
  /* Called with the client's mutex held. LOST: the node is gone, or no longer provable, and the stake is
   * unregistered before the call. A waiting stake hears of nothing else. */
  void (*changed) (CuratorStake *stake, CuratorLeaseState state);

  gint64 czxid;                           /* of the node; 0 where only its name is known */
  gint64 checked_us CURATOR_GUARDED;      /* CLOCK_BOOTTIME: the node existed then, or later */
  CuratorStakeRead *read CURATOR_GUARDED; /* the one that compares czxid, if in flight */
};

void curator_stake_unregister (CuratorStake *stake) CURATOR_LOCKED;
/* The same, except that a heartbeat under way still has it. */
void curator_stake_unlink (CuratorStake *stake) CURATOR_LOCKED;

/* Whether somebody here holds, or waits with, the node of that full path. */
gboolean curator_session_has_stake (CuratorSession *session, const char *path) CURATOR_LOCKED;

/* What a server grants from now on. Before, a hold may have been thought to last longer. */
void curator_lease_clock_set_timeout (CuratorSession *session, int timeout_ms) CURATOR_LOCKED;
/* A server has answered a request of that moment, whatever it said. */
void curator_lease_clock_note_answer (CuratorSession *session, gint64 sent_us,
                                      gint64 now_us) CURATOR_LOCKED;
/* And it was a transaction, which a quorum has committed. */
void curator_lease_clock_note_proof (CuratorSession *session, gint64 sent_us) CURATOR_LOCKED;

/* Takes no lock. Milliseconds until a moment of CLOCK_BOOTTIME; G_MAXINT64 for that. 0 when it has passed,
 * and then it is 0 itself, so that whoever wants to move it knows that somebody has seen it pass. */
gint64 curator_deadline_remaining_ms (_Atomic gint64 *deadline_us, CuratorClient *client);
/* Takes no lock. Milliseconds for which a hold of this session is provable. Returns 0 once the
 * deadline has passed. Every hold of that moment is then LOST, and a later proof does not revive it. */
gint64 curator_lease_clock_remaining_ms (CuratorSession *session);
/* The newest proof is new enough to grant something on it without asking the server again. */
gboolean curator_lease_clock_is_fresh (CuratorSession *session) CURATOR_LOCKED;
/* Microseconds until another proof can make the session fresh, if it only lacks a report to the leader. 0 if
 * it lacks anything else. */
gint64 curator_lease_clock_until_fresh_us (CuratorSession *session) CURATOR_LOCKED;
/* The stake's own node was seen as recently as a proof must be to grant something on it. */
gboolean curator_stake_is_checked (const CuratorStake *stake) CURATOR_LOCKED;

/* For heartbeat.c. */
GQueue *curator_stake_queue (const CuratorStake *stake) CURATOR_LOCKED;
/* There is a connection, with the timeout that was set before. */
void curator_lease_clock_connected (CuratorSession *session) CURATOR_LOCKED;
/* A hold was found to be over by the clock, and is LOST. The others, and the connection state, follow
 * at once, but not inside this call, whose caller may be in the middle of a grant. */
void curator_lease_clock_note_end (CuratorSession *session) CURATOR_LOCKED;
/* Looks at the clock now, not when the timer says. */
void curator_lease_clock_update (CuratorSession *session) CURATOR_LOCKED;
void curator_lease_clock_died (CuratorSession *session) CURATOR_LOCKED;

#endif
