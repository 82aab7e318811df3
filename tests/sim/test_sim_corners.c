/* Corner cases of the engine and its client: refusals, limits, and nodes deleted by others.
 *
 * SIM_TEST=test_watch_limit runs one scene.
 */
#include "sim_scene.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
hold_and_wait_until_over (gpointer data)
{
  Scene *scene = data;
  g_autoptr (CuratorLease) lease =
      curator_lock_acquire_lease (scene->machines[0].mutex, -1, NULL, NULL);

  EXPECT (scene, lease != NULL);
  scene->held = TRUE;
  AWAIT (scene, scene->over);
}

/* --- an operator deletes nodes ---------------------------------------------------------------- */

static void
delete_nodes (Scene *scene)
{
  g_auto (GStrv) children = sim_world_children (scene->world, SCENE_PATH);

  for (guint i = 0; children[i] != NULL; i++)
    {
      g_autofree char *path = g_strconcat (SCENE_PATH "/", children[i], NULL);
      EXPECT (scene, sim_world_delete (scene->world, path));
    }
}

static void
count_news (CuratorLease *lease, CuratorLeaseState state, gpointer data)
{
  Scene *scene = data;
  scene->n_refused += state == CURATOR_LEASE_LOST ? 1 : 0;
}

static gboolean
is_readable (CuratorLease *lease)
{
  struct pollfd poll_fd = { .fd = curator_lease_get_fd (lease), .events = POLLIN };
  return poll (&poll_fd, 1, 0) == 1;
}

/* A node that is held so briefly is checked by the heartbeat before it is watched. */
static void
lose_node_at_once (gpointer data)
{
  Scene *scene = data;
  SceneMachine *a = &scene->machines[0];
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLease) lease = curator_lock_acquire_lease (a->mutex, -1, NULL, NULL);

  EXPECT (scene, lease != NULL);
  g_autoptr (GBytes) data_of_node = curator_lease_get_data (lease, NULL);
  EXPECT (scene, data_of_node != NULL);
  const guint listener = curator_lease_add_listener (lease, count_news, scene, NULL);
  const guint removed = curator_lease_add_listener (lease, count_news, scene, NULL);
  curator_lease_remove_listener (lease, removed);
  curator_lease_remove_listener (lease, removed);
  EXPECT (scene, !is_readable (lease));
  delete_nodes (scene);
  AWAIT (scene, curator_lease_get_state (lease) == CURATOR_LEASE_LOST);
  EXPECT (scene, curator_lease_get_remaining_ms (lease) == 0);
  EXPECT (scene, is_readable (lease));
  EXPECT (scene, curator_lease_get_data (lease, &error) == NULL);
  EXPECT (scene, scene_has_error (&error, CURATOR_ERROR_LOCK_LOST));
  AWAIT (scene, scene->n_refused == 1);
  curator_lease_remove_listener (lease, listener);

  /* A listener added after the loss is called, too. */
  EXPECT (scene, curator_lease_add_listener (lease, count_news, scene, NULL) != 0);
  AWAIT (scene, scene->n_refused == 2);
  EXPECT (scene, curator_lease_release (lease, NULL));
  EXPECT (scene, curator_lease_get_state (lease) == CURATOR_LEASE_LOST);
}

static void
test_node_of_a_hold_deleted (void **state)
{
  const ScenePlay play = { .roles = { lose_node_at_once }, .session_ms = 1200 };
  scene_play (&play);
}

/* The descriptor of a lost hold is readable from the start. */
static void
ask_late_for_descriptor (gpointer data)
{
  Scene *scene = data;
  g_autoptr (CuratorLease) lease =
      curator_lock_acquire_lease (scene->machines[0].mutex, -1, NULL, NULL);

  EXPECT (scene, lease != NULL && curator_lease_release (lease, NULL));
  EXPECT (scene, is_readable (lease));
  EXPECT (scene, curator_lease_get_fd (lease) == curator_lease_get_fd (lease));
}

static void
test_late_descriptor (void **state)
{
  const ScenePlay play = { .roles = { ask_late_for_descriptor } };
  scene_play (&play);
}

