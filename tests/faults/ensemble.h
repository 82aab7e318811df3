/* Shared by the scenarios on three servers. */
#ifndef CURATOR_TEST_ENSEMBLE_H
#define CURATOR_TEST_ENSEMBLE_H

#include "lab.h"
#include "support/zk_server.h"

/* Followers and leader give each other up after this many ticks: later than a session expires, as
 * with ZooKeeper's sample configuration and a session of four seconds, or sooner. */
#define LAB_SYNC_LATE   (2 * LAB_SESSION_MS / LAB_TICK_MS + 4)
#define LAB_SYNC_LATEST (4 * LAB_SESSION_MS / LAB_TICK_MS) /* time for an election, too */
#define LAB_SYNC_EARLY  4

/* Starts an ensemble whose members reach each other through links; prints a message and returns
 * NULL on failure. */
ZkEnsemble *lab_start_ensemble (int sync_limit);
const char *lab_server (ZkEnsemble *ensemble, int member);
/* The leader; waits until there is one and all members serve. */
int lab_wait_leader (ZkEnsemble *ensemble);

/* The same duel for a mutex, a leader selector and a leader latch. */
#define N_DUELS 3
void duels_name (Duel *duels, const char *name, guint first_lock);
void duels_start (Lab *lab, Duel *duels);
void duels_note_fault (Duel *duels);
void duels_wait_grant (Lab *lab, Duel *duels);
/* Asserts that each holder has lost its hold. */
void duels_finish (Lab *lab, Duel *duels);

/* The control beside a duel, on a lock of its own: Curator holds at A's server, another waits at
 * B's. From B's grant to SUSPENDED, Curator believed wrongly. */
typedef struct
{
  guint lock;
  Control *holder;
  int waiter;
} ControlDuel;

void control_duel_start (Lab *lab, ControlDuel *duel, const char *holder_at, const char *waiter_at);
/* Waits for both; returns how long both were confident holders. */
double control_duel_overlap_ms (Lab *lab, ControlDuel *duel);

#endif
