/* Fails every kind of request of the mutex in every way, to find call sites that cannot handle it.
 *
 * Two clients contend without other faults. The nth request of one kind from one of them ends with
 * one code, before or after it took effect or at the call itself. With any code at most one client
 * may hold, every call must return, and no node or watch may stay that the server allows to be
 * removed.
 */
#include "sim_contest.h"
#include "support/suite.h"

#include "core/zk_error.h"

static const int codes[] = {
  ZCONNECTIONLOSS,
  ZOPERATIONTIMEOUT,
  ZSESSIONEXPIRED,
  ZSESSIONMOVED,
  ZINVALIDSTATE,
  ZCLOSING,
  ZNONODE,
  ZNODEEXISTS,
  ZNOAUTH,
  ZAUTHFAILED,
  CURATOR_ZK_SASL_REQUIRED,
  ZNOTREADONLY,
  ZTHROTTLEDOP,
  ZMARSHALLINGERROR,
  ZSYSTEMERROR,
  ZRUNTIMEINCONSISTENCY,
};

/* Impossible combinations: libzookeeper has few codes of its own, and no server refuses a request
 * that it has executed or reports an existing node as missing. */
static gboolean
is_a_lie (int rc, SimOp op, SimWhen when)
{
  if (when == SIM_AT_SUBMIT)
    return rc != ZINVALIDSTATE && rc != ZMARSHALLINGERROR && rc != ZSYSTEMERROR && rc != ZCLOSING;
  if (when == SIM_AFTER_EFFECT
      && (rc == ZNONODE || rc == ZNODEEXISTS || rc == ZNOAUTH || rc == ZSESSIONMOVED
          || rc == CURATOR_ZK_SASL_REQUIRED || rc == ZTHROTTLEDOP || rc == ZNOTREADONLY))
    return TRUE;
  /* The library keeps a watch that the server has removed without confirming it. */
  return rc == ZINVALIDSTATE || rc == ZMARSHALLINGERROR
         || (rc == ZNONODE && (op == SIM_OP_REMOVE || op == SIM_OP_GET))
         || (rc == ZNODEEXISTS && op != SIM_OP_CREATE)
         || (rc == ZSYSTEMERROR && op == SIM_OP_UNWATCH && when == SIM_AFTER_EFFECT);
}

/* A delete that is refused forever leaves its node in the queue, and no library can prevent that. A
 * read or a watch that cuts the connection every time is retried at each reconnect, too often to be
 * simulated; a delete is not, because the reaper keeps its pause. */
static gboolean
is_hopeless (int rc, SimOp op, guint nth)
{
  gboolean cuts = rc == ZCONNECTIONLOSS || rc == ZOPERATIONTIMEOUT || rc == ZSESSIONEXPIRED;
  gboolean reads =
      op != SIM_OP_CREATE && op != SIM_OP_CHECK && op != SIM_OP_REMOVE && op != SIM_OP_REMOVE_ALL;

  return (op == SIM_OP_REMOVE && rc == ZNOAUTH)
         || (nth == 0 && (rc == ZNODEEXISTS || (cuts && reads)));
}

static gboolean
run_case (const SimRecipe *recipe, int rc, SimOp op, guint nth, SimWhen when)
{
  static const char *const whens[] = { "at the call", "before its effect", "after its effect" };
  const SimContestRules rules = { .n_members = 2,
                                  .n_contenders = 1,
                                  .n_rounds = 3,
                                  .session_timeout_ms = 6000,
                                  .any_error = TRUE,
                                  .may_leave = TRUE };
  SimWorld *world = sim_world_new_calm ((guint32) (rc * -100 + (int) op * 10 + (int) nth), 3);

  world->config.time_limit_us = G_GINT64_CONSTANT (300) * G_USEC_PER_SEC;
  SimContest *contest = sim_contest_new (world, &rules, recipe);
  const SimMember *first = contest->members->pdata[0];
  sim_world_script (world, first->process, op, nth, rc, when);
  const gboolean good = sim_contest_run (contest);
  if (!good)
    print_message ("in: %s number %u fails %s with %d\n", sim_op_name (op), nth, whens[when], rc);
  sim_contest_free (contest);
  sim_world_free (world);
  return good;
}

static void
sweep_recipe (const SimRecipe *recipe, const SimOp *ops, gsize n_ops, SimWhen when)
{
  guint n_bad = 0;

  for (guint c = 0; c < G_N_ELEMENTS (codes); c++)
    for (guint o = 0; o < n_ops; o++)
      for (guint nth = 0; nth <= 4; nth++)
        if (!is_a_lie (codes[c], ops[o], when) && !is_hopeless (codes[c], ops[o], nth))
          n_bad += run_case (recipe, codes[c], ops[o], nth, when) ? 0 : 1;
  assert_int_equal (n_bad, 0);
}

static void
sweep (SimWhen when)
{
  static const SimOp ops[] = { SIM_OP_CREATE,   SIM_OP_REMOVE, SIM_OP_GET,   SIM_OP_EXISTS,
                               SIM_OP_CHILDREN, SIM_OP_SYNC,   SIM_OP_CHECK, SIM_OP_UNWATCH };
  sweep_recipe (&sim_recipe_mutex, ops, G_N_ELEMENTS (ops), when);
}

TEST (test_at_the_call)
{
  sweep (SIM_AT_SUBMIT);
}

TEST (test_before_effect)
{
  sweep (SIM_BEFORE_EFFECT);
}

TEST (test_after_effect)
{
  sweep (SIM_AFTER_EFFECT);
}

/* Members that are taken and released together: each answer may be lost. */
TEST (test_multi_lock)
{
  static const SimOp ops[] = { SIM_OP_CREATE, SIM_OP_CHILDREN, SIM_OP_REMOVE, SIM_OP_REMOVE_ALL };
  for (SimWhen when = SIM_AT_SUBMIT; when <= SIM_AFTER_EFFECT; when++)
    sweep_recipe (&sim_recipe_multilock, ops, G_N_ELEMENTS (ops), when);
}

SIM_SUITE ("test_sim_sweep")
