/* A contest: several clients on simulated machines fight for one lock in every way the API has.
 *
 * Each contender is an actor that acquires, holds and releases at random; what it believes goes to
 * the check. Contenders of one member share its client and its lock object.
 */
#ifndef SIM_CONTEST_H
#define SIM_CONTEST_H

#include "sim.h"
#include "sim_check.h"

#include "curator/curator.h"

typedef struct _SimContest SimContest;

typedef struct
{
  SimContest *contest;
  SimProcess *process;
  CuratorClient *client;
  CuratorLock *lock;
  gboolean closed; /* somebody closed, or is closing, the client */
} SimMember;

typedef enum
{
  SIM_OUTCOME_GRANTED,
  SIM_OUTCOME_TIMED_OUT,
  SIM_OUTCOME_CANCELLED,
  SIM_OUTCOME_CLOSED,
  SIM_OUTCOME_CONNECTION,
  SIM_OUTCOME_OTHER,
  SIM_OUTCOME_LOST_HOLD,
  SIM_N_OUTCOMES
} SimOutcome;

typedef struct
{
  int n_members;
  int n_contenders; /* of each member */
  int n_rounds;     /* of each contender */
  gint64 session_timeout_ms;
  gboolean calm;       /* nothing fails, so nothing may be reported as failed */
  gboolean long_holds; /* until the hold is lost, or for very long */
  gboolean any_error;  /* whatever code the server gives may reach the caller */
  gboolean may_leave;  /* what the server refuses to delete stays until its session ends */
  gboolean closing;    /* somebody closes a client in the middle */
} SimContestRules;

/* Makes the lock of a member; the default is a mutex. */
typedef CuratorLock *(*SimLockMaker) (CuratorClient *client, const char *path, GError **error);

struct _SimContest
{
  SimWorld *world;
  SimCheck *check;
  SimContestRules rules;
  const char *path;
  GPtrArray *members;
  GPtrArray *contenders;
  guint outcomes[SIM_N_OUTCOMES];
};

SimContest *sim_contest_new (SimWorld *world, const SimContestRules *rules, const char *path,
                             SimLockMaker make_lock);
/* Runs the fight, ends all faults, looks for what was left behind, closes every client. FALSE if
 * the world has failed. */
gboolean sim_contest_run (SimContest *contest);
void sim_contest_free (SimContest *contest);
const char *sim_outcome_name (SimOutcome outcome);

#endif