/* A waiter whose node was deleted queues again. */
static void
wait_in_spite_of_deletion (gpointer data)
{
  Scene *scene = data;
  g_autoptr (CuratorLease) lease = NULL;

  AWAIT (scene, scene->held);
  scene->waited = TRUE;
  lease = curator_lock_acquire_lease (scene->machines[1].mutex, -1, NULL, NULL);
  EXPECT (scene, lease != NULL);
}

static void
delete_waiting_node (gpointer data)
{
  Scene *scene = data;
  SceneMachine *a = &scene->machines[0];
  g_autoptr (CuratorLease) lease = curator_lock_acquire_lease (a->mutex, -1, NULL, NULL);

  scene->held = TRUE;
  AWAIT (scene, scene->waited && scene_n_children (scene, SCENE_PATH) == 2);
  g_auto (GStrv) children = sim_world_children (scene->world, SCENE_PATH);
  for (guint i = 0; children[i] != NULL; i++)
    {
      if (strcmp (children[i], curator_lease_get_node_name (lease)) != 0)
        {
          g_autofree char *path = g_strconcat (SCENE_PATH "/", children[i], NULL);
          EXPECT (scene, sim_world_delete (scene->world, path));
        }
    }
  AWAIT (scene, scene_n_children (scene, SCENE_PATH) == 2);
  EXPECT (scene, curator_lease_release (lease, NULL));
}

static void
test_node_of_a_waiter_deleted (void **state)
{
  const ScenePlay play = { .roles = { delete_waiting_node, wait_in_spite_of_deletion },
                           .session_ms = 1200 };
  scene_play (&play);
}

/* A waiter learns of the deletion late, because its list is refused for a while. Other holds keep
 * their proofs. */
static void
note_any_answer (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  ((Scene *) data)->over = TRUE;
  g_clear_pointer (&lease, curator_lease_unref);
}

static void
hold_beside_a_deleted_node (gpointer data)
{
  Scene *scene = data;
  SceneMachine *a = &scene->machines[0];
  g_autoptr (CuratorLock) other = curator_mutex_new (a->client, "/sim/other", NULL);
  g_autoptr (CuratorLease) lease = curator_lock_acquire_lease (other, -1, NULL, NULL);

  EXPECT (scene, lease != NULL);
  sim_world_script (scene->world, a->process, SIM_OP_CHILDREN, 0, ZTHROTTLEDOP, SIM_BEFORE_EFFECT);
  curator_lock_acquire_async (a->mutex, -1, NULL, note_any_answer, scene);
  AWAIT (scene, scene_n_children (scene, SCENE_PATH) == 1);
  sim_sleep_ms (scene->world, 10);
  delete_nodes (scene);
  AWAIT (scene, scene->over);
  EXPECT (scene, curator_lease_get_state (lease) == CURATOR_LEASE_HELD);
  EXPECT (scene, curator_lease_release (lease, NULL));
}

static void
test_late_notice_of_a_deletion (void **state)
{
  const ScenePlay play = { .roles = { hold_beside_a_deleted_node }, .session_ms = 1200 };
  scene_play (&play);
}

/* --- nodes that may be listed, but not read --------------------------------------------------- */

static void
take_turns (Scene *scene, int i)
{
  for (int round = 0; round < 10; round++)
    {
      g_autoptr (CuratorLease) lease =
          curator_lock_acquire_lease (scene->machines[i].mutex, -1, NULL, NULL);

      EXPECT (scene, lease != NULL && ++scene->n_holders == 1);
      scene->n_holders--;
      EXPECT (scene, curator_lease_release (lease, NULL));
    }
}

static void
take_turns_as_a (gpointer data)
{
  Scene *scene = data;
  sim_world_script (scene->world, NULL, SIM_OP_GET, 0, ZNOAUTH, SIM_BEFORE_EFFECT);
  take_turns (data, 0);
}

static void
take_turns_as_b (gpointer data)
{
  take_turns (data, 1);
}

static void
expect_no_watches (Scene *scene)
{
  sim_world_run_for (scene->world, 1000);
  EXPECT (scene, sim_process_server_watches (scene->machines[0].process) == 0);
  EXPECT (scene, sim_process_server_watches (scene->machines[1].process) == 0);
}

static void
test_watched_by_exists (void **state)
{
  const ScenePlay play = { .roles = { take_turns_as_a, take_turns_as_b },
                           .check = expect_no_watches };
  scene_play (&play);
}

