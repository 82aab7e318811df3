/* A machine whose clocks jump: a guest that its host pauses, with all its clocks and its network,
 * and whose wall clock is set right at once or later; and wall clocks that are set or slewed while
 * all is well.
 */
#include "sim_scene.h"

#define SESSION_MS 40000
/* The time that is left is rounded down. */
#define ROUNDING_MS 2
/* For the answer to a heartbeat, and one that is in flight before. */
#define ENOUGH_MS 10000

typedef struct
{
  int n_suspects;
  int n_held;
  int n_losses;
} Notices;

static void
note (CuratorLease *lease, CuratorLeaseState state, gpointer data)
{
  Notices *notices = data;
  notices->n_suspects += state == CURATOR_LEASE_STATE_SUSPECT;
  notices->n_held += state == CURATOR_LEASE_STATE_HELD;
  notices->n_losses += state == CURATOR_LEASE_STATE_LOST;
}

static CuratorLease *
acquire (Scene *scene, Notices *notices)
{
  CuratorLease *lease =
      curator_lock_acquire_lease (scene->machines[0]->lock, CURATOR_WAIT_FOREVER, NULL, NULL);
  EXPECT (scene, lease != NULL);
  curator_lease_add_listener (lease, note, notices, NULL);
  /* The heart beats. */
  sim_sleep_ms (scene->world, SESSION_MS);
  return lease;
}

/* A pause within what is left is taken from it, to the millisecond; a longer one ends the hold.
 * Until the wall clock is right nobody can know. */
static void
hold_over_a_pause (Scene *scene, Machine *a)
{
  GRand *rand = scene->world->rand;
  const gint64 paused_ms = g_rand_int_range (rand, 1000, SESSION_MS);
  const gint64 late_ms = g_rand_boolean (rand) ? 0 : g_rand_int_range (rand, 1, 3000);
  Notices notices = { 0 };
  g_autoptr (CuratorLease) lease = acquire (scene, &notices);

  sim_world_strike (scene->world, SIM_FAULT_OUTAGE, a->process, 100 * G_USEC_PER_SEC);
  sim_sleep_ms (scene->world, 1000);
  const gint64 left_ms = curator_lease_get_remaining_ms (lease);
  sim_process_set_wall_clock (a->process, late_ms > 0 ? -paused_ms * 1000 : 0);
  sim_world_strike (scene->world, SIM_FAULT_STOP, a->process, paused_ms * 1000);
  sim_sleep_us (scene->world, 1);
  sim_sleep_ms (scene->world, late_ms);
  sim_process_set_wall_clock (a->process, late_ms > 0 ? paused_ms * 1000 : 0);
  const gint64 expected_ms = MAX (left_ms - paused_ms - late_ms, 0);
  const gint64 now_ms = curator_lease_get_remaining_ms (lease);
  EXPECT (scene, now_ms <= expected_ms && now_ms >= expected_ms - ROUNDING_MS);
  sim_sleep_ms (scene->world, 1);
  EXPECT (scene, notices.n_suspects == 1);
  EXPECT (scene, (notices.n_losses == 1) == (now_ms <= 1));
}

SCENE_TEST (test_pause_with_all_clocks, .roles = { hold_over_a_pause }, .session_ms = SESSION_MS,
            .n_seeds = 100)

/* While all is well, a step that leaves something makes the hold suspect until the next proof. */
static void
hold_over_a_step (Scene *scene, Machine *a)
{
  const gint64 step_ms = g_rand_int_range (scene->world->rand, -SESSION_MS, SESSION_MS);
  Notices notices = { 0 };
  g_autoptr (CuratorLease) lease = acquire (scene, &notices);

  const gint64 left_ms = curator_lease_get_remaining_ms (lease);
  sim_process_set_wall_clock (a->process, step_ms * 1000);
  const gint64 expected_ms = MAX (left_ms - MAX (step_ms, 0), 0);
  const gint64 now_ms = curator_lease_get_remaining_ms (lease);
  EXPECT (scene, now_ms <= expected_ms && now_ms >= expected_ms - ROUNDING_MS);
  sim_sleep_ms (scene->world, 1);
  const gboolean is_noticed = ABS (step_ms) > 5000;
  EXPECT (scene, now_ms <= 1 || !is_noticed || notices.n_suspects == 1);
  sim_sleep_ms (scene->world, SESSION_MS);
  /* In between, it depends on when the next proof comes. */
  EXPECT (scene, now_ms > 1 || notices.n_losses == 1);
  EXPECT (scene, now_ms < ENOUGH_MS || notices.n_losses == 0);
  EXPECT (scene, notices.n_losses == 1 || notices.n_held == notices.n_suspects);
}

SCENE_TEST (test_steps_of_the_wall_clock, .roles = { hold_over_a_step }, .session_ms = SESSION_MS,
            .n_seeds = 200)

static void
hold_over_a_slew (Scene *scene, Machine *me)
{
  static const gint64 gains_ppm[] = { 500, -500, 20000, -20000 };
  GRand *rand = scene->world->rand;
  Notices notices = { 0 };
  g_autoptr (CuratorLease) lease = acquire (scene, &notices);

  sim_process_slew_wall_clock (me->process,
                               gains_ppm[g_rand_int_range (rand, 0, G_N_ELEMENTS (gains_ppm))]);
  sim_sleep_ms (scene->world, 20 * SESSION_MS);
  EXPECT (scene, notices.n_suspects == 0 && notices.n_losses == 0);
  EXPECT (scene, curator_lease_get_remaining_ms (lease) > SESSION_MS / 2);
}

SCENE_TEST (test_slews_of_the_wall_clock, .roles = { hold_over_a_slew }, .session_ms = SESSION_MS,
            .n_seeds = 20)

SIM_SUITE ("test_sim_clocks")
