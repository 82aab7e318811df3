/* A contest: several clients on simulated machines fight for one lock in every way the API has.
 *
 * Each contender is an actor that acquires, holds and releases at random and records its beliefs in
 * the checks. Contenders of one member share its client and its lock object. The recipe decides
 * which lock that is and what else a contender does with it.
 */
#pragma once

#include "sim.h"
#include "sim_check.h"

#include "curator/curator.h"

#define SIM_MAX_CHECKS 5

typedef struct _SimContest SimContest;
typedef struct _SimContender SimContender;

typedef struct
{
  SimContest *contest;
  SimWorld *world;
  SimProcess *process;
  CuratorClient *client;
  int index;
  CuratorLock *lock;
  gpointer data;   /* the recipe's */
  gboolean closed; /* the client is closed or closing */
} SimMember;

typedef struct
{
  int n_members;
  int n_contenders; /* of each member */
  int n_rounds;     /* of each contender */
  gint64 session_timeout_ms;
  gboolean calm;       /* no faults, so no call may fail */
  gboolean long_holds; /* holds until the hold is lost, or for very long */
  gboolean any_error;  /* any code from the server may reach the caller */
  gboolean may_leave;  /* a node that the server refuses to delete stays until its session ends */
  gboolean closing;    /* a client is closed in the middle */
  gboolean deletions;  /* a third party deletes nodes, which others create again */
} SimContestRules;

/* A member that is NULL defaults to the mutex's behaviour. */
typedef struct
{
  const char *path;
  int n_checks;            /* at least 1 */
  gboolean is_slow;        /* fewer schedules are run by default */
  gboolean plain_nodes;    /* names are not unique: no session may delete another's node */
  gboolean shared_hold;    /* a lost hold blocks the other contenders */
  gboolean deletions;      /* third parties may delete nodes, as they do with plain nodes */
  SimStillHeld still_held; /* of what the recipe records in its checks; NULL: of a lease */
  /* Run on the thread that drives the world, before and after the contest. open sets
   * member->lock. */
  void (*set_up) (SimContest *contest);
  void (*open) (SimMember *member);
  CuratorRetryPolicy *(*policy) (SimMember *member); /* transfer full */
  void (*settle) (SimMember *member);                /* ends activity outside of acquires */
  void (*close) (SimMember *member);
  /* Run by the contender. A round is one acquire with its hold and release. */
  void (*round) (SimContender *contender);
  /* The lock that it acquires next. */
  CuratorLock *(*choose) (SimContender *contender);
  /* The lease is NULL for a multi-lock's hold that belongs to a thread. */
  void (*believe) (SimContender *contender, CuratorLease *lease);
  /* While holding by thread. TRUE if the hold was given back. */
  gboolean (*inside) (SimContender *contender, CuratorLease *lease);
  /* After an acquire by thread that failed. */
  void (*refused) (SimContender *contender);
} SimRecipe;

extern const SimRecipe sim_recipe_mutex;
extern const SimRecipe sim_recipe_fixed_node;
extern const SimRecipe sim_recipe_semaphore_mutex;
extern const SimRecipe sim_recipe_rwlock;
extern const SimRecipe sim_recipe_semaphore;
extern const SimRecipe sim_recipe_multilock;
extern const SimRecipe sim_recipe_driver;
extern const SimRecipe sim_recipe_leader_selector;
extern const SimRecipe sim_recipe_leader_latch;

struct _SimContest
{
  SimWorld *world;
  const SimRecipe *recipe;
  SimCheck *checks[SIM_MAX_CHECKS];
  SimContestRules rules;
  gpointer data; /* the recipe's */
  GPtrArray *members;
  GPtrArray *contenders;
  guint n_granted;
};

SimContest *sim_contest_new (SimWorld *world, const SimContestRules *rules,
                             const SimRecipe *recipe);
/* Runs the contest, ends all faults, checks for residue, closes every client. FALSE if the world
 * has failed. */
gboolean sim_contest_run (SimContest *contest);
void sim_contest_free (SimContest *contest);
/* Whether some contender of a living process has not finished. */
gboolean sim_contest_goes_on (SimContest *contest);

/* --- sim_runner.c -------------------------------------------------------------------------- */

/* The main function of a test of one recipe. */
int sim_runner_main (const SimRecipe *recipe, const char *program);
/* FALSE if the checker has found something. */
gboolean sim_run_schedule (const SimRecipe *recipe, guint32 seed);