/* Given up while the node is being searched for again, and while its delete is in flight. */
static void
hold_about_as_long (gpointer data)
{
  Scene *scene = data;
  GRand *rand = sim_world_rand (scene->world);

  sim_world_config (scene->world)->latency_max_us = 100 * 1000;
  for (int round = 0; round < 50; round++)
    {
      g_autoptr (CuratorLease) lease =
          curator_lock_acquire_lease (scene->machines[0].mutex, -1, NULL, NULL);
      EXPECT (scene, lease != NULL);
      sim_sleep_ms (scene->world, g_rand_int_range (rand, 1500, 3500));
      sim_world_strike (scene->world, SIM_FAULT_STALL, scene->machines[1].process, G_USEC_PER_SEC);
    }
  scene->over = TRUE;
}

static void
give_up_about_then (gpointer data)
{
  Scene *scene = data;
  GRand *rand = sim_world_rand (scene->world);

  sim_world_script (scene->world, scene->machines[1].process, SIM_OP_GET, 0, ZNOAUTH,
                    SIM_BEFORE_EFFECT);
  while (!scene->over)
    {
      g_autoptr (CuratorLease) lease G_GNUC_UNUSED = curator_lock_acquire_lease (
          scene->machines[1].mutex, g_rand_int_range (rand, 1900, 3500), NULL, NULL);
      sim_sleep_ms (scene->world, 10);
    }
}

static void
test_given_up_while_read_again (void **state)
{
  const ScenePlay play = { .roles = { hold_about_as_long, give_up_about_then },
                           .check = expect_no_watches,
                           .session_ms = 2000 };
  scene_play (&play);
}

static void
be_refused (gpointer data)
{
  Scene *scene = data;
  SceneMachine *a = &scene->machines[0];
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) node = curator_fixed_node_lock_new (a->client, SCENE_PATH "/fixed", NULL);
  g_autoptr (CuratorLease) lease = curator_lock_acquire_lease (node, -1, NULL, NULL);

  EXPECT (scene, lease != NULL);
  g_auto (GStrv) before = curator_lock_get_participant_nodes (node, NULL);
  EXPECT (scene, g_strv_length (before) == 1 && strcmp (*before, SCENE_PATH "/fixed") == 0);
  sim_world_set_noauth (scene->world, SCENE_PATH);
  EXPECT (scene, curator_lock_get_participant_nodes (node, &error) == NULL);
  EXPECT (scene, g_error_matches (error, CURATOR_ZK_ERROR, ZNOAUTH));
  g_clear_error (&error);
  EXPECT (scene, curator_lock_get_participant_nodes (a->mutex, &error) == NULL);
  EXPECT (scene, g_error_matches (error, CURATOR_ZK_ERROR, ZNOAUTH));
  g_clear_error (&error);
  EXPECT (scene, curator_lease_get_data (lease, &error) == NULL);
  EXPECT (scene, g_error_matches (error, CURATOR_ZK_ERROR, ZNOAUTH));
  g_clear_error (&error);
  EXPECT (scene, !curator_lock_acquire (a->mutex, -1, NULL, &error));
  EXPECT (scene, g_error_matches (error, CURATOR_ZK_ERROR, ZNOAUTH));
  sim_world_set_noauth (scene->world, NULL);
  EXPECT (scene, curator_lease_release (lease, NULL));
  g_auto (GStrv) after = curator_lock_get_participant_nodes (node, NULL);
  EXPECT (scene, g_strv_length (after) == 0);
}

static void
test_not_authorised (void **state)
{
  const ScenePlay play = { .roles = { be_refused } };
  scene_play (&play);
}

/* --- limits ----------------------------------------------------------------------------------- */

#define N_LONG_PATHS 600

static void
on_answer (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  Scene *scene = data;

  if (lease != NULL)
    {
      scene->n_holders++;
      curator_lease_unref (lease);
      return;
    }
  EXPECT (scene, g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_LIMIT_EXCEEDED));
  scene->n_refused++;
}

static CuratorLock *
long_lock (Scene *scene, int machine, int i)
{
  g_autofree char *filling = g_strnfill (880, 'x');
  g_autofree char *path = g_strdup_printf ("/sim%d/%s", i, filling);
  return curator_mutex_new (scene->machines[machine].client, path, NULL);
}

