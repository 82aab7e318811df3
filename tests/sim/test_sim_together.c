/* Members of a multi-lock that are taken together: what is left at rest, whom the transient nodes
 * meet, and what each answer that is missing leads to. */
#include "sim_scene.h"

#include <string.h>

#define N_PATHS    4
#define MANY_SEEDS 300

static const char *const paths[N_PATHS + 1] = { "/t/a", "/t/b", "/t/c", "/t/d", NULL };

static CuratorLock *
multi_lock_of (Machine *machine)
{
  return curator_multi_lock_new_for_paths (machine->client, paths, NULL);
}

static CuratorLock *
mutex_of (Machine *machine, int i)
{
  return curator_mutex_new (machine->client, paths[i], NULL);
}

static void
make_parents (Scene *scene)
{
  sim_world_put (scene->world, "/t", "", 0);
  for (int i = 0; i < N_PATHS; i++)
    sim_world_put (scene->world, paths[i], "", 0);
}

static guint
n_creates (Scene *scene, int machine)
{
  return sim_world_n_requests (scene->world, scene->machines[machine]->process, SIM_OP_CREATE);
}

static void
expect_nodes (Scene *scene, guint a, guint b, guint c, guint d)
{
  const guint wanted[N_PATHS] = { a, b, c, d };
  for (int i = 0; i < N_PATHS; i++)
    EXPECT (scene, scene_n_children (scene, paths[i]) == wanted[i]);
}

/* The session's first requests: its creates are sent together only while it is connected. */
static void
connect_first (Machine *machine)
{
  g_assert_true (
      curator_client_block_until_connected (machine->client, CURATOR_WAIT_FOREVER, NULL, NULL));
}

/* --- several tries at once -------------------------------------------------------------------- */

static void
try_once (Scene *scene, Machine *machine)
{
  g_autoptr (CuratorLock) multi = multi_lock_of (machine);

  if (machine == scene->machines[0])
    make_parents (scene);
  connect_first (machine);
  AWAIT (scene, sim_world_exists (scene->world, paths[N_PATHS - 1]));
  sim_sleep_us (scene->world, g_rand_int_range (scene->world->rand, 0, 2000));
  const gboolean granted = curator_lock_acquire (multi, 0, NULL, NULL);
  scene->n_holders += granted ? 1 : 0;
  scene->n_refused++;
  AWAIT (scene, scene->n_refused == SCENE_MACHINES);
  EXPECT (scene, !granted || curator_lock_release (multi, CURATOR_WAIT_DEFAULT, NULL, NULL));
}

static void
expect_one_holder (Scene *scene)
{
  EXPECT (scene, scene->n_holders == 1);
}

/* With the recipe the first to create a node of the first member has nobody in front of any. */
SCENE_TEST (test_one_try_wins, .roles = { try_once, try_once, try_once },
            .check = expect_one_holder, .n_seeds = MANY_SEEDS)

/* --- at rest ---------------------------------------------------------------------------------- */

static void
hold_the_third (Scene *scene, Machine *me)
{
  g_autoptr (CuratorLock) third = mutex_of (me, 2);

  make_parents (scene);
  EXPECT (scene, curator_lock_acquire (third, CURATOR_WAIT_FOREVER, NULL, NULL));
  scene->held = TRUE;
  AWAIT (scene, scene->waited);
  sim_sleep_ms (scene->world, 500);
  expect_nodes (scene, 1, 1, 2, 0);
  EXPECT (scene, curator_lock_release (third, CURATOR_WAIT_DEFAULT, NULL, NULL));
}

