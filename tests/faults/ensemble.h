/* Shared by the scenarios on three servers. */
#pragma once

#include "lab.h"
#include "support/zk_server.h"

/* Followers and leader give each other up after this many ticks: later than a session expires, as
 * with ZooKeeper's sample configuration and a session of four seconds, or sooner. */
#define LAB_SYNC_LATE   (2 * LAB_SESSION_MS / LAB_TICK_MS + 4)
#define LAB_SYNC_LATEST (4 * LAB_SESSION_MS / LAB_TICK_MS) /* time for an election, too */
#define LAB_SYNC_EARLY  6

/* Starts an ensemble whose members reach each other through links; prints a message and returns
 * NULL on failure. */
ZkEnsemble *lab_start_ensemble (int sync_limit);
int lab_stop_ensemble (void **state);
const char *lab_server (ZkEnsemble *ensemble, int member);
/* The leader; waits until there is one and all members serve. */
int lab_wait_leader (ZkEnsemble *ensemble);

/* Leader and followers lose each other, while a client at the one side holds a lock, and another
 * waits at the other side: with a mutex, a leader selector and a leader latch. */
typedef struct
{
  const char *name;
  gboolean is_deposed; /* the holder is at the leader, whom its followers lose; otherwise at a
                        * follower that is cut off */
  /* Java Curator holds and waits beside them, on a lock of its own. */
  gboolean has_control;
  int longest_ms; /* if the next grant takes longer, the control shows nothing; 0: it always does */
} Separation;

/* Asserts that each holder has lost its hold, and that the control, from the next grant until it
 * was SUSPENDED, believed wrongly. FALSE if that was not seen, since the grant took too long.
 * first_lock: it uses four. */
gboolean lab_separate (Lab *lab, ZkEnsemble *ensemble, const Separation *how, guint first_lock);