/* The holder may not watch all its nodes, either, but still holds them. */
static void
hold_long_paths (gpointer data)
{
  Scene *scene = data;
  g_autoptr (GPtrArray) leases =
      g_ptr_array_new_with_free_func ((GDestroyNotify) curator_lease_unref);

  for (int i = 0; i < N_LONG_PATHS; i++)
    {
      g_autoptr (CuratorLock) lock = long_lock (scene, 0, i);
      CuratorLease *lease = curator_lock_acquire_lease (lock, -1, NULL, NULL);
      EXPECT (scene, lease != NULL);
      g_ptr_array_add (leases, lease);
    }
  sim_sleep_ms (scene->world, 1000);
  for (guint i = 0; i < leases->len; i++)
    {
      EXPECT (scene, curator_lease_get_state (leases->pdata[i]) == CURATOR_LEASE_HELD);
    }
  scene->held = TRUE;
  AWAIT (scene, scene->waited);
}

static void
wait_for_long_paths (gpointer data)
{
  Scene *scene = data;

  AWAIT (scene, scene->held);
  for (int i = 0; i < N_LONG_PATHS; i++)
    {
      g_autoptr (CuratorLock) lock = long_lock (scene, 1, i);
      curator_lock_acquire_async (lock, -1, NULL, on_answer, scene);
    }
  AWAIT (scene, scene->n_refused > 0);
  sim_sleep_ms (scene->world, 1000);
  scene->waited = TRUE;
  AWAIT (scene, scene->n_refused + scene->n_holders == N_LONG_PATHS);
  EXPECT (scene, scene->n_holders > N_LONG_PATHS / 2);
}

static void
test_watch_limit (void **state)
{
  const ScenePlay play = { .roles = { hold_long_paths, wait_for_long_paths }, .n_seeds = 1 };
  scene_play (&play);
}

/* More requests than may be in flight: the rest is queued. */
static void
acquire_very_many (gpointer data)
{
  Scene *scene = data;
  enum
  {
    N = 2500
  };

  for (int i = 0; i < N; i++)
    {
      g_autofree char *path = g_strdup_printf (SCENE_PATH "%d", i);
      g_autoptr (CuratorLock) lock = curator_mutex_new (scene->machines[0].client, path, NULL);
      curator_lock_acquire_async (lock, -1, NULL, on_answer, scene);
    }
  AWAIT (scene, scene->n_holders == N);
}

/* The same when the session ends in the middle. */
static void
acquire_very_many_and_expire (gpointer data)
{
  Scene *scene = data;
  enum
  {
    N = 2500
  };

  for (int i = 0; i < N; i++)
    {
      g_autofree char *path = g_strdup_printf (SCENE_PATH "%d", i);
      g_autoptr (CuratorLock) lock = curator_mutex_new (scene->machines[0].client, path, NULL);
      curator_lock_acquire_async (lock, -1, NULL, on_answer, scene);
    }
  sim_world_strike (scene->world, SIM_FAULT_EXPIRE, scene->machines[0].process, 0);
  AWAIT (scene, scene->n_holders == N);
}

static void
test_more_than_may_be_under_way (void **state)
{
  const ScenePlay play = { .roles = { acquire_very_many }, .n_seeds = 1 };
  const ScenePlay other = { .roles = { acquire_very_many_and_expire }, .n_seeds = 1 };
  scene_play (&play);
  scene_play (&other);
}

/* --- servers without containers --------------------------------------------------------------- */

static void
make_parents_without_containers (gpointer data)
{
  Scene *scene = data;
  SceneMachine *a = &scene->machines[0];
  g_autoptr (CuratorLock) other = curator_mutex_new (a->client, "/other/path", NULL);

  sim_world_script (scene->world, a->process, SIM_OP_CREATE, 2, ZUNIMPLEMENTED, SIM_BEFORE_EFFECT);
  EXPECT (scene, curator_lock_acquire (a->mutex, -1, NULL, NULL));
  EXPECT (scene, curator_lock_release (a->mutex, NULL));
  EXPECT (scene, curator_lock_acquire (other, -1, NULL, NULL));
  EXPECT (scene, curator_lock_release (other, NULL));
}

static void
expect_parents_to_stay (Scene *scene)
{
  sim_world_strike (scene->world, SIM_FAULT_REAP, NULL, 0);
  sim_world_run_for (scene->world, 1000);
  EXPECT (scene, sim_world_exists (scene->world, SCENE_PATH));
  EXPECT (scene, sim_world_exists (scene->world, "/other/path"));
}