static void
wait_for_the_third (Scene *scene, Machine *machine)
{
  g_autoptr (CuratorLock) multi = multi_lock_of (machine);

  connect_first (machine);
  AWAIT (scene, scene->held);
  scene->waited = TRUE;
  EXPECT (scene, curator_lock_acquire (multi, CURATOR_WAIT_FOREVER, NULL, NULL));
  expect_nodes (scene, 1, 1, 1, 1);
  /* The fourth one twice. */
  EXPECT (scene, n_creates (scene, 1) == N_PATHS + 1);
  EXPECT (scene, curator_lock_release (multi, CURATOR_WAIT_DEFAULT, NULL, NULL));
  expect_nodes (scene, 0, 0, 0, 0);
  /* The withdrawn one by itself. */
  EXPECT (scene, sim_world_n_requests (scene->world, machine->process, SIM_OP_REMOVE) == 1);
  EXPECT (scene, sim_world_n_requests (scene->world, machine->process, SIM_OP_REMOVE_ALL) == 1);
}

SCENE_TEST (test_waiting_keeps_a_prefix, .roles = { hold_the_third, wait_for_the_third },
            .n_seeds = 100)

/* --- a member of another client in between ---------------------------------------------------- */

static void
hold_the_middle (Scene *scene, Machine *me)
{
  g_autoptr (CuratorLock) middle = mutex_of (me, 1);

  make_parents (scene);
  EXPECT (scene, curator_lock_acquire (middle, CURATOR_WAIT_FOREVER, NULL, NULL));
  scene->held = TRUE;
  AWAIT (scene, scene_n_children (scene, paths[1]) == 2);
  sim_sleep_ms (scene->world, 500);
  EXPECT (scene, n_creates (scene, 1) == 1);
  EXPECT (scene, curator_lock_release (middle, CURATOR_WAIT_DEFAULT, NULL, NULL));
}

static void
acquire_across (Scene *scene, Machine *me)
{
  g_autoptr (CuratorLock) first = mutex_of (me, 0);
  g_autoptr (CuratorLock) theirs = mutex_of (scene->machines[2], 1);
  g_autoptr (CuratorLock) third = mutex_of (me, 2);
  g_autoptr (CuratorLock) fourth = mutex_of (me, 3);
  CuratorLock *const members[] = { first, theirs, third, fourth };
  g_autoptr (CuratorLock) multi = curator_multi_lock_new (members, G_N_ELEMENTS (members));

  connect_first (me);
  connect_first (scene->machines[2]);
  AWAIT (scene, scene->held);
  EXPECT (scene, curator_lock_acquire (multi, CURATOR_WAIT_FOREVER, NULL, NULL));
  expect_nodes (scene, 1, 1, 1, 1);
  EXPECT (scene, curator_lock_release (multi, CURATOR_WAIT_DEFAULT, NULL, NULL));
  expect_nodes (scene, 0, 0, 0, 0);
}

SCENE_TEST (test_nothing_behind_another_client, .roles = { hold_the_middle, acquire_across })

/* --- members that are held already ------------------------------------------------------------ */

/* The thread's level of a member behind the one that is waited for is given back. */
static void
hold_the_third_for_long (Scene *scene, Machine *me)
{
  g_autoptr (CuratorLock) third = mutex_of (me, 2);

  make_parents (scene);
  EXPECT (scene, curator_lock_acquire (third, CURATOR_WAIT_FOREVER, NULL, NULL));
  scene->held = TRUE;
  AWAIT (scene, scene->n_refused == 1);
  EXPECT (scene, curator_lock_release (third, CURATOR_WAIT_DEFAULT, NULL, NULL));
}

static void
time_out_with_a_held_one_behind (Scene *scene, Machine *machine)
{
  g_autoptr (CuratorLock) fourth = mutex_of (machine, 3);
  g_autoptr (CuratorLock) third = mutex_of (machine, 2);
  CuratorLock *const members[] = { third, fourth };
  g_autoptr (CuratorLock) both = curator_multi_lock_new (members, G_N_ELEMENTS (members));

  connect_first (machine);
  AWAIT (scene, scene->held);
  EXPECT (scene, curator_lock_acquire (fourth, CURATOR_WAIT_FOREVER, NULL, NULL));
  scene_expect_refused (scene, both, 200, CURATOR_ERROR_TIMED_OUT);
  EXPECT (scene, curator_lock_is_owned_by_current_thread (fourth));
  expect_nodes (scene, 0, 0, 1, 1);
  EXPECT (scene, curator_lock_release (fourth, CURATOR_WAIT_DEFAULT, NULL, NULL));
  EXPECT (scene, !curator_lock_is_owned_by_current_thread (fourth));
  expect_nodes (scene, 0, 0, 1, 0);
  scene->n_refused++;
}

