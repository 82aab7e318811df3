/* A recipe under seeded schedules: many short histories, each with one profile of faults. */
#include "sim_runner.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* About how many acquires a schedule has. */
#define N_ACQUIRES 12
/* One schedule of so many is a crowd, in which each contender acquires so often. */
#define CROWD_SHARE  8
#define CROWD_ROUNDS 4
/* Of a slow recipe, one schedule of so many is run by default. */
#define SLOW_SHARE 20

typedef enum
{
  PROFILE_CALM,
  PROFILE_CUTS,    /* connections cut around a request */
  PROFILE_NETWORK, /* outages and silence */
  PROFILE_EXPIRY,
  PROFILE_PROCESSES, /* pauses, sleeping machines, crashes */
  PROFILE_SERVERS,   /* servers without a quorum, deposed, lagging */
  PROFILE_CLOSING,
  PROFILE_LEASES, /* long holds, early expiry, slow links */
  PROFILE_ALL,
  PROFILE_CHANGES, /* other session timeouts at reconnects, nodes deleted by third parties */
  N_PROFILES
} Profile;

static guint64 total_steps;
static guint64 last_hash;
static const SimRecipe *the_recipe;
static guint totals[SIM_N_OUTCOMES];

static guint
env_number (const char *name, guint otherwise)
{
  const char *text = g_getenv (name);

  return text == NULL ? otherwise : (guint) strtoul (text, NULL, 10);
}

static void
set_weights (SimConfig *config, Profile profile)
{
  guint *w = config->weights;

  w[SIM_FAULT_REAP] = 2;
  if (profile == PROFILE_CUTS || profile == PROFILE_ALL || profile == PROFILE_CLOSING)
    {
      w[SIM_FAULT_DROP] = 3;
      w[SIM_FAULT_DROP_QUIET] = 1;
      w[SIM_FAULT_DUPLICATE] = 1;
    }
  if (profile == PROFILE_NETWORK || profile == PROFILE_ALL)
    w[SIM_FAULT_SILENT] = w[SIM_FAULT_DEAF] = w[SIM_FAULT_OUTAGE] = w[SIM_FAULT_STALL] = 2;
  if (profile == PROFILE_EXPIRY || profile == PROFILE_ALL)
    {
      w[SIM_FAULT_EXPIRE] = 3;
      w[SIM_FAULT_OUTAGE] = 1;
    }
  if (profile == PROFILE_PROCESSES || profile == PROFILE_ALL)
    {
      w[SIM_FAULT_PAUSE] = w[SIM_FAULT_SUSPEND] = 2;
      w[SIM_FAULT_CRASH] = 1;
    }
  if (profile == PROFILE_SERVERS || profile == PROFILE_ALL)
    w[SIM_FAULT_CUT] = w[SIM_FAULT_LIAR] = w[SIM_FAULT_LAG] = w[SIM_FAULT_FREEZE] = 2;
  if (profile == PROFILE_LEASES)
    {
      w[SIM_FAULT_CUT] = w[SIM_FAULT_LIAR] = w[SIM_FAULT_OUTAGE] = w[SIM_FAULT_SILENT] = 2;
      w[SIM_FAULT_DEAF] = w[SIM_FAULT_PAUSE] = w[SIM_FAULT_SUSPEND] = w[SIM_FAULT_FREEZE] = 2;
    }
  if (profile == PROFILE_CHANGES)
    {
      w[SIM_FAULT_DROP] = 4;
      w[SIM_FAULT_OUTAGE] = w[SIM_FAULT_PAUSE] = w[SIM_FAULT_CUT] = 2;
    }
}