static void
test_no_containers (void **state)
{
  const ScenePlay play = { .roles = { make_parents_without_containers },
                           .check = expect_parents_to_stay };
  scene_play (&play);
}

/* --- custom drivers --------------------------------------------------------------------------- */

static void
describe_plain (CuratorLockDriver *driver, CuratorNodeRequest *request, gpointer data)
{
  curator_node_request_set_protected (request, FALSE);
  curator_node_request_set_data (request, "one", 3);
  curator_node_request_set_data (request, "two", 3);
}

static void
describe_lasting (CuratorLockDriver *driver, CuratorNodeRequest *request, gpointer data)
{
  curator_node_request_set_mode (request, CURATOR_CREATE_PERSISTENT_SEQUENTIAL);
}

/* A driver that is first come, first served, and re-evaluates at every change. */
static void
decide_without_path (CuratorLockDriver *driver, const char *const *children, gsize n_children,
                     const char *name, int max_leases, CuratorPredicateResults *results,
                     gpointer data)
{
  results->gets_the_lock = strcmp (children[0], name) == 0;
}

static CuratorLock *
lock_with (Scene *scene, int machine, const CuratorLockDriverFuncs *funcs)
{
  g_autoptr (CuratorLockDriver) driver = curator_lock_driver_new (funcs, NULL, NULL);
  curator_lock_driver_set_nothing_overtakes (driver, FALSE);
  return curator_mutex_new_with_driver (scene->machines[machine].client, SCENE_PATH, "lock-", 1,
                                        driver, NULL);
}

static const CuratorLockDriverFuncs plain = { .creates_the_lock = describe_plain };
static const CuratorLockDriverFuncs lasting = { .creates_the_lock = describe_lasting };
static const CuratorLockDriverFuncs any_change = { .gets_the_lock = decide_without_path };

/* A sequential name without a GUID: given up in the queue, and while the outcome of the create is
 * unknown. */
static void
give_up_plain_node (gpointer data)
{
  Scene *scene = data;
  SceneMachine *b = &scene->machines[1];
  g_autoptr (CuratorLock) lock = lock_with (scene, 1, &plain);
  g_autoptr (GError) error = NULL;

  AWAIT (scene, scene->held);
  EXPECT (scene, !curator_lock_acquire (lock, 100, NULL, &error));
  EXPECT (scene, scene_has_error (&error, CURATOR_ERROR_TIMED_OUT));
  AWAIT (scene, scene_n_children (scene, SCENE_PATH) == 1);

  sim_world_script (scene->world, b->process, SIM_OP_CREATE, 1, ZCONNECTIONLOSS, SIM_AFTER_EFFECT);
  sim_world_config (scene->world)->p_connect_fails = 1;
  EXPECT (scene, !curator_lock_acquire (lock, 1000, NULL, &error));
  EXPECT (scene, scene_has_error (&error, CURATOR_ERROR_TIMED_OUT));
  EXPECT (scene, scene_n_children (scene, SCENE_PATH) == 2);
  EXPECT (scene, sim_process_server (b->process) < 0);
  sim_world_config (scene->world)->p_connect_fails = 0;
  AWAIT (scene, scene_n_children (scene, SCENE_PATH) == 1);
  scene->over = TRUE;
}

static void
test_plain_node_given_up (void **state)
{
  const ScenePlay play = { .roles = { hold_and_wait_until_over, give_up_plain_node } };
  scene_play (&play);
}

/* Two waiters on one client that re-evaluate at every change: the second shares the watch. */
static void
hear_of_every_change (gpointer data)
{
  Scene *scene = data;
  g_autoptr (CuratorLock) lock = lock_with (scene, 1, &any_change);

  AWAIT (scene, scene->held);
  for (int i = 0; i < 5; i++)
    {
      curator_lock_acquire_async (lock, -1, NULL, on_answer, scene);
      sim_sleep_ms (scene->world, 20);
    }
  scene->over = TRUE;
  AWAIT (scene, scene->n_holders == 5);
}

static void
test_several_for_every_change (void **state)
{
  const ScenePlay play = { .roles = { hold_and_wait_until_over, hear_of_every_change },
                           .check = expect_no_watches };
  scene_play (&play);
}

