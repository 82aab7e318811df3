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

#include <stdio.h>
#include <string.h>

typedef struct
{
  int rc;
  const char *name;
} Code;

static const Code codes[] = {
  { ZCONNECTIONLOSS, "CONNECTIONLOSS" },
  { ZOPERATIONTIMEOUT, "OPERATIONTIMEOUT" },
  { ZSESSIONEXPIRED, "SESSIONEXPIRED" },
  { ZSESSIONMOVED, "SESSIONMOVED" },
  { ZINVALIDSTATE, "INVALIDSTATE" },
  { ZCLOSING, "CLOSING" },
  { ZNONODE, "NONODE" },
  { ZNODEEXISTS, "NODEEXISTS" },
  { ZNOAUTH, "NOAUTH" },
  { ZAUTHFAILED, "AUTHFAILED" },
  { CURATOR_ZK_SASL_REQUIRED, "SESSIONCLOSEDREQUIRESASLAUTH" },
  { ZNOTREADONLY, "NOTREADONLY" },
  { ZTHROTTLEDOP, "THROTTLEDOP" },
  { ZMARSHALLINGERROR, "MARSHALLINGERROR" },
  { ZSYSTEMERROR, "SYSTEMERROR" },
  { ZRUNTIMEINCONSISTENCY, "RUNTIMEINCONSISTENCY" },
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
run_case (const SimRecipe *recipe, const Code *code, SimOp op, guint nth, SimWhen when)
{
  SimContestRules rules = { .n_members = 2,
                            .n_contenders = 1,
                            .n_rounds = 3,
                            .session_timeout_ms = 6000,
                            .any_error = TRUE,
                            .may_leave = TRUE };
  SimConfig config;
  g_autofree char *label =
      g_strdup_printf ("%s number %u %s %s", sim_op_name (op), nth,
                       when == SIM_AT_SUBMIT       ? "at the call returns"
                       : when == SIM_BEFORE_EFFECT ? "fails without effect with"
                                                   : "takes effect and fails with",
                       code->name);

  sim_config_calm (&config);
  config.time_limit_us = G_GINT64_CONSTANT (300) * G_USEC_PER_SEC;
  SimWorld *world =
      sim_world_new ((guint32) (code->rc * -100 + (int) op * 10 + (int) nth), &config);
  sim_world_set_label (world, label);
  SimContest *contest = sim_contest_new (world, &rules, recipe);
  sim_world_script (world, ((SimMember *) contest->members->pdata[0])->process, op, nth, code->rc,
                    when);
  gboolean good = sim_contest_run (contest);

  sim_contest_free (contest);
  sim_world_free (world);
  return good;
}

static void
sweep_recipe (const SimRecipe *recipe, const SimOp *ops, gsize n_ops, SimWhen when)
{
  guint n = 0;
  guint n_bad = 0;

  for (guint c = 0; c < G_N_ELEMENTS (codes); c++)
    {
      for (guint o = 0; o < n_ops; o++)
        {
          for (guint nth = 0; nth <= 4; nth++)
            {
              if (is_a_lie (codes[c].rc, ops[o], when) || is_hopeless (codes[c].rc, ops[o], nth))
                continue;
              n++;
              n_bad += run_case (recipe, &codes[c], ops[o], nth, when) ? 0 : 1;
            }
        }
    }
  fprintf (stderr, "%u cases, %u bad\n", n, n_bad);
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
  static const SimWhen whens[] = { SIM_AT_SUBMIT, SIM_BEFORE_EFFECT, SIM_AFTER_EFFECT };
  for (gsize i = 0; i < G_N_ELEMENTS (whens); i++)
    sweep_recipe (&sim_recipe_multilock, ops, G_N_ELEMENTS (ops), whens[i]);
}

SIM_SUITE ("test_sim_sweep")
