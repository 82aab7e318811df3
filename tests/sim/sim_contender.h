/* One contender of a contest; see sim_contest.h. Its fields belong to its actor.
 *
 * Recipes are composed of these functions; all run on the contender's actor.
 */
#pragma once

#include "sim_contest.h"

struct _SimContender
{
  SimMember *member;
  SimContest *contest;
  SimProcess *process; /* the member's */
  SimWorld *world;
  char *name;
  CuratorLock *lock; /* of this round */
  GCancellable *cancellable;
  gint64 timeout_ms;
  gint64 called_at;
  guint n_pauses;
  guint n_answers;
  gboolean may_be_lost; /* LOCK_LOST is an expected result of this call */
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  gboolean told;
  gpointer result; /* of the callback */
  /* One for each check, NULL for none; unless a recipe uses them otherwise. */
  SimBelief *beliefs[SIM_MAX_CHECKS];
  gboolean done;
};

/* The actor's function; data is the SimContender. */
void sim_contend (gpointer data);

guint sim_contender_below (SimContender *contender, guint n);
/* The world fails. */
void sim_contender_fail (SimContender *contender, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* Chooses a timeout, and perhaps a canceller. */
void sim_contender_begin_call (SimContender *contender);
/* Checks that the outcome of a call is allowed, and in time. */
void sim_contender_judge (SimContender *contender, const GError *error);
/* These call, and check the outcome. */
void sim_contender_release (SimContender *contender, CuratorLock *lock);
void sim_contender_release_lease (SimContender *contender, CuratorLease *lease);
/* Called by a callback that has the result; the other function waits for it. */
void sim_contender_tell (SimContender *contender);
void sim_contender_wait (SimContender *contender);

/* Beliefs about check number check; see sim_check.h. */
SimBelief *sim_contender_believe (SimContender *contender, int check, gpointer lease,
                                  SimHoldKind kind, guint64 token, guint limit);
void sim_contender_stop_believing (SimContender *contender);

/* Holds for a while. The lease may be NULL. */
void sim_contender_hold (SimContender *contender, CuratorLease *lease);
/* The calling actor's hold, borrowed. NULL for a multi-lock, whose leases are made by each call. */
CuratorLease *sim_held_lease (CuratorLock *lock);
/* Acquires one more level and releases it. */
void sim_contender_enter_again (SimContender *contender, CuratorLock *lock, CuratorLease *lease);
/* For a lock that is not re-entrant: a second acquire has to fail. */
void sim_contender_enter_in_vain (SimContender *contender, CuratorLease *lease);
