/* Corner cases of the engine and its client: limits, old servers, custom drivers, revocation.
 *
 * SIM_TEST=test_watch_limit runs one scene.
 */
#include "sim_scene.h"

#include <string.h>

/* --- limits ----------------------------------------------------------------------------------- */

#define N_LONG_PATHS 600

static void
on_answer (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  Scene *scene = data;

  if (lease != NULL) {
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
  return curator_mutex_new (scene->machines[machine]->client, path, NULL);
}

/* The holder may not watch all its nodes, either, but still holds them. */
static void
hold_long_paths (Scene *scene, Machine *me)
{
  g_autoptr (GPtrArray) leases =
      g_ptr_array_new_with_free_func ((GDestroyNotify) curator_lease_unref);

  for (int i = 0; i < N_LONG_PATHS; i++) {
    g_autoptr (CuratorLock) lock = long_lock (scene, 0, i);
    CuratorLease *lease = scene_hold (scene, lock);
    g_ptr_array_add (leases, lease);
  }
  sim_sleep_ms (scene->world, 1000);
  for (guint i = 0; i < leases->len; i++)
    EXPECT (scene, curator_lease_get_state (leases->pdata[i]) == CURATOR_LEASE_STATE_HELD);
  scene->held = TRUE;
  AWAIT (scene, scene->waited);
}

static void
wait_for_long_paths (Scene *scene, Machine *me)
{
  AWAIT (scene, scene->held);
  for (int i = 0; i < N_LONG_PATHS; i++) {
    g_autoptr (CuratorLock) lock = long_lock (scene, 1, i);
    curator_lock_acquire_then (lock, CURATOR_WAIT_FOREVER, NULL, on_answer, scene);
  }
  AWAIT (scene, scene->n_refused > 0);
  sim_sleep_ms (scene->world, 1000);
  scene->waited = TRUE;
  AWAIT (scene, scene->n_refused + scene->n_holders == N_LONG_PATHS);
  EXPECT (scene, scene->n_holders > N_LONG_PATHS / 2);
}

SCENE_TEST (test_watch_limit, .roles = { hold_long_paths, wait_for_long_paths }, .n_seeds = 1)

#define VERY_MANY 2500

/* More requests than may be in flight: the rest is queued. With one of the seeds the session ends in
 * the middle. */
static void
acquire_very_many (Scene *scene, Machine *me)
{
  for (int i = 0; i < VERY_MANY; i++) {
    g_autofree char *path = g_strdup_printf (SCENE_PATH "%d", i);
    g_autoptr (CuratorLock) lock = curator_mutex_new (me->client, path, NULL);
    curator_lock_acquire_then (lock, CURATOR_WAIT_FOREVER, NULL, on_answer, scene);
  }
  if (scene->world->seed == 1)
    sim_world_strike (scene->world, SIM_FAULT_EXPIRE, me->process, 0);
  AWAIT (scene, scene->n_holders == VERY_MANY);
}

SCENE_TEST (test_more_than_may_be_under_way, .roles = { acquire_very_many }, .n_seeds = 2)

/* --- servers without containers --------------------------------------------------------------- */

static void
make_parents_without_containers (Scene *scene, Machine *a)
{
  g_autoptr (CuratorLock) other = curator_mutex_new (a->client, "/other/path", NULL);

  sim_world_script (scene->world, a->process, SIM_OP_CREATE, 2, ZUNIMPLEMENTED, SIM_BEFORE_EFFECT);
  EXPECT (scene, curator_lock_acquire (a->lock, CURATOR_WAIT_FOREVER, NULL, NULL));
  EXPECT (scene, curator_lock_release (a->lock, CURATOR_WAIT_DEFAULT, NULL, NULL));
  EXPECT (scene, curator_lock_acquire (other, CURATOR_WAIT_FOREVER, NULL, NULL));
  EXPECT (scene, curator_lock_release (other, CURATOR_WAIT_DEFAULT, NULL, NULL));
}

static void
expect_parents_to_stay (Scene *scene)
{
  sim_world_strike (scene->world, SIM_FAULT_REAP, NULL, 0);
  sim_world_run_for (scene->world, 1000);
  EXPECT (scene, sim_world_exists (scene->world, SCENE_PATH));
  EXPECT (scene, sim_world_exists (scene->world, "/other/path"));
}

SCENE_TEST (test_no_containers, .roles = { make_parents_without_containers },
            .check = expect_parents_to_stay)

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
  curator_node_request_set_mode (request, CURATOR_CREATE_MODE_PERSISTENT_SEQUENTIAL);
}

/* A driver that is first come, first served, and re-evaluates at every change. */
static void
decide_without_path (CuratorLockDriver *driver, const char *const *children, gsize n_children,
                     const char *name, guint max_leases, CuratorPredicateResults *results,
                     gpointer data)
{
  results->gets_the_lock = strcmp (children[0], name) == 0;
}