static void
set_up (SimConfig *config, SimContestRules *rules, const SimRecipe *recipe, Profile profile,
        GRand *rand)
{
  static const gint64 timeouts[] = { 4000, 6000, 15000, 30000 };
  double much = g_rand_double_range (rand, 0.005, 0.05);

  sim_config_calm (config);
  memset (rules, 0, sizeof *rules);
  rules->n_members = g_rand_int_range (rand, 2, 5);
  rules->n_contenders = g_rand_int_range (rand, 1, 3);
  rules->n_rounds = N_ACQUIRES / (rules->n_members * rules->n_contenders) + 1;
  rules->session_timeout_ms = timeouts[g_rand_int_range (rand, 0, G_N_ELEMENTS (timeouts))];
  rules->calm = profile == PROFILE_CALM;
  rules->closing = profile == PROFILE_CLOSING;
  config->n_servers = g_rand_int_range (rand, 1, 4);
  config->tick_ms = g_rand_int_range (rand, 200, 2001);
  config->latency_max_us = g_rand_int_range (rand, 0, 3) * g_rand_int_range (rand, 0, 3000);
  config->lag_max_us = g_rand_int_range (rand, 0, 2) * g_rand_int_range (rand, 0, 20000);
  config->time_limit_us = G_GINT64_CONSTANT (900) * G_USEC_PER_SEC;
  if (rules->calm)
    return;
  set_weights (config, profile);
  config->fault_every_us = g_rand_int_range (rand, 10, 1000) * 1000;
  config->faults_until_us = 60 * G_USEC_PER_SEC;
  config->outage_max_us = 2 * rules->session_timeout_ms * 1000;
  config->p_spurious_wake = g_rand_int_range (rand, 0, 2) * 0.01;
  if (profile == PROFILE_CUTS || profile == PROFILE_ALL || profile == PROFILE_CLOSING)
    {
      config->p_cut_before = much;
      config->p_cut_after = much;
      config->p_refuse = much / 2;
      config->p_connect_fails = 0.1;
    }
  if (profile == PROFILE_SERVERS)
    {
      config->p_cut_before = config->p_cut_after = much / 2;
      config->n_servers = MAX (config->n_servers, 2);
    }
  if (profile == PROFILE_LEASES)
    {
      rules->long_holds = TRUE;
      rules->n_members = 2;
      rules->n_contenders = 1;
      rules->n_rounds = N_ACQUIRES / 2;
      config->eager = TRUE;
      config->tick_ms = 2000;
      config->latency_max_us = g_rand_int_range (rand, 0, 20) * rules->session_timeout_ms * 2;
      config->fault_every_us = rules->session_timeout_ms * 1000;
      config->faults_until_us = 20 * rules->session_timeout_ms * 1000;
      config->time_limit_us *= 4;
    }
  if (profile == PROFILE_CHANGES)
    {
      rules->long_holds = TRUE;
      rules->n_members = 3;
      rules->n_contenders = 1;
      rules->n_rounds = N_ACQUIRES / 2;
      rules->deletions = recipe->plain_nodes || recipe->deletions;
      rules->session_timeout_ms = 30000;
      config->eager = TRUE;
      config->tick_ms = 2000;
      config->latency_max_us = g_rand_int_range (rand, 0, 3) * 3000;
      config->p_other_timeout = 0.5;
      config->fault_every_us = rules->session_timeout_ms * 500;
      config->faults_until_us = 20 * rules->session_timeout_ms * 1000;
      config->outage_max_us = rules->session_timeout_ms * 1000;
      config->time_limit_us *= 4;
    }
  if (profile == PROFILE_ALL)
    {
      config->p_not_taken = 0.002;
      config->p_open_fails = 0.05;
    }
}

/* Many sessions of one contender each. */
static void
make_a_crowd (SimContestRules *rules)
{
  if (!rules->long_holds && !rules->closing)
    {
      rules->n_members = 6;
      rules->n_contenders = 1;
      rules->n_rounds = CROWD_ROUNDS;
    }
}

