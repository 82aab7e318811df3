/* A recipe under seeded schedules: many short histories, each with one profile of faults.
 *
 * SIM_SCHEDULES sets their number, SIM_SHARE=4 runs one of four of the usual number; SIM_SEED
 * replays one, SIM_TRACE=1 prints all of it; SIM_TEST=test_calm runs one profile.
 * The seed alone decides the profile and everything else.
 */
#include "sim_contest.h"
#include "support/suite.h"

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

static const char *const names[N_PROFILES] = { "test_calm",    "test_cuts",      "test_network",
                                               "test_expiry",  "test_processes", "test_servers",
                                               "test_closing", "test_leases",    "test_all",
                                               "test_changes" };

/* In the order of SimFault: drop, quiet drop, duplicate, silent, deaf, outage, expire, pause,
 * suspend, stop, stall, cut, liar, lag, freeze, reap, crash. */
static const guint weights[N_PROFILES][SIM_N_FAULTS] = {
  [PROFILE_CUTS] = { 3, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0 },
  [PROFILE_NETWORK] = { 0, 0, 0, 2, 2, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0 },
  [PROFILE_EXPIRY] = { 0, 0, 0, 0, 0, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0 },
  [PROFILE_PROCESSES] = { 0, 0, 0, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0, 2, 1 },
  [PROFILE_SERVERS] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 0 },
  [PROFILE_CLOSING] = { 3, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0 },
  [PROFILE_LEASES] = { 0, 0, 0, 2, 2, 2, 0, 2, 2, 0, 0, 2, 2, 0, 2, 2, 0 },
  [PROFILE_ALL] = { 3, 1, 1, 2, 2, 1, 3, 2, 2, 0, 2, 2, 2, 2, 2, 2, 1 },
  [PROFILE_CHANGES] = { 4, 0, 0, 0, 0, 2, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 0 },
};

static guint64 last_hash;
static guint n_granted;
static const SimRecipe *the_recipe;

static guint
env_number (const char *name, guint otherwise)
{
  const char *text = g_getenv (name);

  return text == NULL ? otherwise : (guint) strtoul (text, NULL, 10);
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
  memcpy (config->weights, weights[profile], sizeof config->weights);
  config->fault_every_us = g_rand_int_range (rand, 10, 1000) * 1000;
  config->faults_until_us = 60 * G_USEC_PER_SEC;
  config->outage_max_us = 2 * rules->session_timeout_ms * 1000;
  config->p_spurious_wake = g_rand_int_range (rand, 0, 2) * 0.01;
  if (profile == PROFILE_CUTS || profile == PROFILE_ALL || profile == PROFILE_CLOSING) {
    config->p_cut_before = much;
    config->p_cut_after = much;
    config->p_refuse = much / 2;
    config->p_connect_fails = 0.1;
  }
  if (profile == PROFILE_SERVERS) {
    config->p_cut_before = config->p_cut_after = much / 2;
    config->n_servers = MAX (config->n_servers, 2);
  }
  if (profile == PROFILE_LEASES || profile == PROFILE_CHANGES) {
    rules->long_holds = TRUE;
    rules->n_members = profile == PROFILE_LEASES ? 2 : 3;
    rules->n_contenders = 1;
    rules->n_rounds = N_ACQUIRES / 2;
    config->eager = TRUE;
    config->tick_ms = 2000;
    config->time_limit_us *= 4;
  }
  if (profile == PROFILE_LEASES) {
    config->latency_max_us = g_rand_int_range (rand, 0, 20) * rules->session_timeout_ms * 2;
    config->fault_every_us = rules->session_timeout_ms * 1000;
    config->faults_until_us = 20 * rules->session_timeout_ms * 1000;
  }
  if (profile == PROFILE_CHANGES) {
    rules->deletions = recipe->plain_nodes || recipe->deletions;
    rules->session_timeout_ms = 30000;
    config->latency_max_us = g_rand_int_range (rand, 0, 3) * 3000;
    config->p_other_timeout = 0.5;
    config->fault_every_us = 15 * G_USEC_PER_SEC;
    config->faults_until_us = 600 * G_USEC_PER_SEC;
    config->outage_max_us = 30 * G_USEC_PER_SEC;
  }
  if (profile == PROFILE_ALL) {
    config->p_not_taken = 0.002;
    config->p_open_fails = 0.05;
  }
}

/* Many sessions of one contender each. */
static void
make_a_crowd (SimContestRules *rules)
{
  if (!rules->long_holds && !rules->closing) {
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

  set_up (&config, &rules, recipe, (Profile) (seed % N_PROFILES), rand);
  if (seed / N_PROFILES % CROWD_SHARE == CROWD_SHARE - 1)
    make_a_crowd (&rules);
  g_rand_free (rand);
  /* Between the look at a node and its deletion a third party may have put another in its place. */
  config.private_nodes = recipe->plain_nodes && !rules.deletions;
  config.plain_nodes = recipe->plain_nodes;
  SimWorld *world = sim_world_new (seed, &config);
  SimContest *contest = sim_contest_new (world, &rules, recipe);
  const gboolean good = sim_contest_run (contest);
  n_granted += contest->n_granted;
  last_hash = world->hash;
  sim_contest_free (contest);
  sim_world_free (world);
  return good;
}

static void
run_profile (void **state)
{
  const guint profile = *(const guint *) *state;
  const guint share = the_recipe->is_slow ? SLOW_SHARE : 1;
  const guint usual = SIM_DEFAULT_SCHEDULES / share / env_number ("SIM_SHARE", 1);
  const guint n = (env_number ("SIM_SCHEDULES", usual) + N_PROFILES - 1) / N_PROFILES;
  guint n_bad = 0;

  if (g_getenv ("SIM_SEED") != NULL) {
    const guint32 seed = env_number ("SIM_SEED", 0);

    assert_true (seed % N_PROFILES != profile || sim_run_schedule (the_recipe, seed));
    return;
  }
  n_granted = 0;
  for (guint i = 0; i < n && n_bad < 5; i++)
    n_bad += sim_run_schedule (the_recipe, i * N_PROFILES + profile) ? 0 : 1;
  print_message ("%u schedules, %u grants\n", n, n_granted);
  assert_int_equal (n_bad, 0);
  assert_true (n == 0 || n_granted > n);
}

/* A failure must be replayable by its seed. */
TEST (test_same_seed_same_schedule)
{
  for (guint32 seed = 0; seed < 5 * N_PROFILES; seed++) {
    sim_run_schedule (the_recipe, seed);
    const guint64 hash = last_hash;
    sim_run_schedule (the_recipe, seed);
    assert_true (hash == last_hash);
  }
}

int
sim_runner_main (const SimRecipe *recipe, const char *program)
{
  static guint profiles[N_PROFILES];

  the_recipe = recipe;
  sim_prepare (program);
  for (guint i = 0; i < N_PROFILES; i++) {
    profiles[i] = i;
    suite_tests[n_suite_tests].initial_state = &profiles[i];
    suite_add (names[i], run_profile, NULL, NULL);
  }
  return suite_run (program, NULL, NULL);
}