static const CuratorLockDriverFuncs plain = { .creates_the_lock = describe_plain };
static const CuratorLockDriverFuncs lasting = { .creates_the_lock = describe_lasting };
static const CuratorLockDriverFuncs any_change = { .gets_the_lock = decide_without_path };

/* A sequential name without a GUID: given up in the queue, and while the outcome of the create is
 * unknown. */
static void
give_up_plain_node (Scene *scene, Machine *b)
{
  g_autoptr (CuratorLock) lock = machine_lock_with (scene->machines[1], SCENE_PATH, &plain, FALSE);

  AWAIT (scene, scene->held);
  scene_expect_refused (scene, lock, 100, CURATOR_ERROR_TIMED_OUT);
  AWAIT (scene, scene_n_children (scene, SCENE_PATH) == 1);

  sim_world_script (scene->world, b->process, SIM_OP_CREATE, 1, ZCONNECTIONLOSS, SIM_AFTER_EFFECT);
  scene->world->config.p_connect_fails = 1;
  scene_expect_refused (scene, lock, 1000, CURATOR_ERROR_CONNECTION_LOST);
  EXPECT (scene, scene_n_children (scene, SCENE_PATH) == 2);
  EXPECT (scene, sim_process_server (b->process) < 0);
  scene->world->config.p_connect_fails = 0;
  AWAIT (scene, scene_n_children (scene, SCENE_PATH) == 1);
  scene->over = TRUE;
}

SCENE_TEST (test_plain_node_given_up, .roles = { scene_hold_until_over, give_up_plain_node })

/* Two waiters on one client that re-evaluate at every change: the second shares the watch. */
static void
hear_of_every_change (Scene *scene, Machine *me)
{
  g_autoptr (CuratorLock) lock =
      machine_lock_with (scene->machines[1], SCENE_PATH, &any_change, FALSE);

  AWAIT (scene, scene->held);
  for (int i = 0; i < 5; i++) {
    curator_lock_acquire_then (lock, CURATOR_WAIT_FOREVER, NULL, on_answer, scene);
    sim_sleep_ms (scene->world, 20);
  }
  scene->over = TRUE;
  AWAIT (scene, scene->n_holders == 5);
}

SCENE_TEST (test_several_for_every_change, .roles = { scene_hold_until_over, hear_of_every_change },
            .check = scene_expect_no_watches)

/* A node that outlives sessions is held until the client is closed, and stays. */
static void
hold_lasting_node (Scene *scene, Machine *a)
{
  g_autoptr (CuratorLock) lock =
      machine_lock_with (scene->machines[0], SCENE_PATH, &lasting, FALSE);
  g_autoptr (CuratorLease) lease = scene_hold (scene, lock);
  EXPECT (scene, curator_lease_get_remaining_ms (lease) == G_MAXINT64);
  sim_world_strike (scene->world, SIM_FAULT_EXPIRE, a->process, 0);
  sim_sleep_ms (scene->world, 5000);
  EXPECT (scene, curator_lease_get_state (lease) == CURATOR_LEASE_STATE_HELD);
  curator_client_close (a->client);
  EXPECT (scene, curator_lease_get_state (lease) == CURATOR_LEASE_STATE_LOST);
  EXPECT (scene, curator_lease_get_remaining_ms (lease) == 0);
  EXPECT (scene, scene_n_children (scene, SCENE_PATH) == 1);
}

SCENE_TEST (test_lasting_node_at_close, .roles = { hold_lasting_node })

/* --- revocation ------------------------------------------------------------------------------- */

static void
note_revocation (CuratorLock *lock, gpointer data)
{
  ((Scene *) data)->n_refused++;
}

/* The request arrives before the holder watches its own node; a reader behind it had already set
 * that watch. */
static void
be_asked_early (Scene *scene, Machine *a)
{
  g_autoptr (CuratorRwLock) rw_lock = curator_rw_lock_new (a->client, SCENE_PATH, NULL, 0, NULL);
  CuratorLock *write_lock = curator_rw_lock_get_write_lock (rw_lock);
  g_autoptr (CuratorLease) lease = scene_hold (scene, write_lock);
  curator_lock_acquire_then (curator_rw_lock_get_read_lock (rw_lock), CURATOR_WAIT_FOREVER, NULL,
                             on_answer, scene);
  sim_sleep_ms (scene->world, 50);
  EXPECT (scene, curator_client_attempt_revoke (a->client, curator_lease_get_node_path (lease),
                                                CURATOR_WAIT_DEFAULT, NULL, NULL));
  EXPECT (scene, curator_lock_make_revocable (write_lock, note_revocation, scene, NULL, NULL));
  EXPECT (scene, curator_lock_make_revocable (write_lock, note_revocation, scene, NULL, NULL));
  AWAIT (scene, scene->n_refused == 1);
  EXPECT (scene, curator_lock_make_revocable (write_lock, NULL, NULL, NULL, NULL));
  EXPECT (scene, curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL));
  AWAIT (scene, scene->n_holders == 1);
}

SCENE_TEST (test_asked_early, .roles = { be_asked_early })

SIM_SUITE ("test_sim_corners")
