/* Machines with one client and one lock each, for the thread that drives the world.
 *
 * That thread makes asynchronous calls only; their callbacks record the results on the lanes of the
 * machines' clients.
 */
#pragma once

#include "sim.h"
#include "support/suite.h"

#include "curator/curator.h"

#include <curator/lock_internals.h>

#define MACHINE_TIMEOUT_MS 6000 /* of the session */

/* Until then, or for that time. */
#define RUN_UNTIL(world, condition, within_ms)                                                     \
  for (gint64 run_ms = 0; run_ms < (within_ms) && !(condition); run_ms++)                          \
  sim_world_run_for ((world), 1)

/* Freed at the end of the block; nothing may have failed in it. */
#define GOOD_WORLD __attribute__ ((cleanup (good_world_free))) SimWorld *
void good_world_free (SimWorld **world);

typedef struct
{
  SimWorld *world;
  SimProcess *process;
  CuratorClient *client;
  CuratorLock *lock; /* set by the test */
  CuratorLease *lease;
  gboolean answered; /* the newest acquire */
  gboolean existed;  /* the node with its token, when the hold was known */
  gint64 good_for_ms;
  int error; /* its code in CURATOR_ERROR, 0 for none */
} Machine;

/* A client of that process, not started. Takes the policy; NULL: the usual one. */
CuratorClient *sim_client_new (SimProcess *process, CuratorRetryPolicy *policy, gint64 session_ms);
/* Not started. */
Machine *machine_new_latent (SimWorld *world, const char *name, CuratorRetryPolicy *policy);
/* Retries for ever. */
Machine *machine_new (SimWorld *world, const char *name);
/* A mutex with a driver. */
CuratorLock *machine_lock_with (Machine *machine, const char *path,
                                const CuratorLockDriverFuncs *funcs, gboolean nothing_overtakes);
/* With this mutex. */
Machine *machine_new_at (SimWorld *world, const char *name, const char *path);
/* Closes the client. */
void machine_free (Machine *machine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Machine, machine_free)

void machine_begin_acquire (Machine *machine);
/* A free lock, within a second. */
void machine_acquire (Machine *machine);

/* Requests that a quorum commits: checks, and nodes of a new session. */
guint sim_world_n_transactions (SimWorld *world, SimProcess *process);