gboolean
sim_run_schedule (const SimRecipe *recipe, guint32 seed)
{
  GRand *rand = g_rand_new_with_seed (seed ^ 0x5eed);
  SimContestRules rules;
  SimConfig config;
  SimWorld *world;
  SimContest *contest;
  gboolean good;

  set_up (&config, &rules, recipe, (Profile) (seed % N_PROFILES), rand);
  if (seed / N_PROFILES % CROWD_SHARE == CROWD_SHARE - 1)
    make_a_crowd (&rules);
  g_rand_free (rand);
  /* Between the look at a node and its deletion a third party may have put another in its place. */
  config.private_nodes = recipe->plain_nodes && !rules.deletions;
  config.plain_nodes = recipe->plain_nodes;
  world = sim_world_new (seed, &config);
  contest = sim_contest_new (world, &rules, recipe);
  good = sim_contest_run (contest);
  for (int i = 0; i < SIM_N_OUTCOMES; i++)
    totals[i] += contest->outcomes[i];
  total_steps += sim_world_steps (world);
  last_hash = sim_world_trace_hash (world);
  sim_contest_free (contest);
  sim_world_free (world);
  return good;
}

static void
report (const char *name, guint n)
{
  fprintf (stderr, "%s: %u schedules, %" G_GUINT64_FORMAT " steps;", name, n, total_steps);
  for (int i = 0; i < SIM_N_OUTCOMES; i++)
    fprintf (stderr, " %s %u", sim_outcome_name ((SimOutcome) i), totals[i]);
  fprintf (stderr, "\n");
}

static void
run_profile (const char *name, Profile profile)
{
  const guint share = the_recipe->is_slow ? SLOW_SHARE : 1;
  const guint usual = SIM_DEFAULT_SCHEDULES / share / env_number ("SIM_SHARE", 1);
  guint n = (env_number ("SIM_SCHEDULES", usual) + N_PROFILES - 1) / N_PROFILES;
  guint32 base = env_number ("SIM_BASE_SEED", 0) / N_PROFILES * N_PROFILES;
  guint n_bad = 0;

  if (g_getenv ("SIM_SEED") != NULL)
    {
      guint32 seed = env_number ("SIM_SEED", 0);

      assert_true (seed % N_PROFILES != profile || sim_run_schedule (the_recipe, seed));
      return;
    }
  total_steps = 0;
  memset (totals, 0, sizeof totals);
  for (guint i = 0; i < n && n_bad < 5; i++)
    n_bad += sim_run_schedule (the_recipe, base + i * N_PROFILES + profile) ? 0 : 1;
  report (name, n);
  assert_int_equal (n_bad, 0);
  assert_true (n == 0 || totals[SIM_OUTCOME_GRANTED] > n);
}

/* A failure must be replayable by its seed. */
TEST (test_same_seed_same_schedule)
{
  for (guint32 seed = 0; seed < 5 * N_PROFILES; seed++)
    {
      guint64 hash;

      sim_run_schedule (the_recipe, seed);
      hash = last_hash;
      sim_run_schedule (the_recipe, seed);
      assert_true (hash == last_hash);
    }
}

#define PROFILE_TEST(name, profile)                                                                \
  static void test_##name (void **state)                                                           \
  {                                                                                                \
    run_profile (#name, profile);                                                                  \
  }                                                                                                \
  SUITE_ADD (test_##name, test_##name, NULL)

PROFILE_TEST (calm, PROFILE_CALM)
PROFILE_TEST (cuts, PROFILE_CUTS)
PROFILE_TEST (network, PROFILE_NETWORK)
PROFILE_TEST (expiry, PROFILE_EXPIRY)
PROFILE_TEST (processes, PROFILE_PROCESSES)
PROFILE_TEST (servers, PROFILE_SERVERS)
PROFILE_TEST (closing, PROFILE_CLOSING)
PROFILE_TEST (leases, PROFILE_LEASES)
PROFILE_TEST (all, PROFILE_ALL)
PROFILE_TEST (changes, PROFILE_CHANGES)

int
sim_runner_main (const SimRecipe *recipe, const char *program)
{
  the_recipe = recipe;
  sim_prepare (program);
  return suite_run (program, NULL, NULL);
}