SCENE_TEST (test_held_member_behind_is_given_back,
            .roles = { hold_the_third_for_long, time_out_with_a_held_one_behind })

/* --- a delete that is refused ----------------------------------------------------------------- */

static void
release_with_one_refused (Scene *scene, Machine *me)
{
  g_autoptr (CuratorLock) multi = multi_lock_of (me);
  g_autoptr (GError) error = NULL;

  make_parents (scene);
  EXPECT (scene, curator_lock_acquire (multi, CURATOR_WAIT_FOREVER, NULL, NULL));
  g_auto (GStrv) nodes = sim_world_children (scene->world, paths[1]);
  const char *refused = nodes[0];
  sim_world_set_noauth (scene->world, refused);
  EXPECT (scene, !curator_lock_release (multi, CURATOR_WAIT_DEFAULT, NULL, &error));
  EXPECT (scene, error != NULL && strstr (error->message, refused) != NULL);
  EXPECT (scene, error != NULL && strstr (error->message, paths[0]) == NULL);
  expect_nodes (scene, 0, 1, 0, 0);
  sim_world_set_noauth (scene->world, NULL);
  AWAIT (scene, scene_n_children (scene, paths[1]) == 0);
}

SCENE_TEST (test_one_delete_refused, .roles = { release_with_one_refused })

/* --- death between the creates and the deletes ------------------------------------------------ */

static int n_in_between; /* schedules in which it died then */

static void
die_in_between (Scene *scene, Machine *me)
{
  g_autoptr (CuratorLock) multi = multi_lock_of (me);

  connect_first (me);
  AWAIT (scene, scene->held);
  scene->waited = TRUE;
  G_GNUC_UNUSED const gboolean acquired =
      curator_lock_acquire (multi, CURATOR_WAIT_FOREVER, NULL, NULL);
}

/* The dead client's nodes stand on all members until its session ends, and no longer. */
static void
outlive_it (Scene *scene, Machine *me)
{
  g_autoptr (CuratorLock) third = mutex_of (me, 2);
  g_autoptr (CuratorLock) fourth = mutex_of (me, 3);

  make_parents (scene);
  EXPECT (scene, curator_lock_acquire (third, CURATOR_WAIT_FOREVER, NULL, NULL));
  scene->held = TRUE;
  AWAIT (scene, scene->waited);
  for (int i = 0; i < 100 && scene_n_children (scene, paths[3]) == 0; i++)
    sim_sleep_us (scene->world, 50);
  n_in_between += scene_n_children (scene, paths[3]) > 0 ? 1 : 0;
  sim_world_strike (scene->world, SIM_FAULT_CRASH, scene->machines[1]->process, 0);
  const gint64 died_us = scene->world->now;
  EXPECT (scene, curator_lock_acquire (fourth, CURATOR_WAIT_FOREVER, NULL, NULL));
  EXPECT (scene, scene->world->now - died_us < 10 * G_USEC_PER_SEC);
  EXPECT (scene, curator_lock_release (fourth, CURATOR_WAIT_DEFAULT, NULL, NULL));
  EXPECT (scene, curator_lock_release (third, CURATOR_WAIT_DEFAULT, NULL, NULL));
}

TEST (test_death_in_between)
{
  const ScenePlay play = { .roles = { outlive_it, die_in_between },
                           .session_ms = 6000,
                           .n_seeds = 100 };
  scene_play (&play);
  assert_in_range (n_in_between, 50, 100);
}

SIM_SUITE ("test_sim_together")
