/* The nodes that a session holds or waits with, which its heartbeat checks. Guarded by the client's
 * mutex. */
#pragma once

#include "base/guards.h"
#include "session/session.h"

/* A node that is held (state) or waits in a queue (no state): what the heartbeat looks after. */
typedef struct _CuratorStake CuratorStake;
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
  CuratorLostReason loss CURATOR_GUARDED;  /* why it is LOST */
  unsigned needs_read : 1 CURATOR_GUARDED; /* the check of its path proves nothing of the node */
  unsigned
      refuses_check : 1 CURATOR_GUARDED; /* and is refused: it would fail the whole transaction */
  /* Called with the client's mutex held. LOST: the node is gone, or no longer provable, and the
   * stake is unregistered before the call. A waiting stake hears of nothing else. */
  void (*changed) (CuratorStake *stake, CuratorLeaseState state);

  gint64 czxid;                           /* of the node; 0 where only its name is known */
  gint64 checked_us CURATOR_GUARDED;      /* CLOCK_BOOTTIME: the node existed then, or later */
  CuratorStakeRead *read CURATOR_GUARDED; /* the one that compares czxid, if in flight */
};

/* heartbeat.h has what puts a stake into the queue of its kind. */
void curator_stake_unregister (CuratorStake *stake) CURATOR_LOCKED;
/* The same, except that a heartbeat under way still has it. */
void curator_stake_unlink (CuratorStake *stake) CURATOR_LOCKED;

/* Whether somebody here holds, or waits with, the node of that full path. */
gboolean curator_session_has_stake (CuratorSession *session, const char *path) CURATOR_LOCKED;
/* A heartbeat under way has "to", or nothing if that is NULL, in place of a stake. */
void curator_stake_replace_in_beat (CuratorSession *session, CuratorStake *stake,
                                    CuratorStake *to) CURATOR_LOCKED;
GQueue *curator_stake_queue (const CuratorStake *stake) CURATOR_LOCKED;

static inline CURATOR_LOCKED gboolean
curator_session_holds (const CuratorSession *session)
{
  return session->stakes[CURATOR_STAKE_HELD].length > 0;
}