/* A node that outlives sessions is held until the client is closed, and stays. */
static void
hold_lasting_node (gpointer data)
{
  Scene *scene = data;
  SceneMachine *a = &scene->machines[0];
  g_autoptr (CuratorLock) lock = lock_with (scene, 0, &lasting);
  g_autoptr (CuratorLease) lease = curator_lock_acquire_lease (lock, -1, NULL, NULL);

  EXPECT (scene, lease != NULL);
  EXPECT (scene, curator_lease_get_remaining_ms (lease) == G_MAXINT64);
  sim_world_strike (scene->world, SIM_FAULT_EXPIRE, a->process, 0);
  sim_sleep_ms (scene->world, 5000);
  EXPECT (scene, curator_lease_get_state (lease) == CURATOR_LEASE_HELD);
  curator_client_close (a->client);
  EXPECT (scene, curator_lease_get_state (lease) == CURATOR_LEASE_LOST);
  EXPECT (scene, curator_lease_get_remaining_ms (lease) == 0);
  EXPECT (scene, scene_n_children (scene, SCENE_PATH) == 1);
}

static void
test_lasting_node_at_close (void **state)
{
  const ScenePlay play = { .roles = { hold_lasting_node } };
  scene_play (&play);
}

/* --- revocation ------------------------------------------------------------------------------- */

static void
note_revocation (CuratorLock *lock, gpointer data)
{
  ((Scene *) data)->n_refused++;
}

/* The request arrives before the holder watches its own node; a reader behind it had already set
 * that watch. */
static void
be_asked_early (gpointer data)
{
  Scene *scene = data;
  SceneMachine *a = &scene->machines[0];
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorRwLock) rw_lock = curator_rw_lock_new (a->client, SCENE_PATH, NULL, 0, NULL);
  CuratorLock *write_lock = curator_rw_lock_write_lock (rw_lock);
  g_autoptr (CuratorLease) lease = curator_lock_acquire_lease (write_lock, -1, NULL, NULL);

  EXPECT (scene, lease != NULL);
  curator_lock_acquire_async (curator_rw_lock_read_lock (rw_lock), -1, NULL, on_answer, scene);
  sim_sleep_ms (scene->world, 50);
  EXPECT (scene, curator_attempt_revoke (a->client, curator_lease_get_node_path (lease), &error));
  EXPECT (scene, curator_lock_make_revocable (write_lock, note_revocation, scene, NULL, NULL));
  EXPECT (scene, curator_lock_make_revocable (write_lock, note_revocation, scene, NULL, NULL));
  AWAIT (scene, scene->n_refused == 1);
  EXPECT (scene, curator_lock_make_revocable (write_lock, NULL, NULL, NULL, NULL));
  EXPECT (scene, curator_attempt_revoke (a->client, SCENE_PATH "/gone", &error));
  EXPECT (scene, !curator_attempt_revoke (a->client, "not a path", &error));
  EXPECT (scene, scene_has_error (&error, CURATOR_ERROR_INVALID_ARGUMENT));
  EXPECT (scene, curator_lease_release (lease, NULL));
  AWAIT (scene, scene->n_holders == 1);
}

static void
test_asked_early (void **state)
{
  const ScenePlay play = { .roles = { be_asked_early } };
  scene_play (&play);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_node_of_a_hold_deleted),
    cmocka_unit_test (test_late_descriptor),
    cmocka_unit_test (test_node_of_a_waiter_deleted),
    cmocka_unit_test (test_late_notice_of_a_deletion),
    cmocka_unit_test (test_watched_by_exists),
    cmocka_unit_test (test_given_up_while_read_again),
    cmocka_unit_test (test_not_authorised),
    cmocka_unit_test (test_watch_limit),
    cmocka_unit_test (test_more_than_may_be_under_way),
    cmocka_unit_test (test_no_containers),
    cmocka_unit_test (test_plain_node_given_up),
    cmocka_unit_test (test_several_for_every_change),
    cmocka_unit_test (test_lasting_node_at_close),
    cmocka_unit_test (test_asked_early),
  };

  /* Formats the debug messages as well. */
  g_setenv ("G_MESSAGES_DEBUG", "curator", TRUE);
  scene_prepare ("test_sim_corners");
  return cmocka_run_group_tests (tests, NULL, NULL);
}
