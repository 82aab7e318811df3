/* Nodes that others delete, and nodes that may not be read.
 *
 * SIM_TEST=test_late_descriptor runs one scene.
 */
#include "sim_scene.h"

#include <poll.h>
#include <string.h>

#define QUOTA_EXCEEDED (-125) /* libzookeeper has no name for it */

/* --- an operator deletes nodes ---------------------------------------------------------------- */

static void
delete_nodes (Scene *scene)
{
  g_auto (GStrv) children = sim_world_children (scene->world, SCENE_PATH);

  for (guint i = 0; children[i] != NULL; i++)
    EXPECT (scene, sim_world_delete (scene->world, children[i]));
}

static void
count_news (CuratorLease *lease, CuratorLeaseState state, gpointer data)
{
  Scene *scene = data;
  scene->n_refused += state == CURATOR_LEASE_STATE_LOST ? 1 : 0;
}

static gboolean
is_readable (CuratorLease *lease)
{
  struct pollfd poll_fd = { .fd = curator_lease_get_fd (lease), .events = POLLIN };
  return poll (&poll_fd, 1, 0) == 1;
}

/* A node that is held so briefly is checked by the heartbeat before it is watched. */
static void
lose_node_at_once (Scene *scene, Machine *a)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLease) lease = scene_hold (scene, a->lock);
  g_autoptr (GBytes) data_of_node =
      curator_lease_get_data (lease, CURATOR_WAIT_DEFAULT, NULL, NULL);
  EXPECT (scene, data_of_node != NULL);
  const guint listener = curator_lease_add_listener (lease, count_news, scene, NULL);
  const guint removed = curator_lease_add_listener (lease, count_news, scene, NULL);
  curator_lease_remove_listener (lease, removed);
  curator_lease_remove_listener (lease, removed);
  EXPECT (scene, !is_readable (lease));
  delete_nodes (scene);
  AWAIT (scene, curator_lease_get_state (lease) == CURATOR_LEASE_STATE_LOST);
  EXPECT (scene, curator_lease_get_remaining_ms (lease) == 0);
  EXPECT (scene, is_readable (lease));
  EXPECT (scene, curator_lease_get_data (lease, CURATOR_WAIT_DEFAULT, NULL, &error) == NULL);
  EXPECT (scene, scene_has_error (&error, CURATOR_ERROR_LOCK_LOST));
  AWAIT (scene, scene->n_refused == 1);
  curator_lease_remove_listener (lease, listener);

  /* A listener added after the loss is called, too. */
  EXPECT (scene, curator_lease_add_listener (lease, count_news, scene, NULL) != 0);
  AWAIT (scene, scene->n_refused == 2);
  EXPECT (scene, curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL));
  EXPECT (scene, curator_lease_get_state (lease) == CURATOR_LEASE_STATE_LOST);
}

SCENE_TEST (test_node_of_a_hold_deleted, .roles = { lose_node_at_once }, .session_ms = 1200)

/* The descriptor of a lost hold is readable from the start. */
static void
ask_late_for_descriptor (Scene *scene, Machine *me)
{
  g_autoptr (CuratorLease) lease =
      curator_lock_acquire_lease (me->lock, CURATOR_WAIT_FOREVER, NULL, NULL);

  EXPECT (scene, lease != NULL && curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL));
  EXPECT (scene, is_readable (lease));
  EXPECT (scene, curator_lease_get_fd (lease) == curator_lease_get_fd (lease));
}

SCENE_TEST (test_late_descriptor, .roles = { ask_late_for_descriptor })

/* A waiter learns of the deletion late, because its list is refused for a while. Other holds keep
 * their proofs. */
static void
note_any_answer (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  ((Scene *) data)->over = TRUE;
  g_clear_pointer (&lease, curator_lease_unref);
}

static void
hold_beside_a_deleted_node (Scene *scene, Machine *a)
{
  g_autoptr (CuratorLock) other = curator_mutex_new (a->client, "/sim/other", NULL);
  g_autoptr (CuratorLease) lease = scene_hold (scene, other);
  sim_world_script (scene->world, a->process, SIM_OP_CHILDREN, 0, ZTHROTTLEDOP, SIM_BEFORE_EFFECT);
  curator_lock_acquire_then (a->lock, CURATOR_WAIT_FOREVER, NULL, note_any_answer, scene);
  AWAIT (scene, scene_n_children (scene, SCENE_PATH) == 1);
  sim_sleep_ms (scene->world, 10);
  delete_nodes (scene);
  AWAIT (scene, scene->over);
  EXPECT (scene, curator_lease_get_state (lease) == CURATOR_LEASE_STATE_HELD);
  EXPECT (scene, curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL));
}

SCENE_TEST (test_late_notice_of_a_deletion, .roles = { hold_beside_a_deleted_node },
            .session_ms = 1200)

/* --- nodes that may be listed, but not read --------------------------------------------------- */

static void
take_turns (Scene *scene, Machine *me)
{
  if (me == scene->machines[0])
    sim_world_script (scene->world, NULL, SIM_OP_GET, 0, ZNOAUTH, SIM_BEFORE_EFFECT);
  for (int round = 0; round < 10; round++) {
    g_autoptr (CuratorLease) lease =
        curator_lock_acquire_lease (me->lock, CURATOR_WAIT_FOREVER, NULL, NULL);

    EXPECT (scene, lease != NULL && ++scene->n_holders == 1);
    scene->n_holders--;
    EXPECT (scene, curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL));
  }
}

SCENE_TEST (test_watched_by_exists, .roles = { take_turns, take_turns },
            .check = scene_expect_no_watches)

/* Given up while the node is being searched for again, and while its delete is in flight. */
static void
hold_about_as_long (Scene *scene, Machine *me)
{
  GRand *rand = scene->world->rand;

  scene->world->config.latency_max_us = 100 * 1000;
  for (int round = 0; round < 50; round++) {
    G_GNUC_UNUSED g_autoptr (CuratorLease) lease = scene_hold (scene, me->lock);
    sim_sleep_ms (scene->world, g_rand_int_range (rand, 1500, 3500));
    sim_world_strike (scene->world, SIM_FAULT_STALL, scene->machines[1]->process, G_USEC_PER_SEC);
  }
  scene->over = TRUE;
}

static void
give_up_about_then (Scene *scene, Machine *me)
{
  GRand *rand = scene->world->rand;

  sim_world_script (scene->world, me->process, SIM_OP_GET, 0, ZNOAUTH, SIM_BEFORE_EFFECT);
  while (!scene->over) {
    g_autoptr (CuratorLease) lease G_GNUC_UNUSED =
        curator_lock_acquire_lease (me->lock, g_rand_int_range (rand, 1900, 3500), NULL, NULL);
    sim_sleep_ms (scene->world, 10);
  }
}

SCENE_TEST (test_given_up_while_read_again, .roles = { hold_about_as_long, give_up_about_then },
            .check = scene_expect_no_watches, .session_ms = 2000)

static void
be_refused (Scene *scene, Machine *a)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) node = curator_fixed_node_lock_new (a->client, SCENE_PATH "/fixed", NULL);
  g_autoptr (CuratorLease) lease = scene_hold (scene, node);
  g_auto (GStrv) before =
      curator_lock_get_participant_nodes (node, CURATOR_WAIT_DEFAULT, NULL, NULL);
  EXPECT (scene, g_strv_length (before) == 1 && strcmp (*before, SCENE_PATH "/fixed") == 0);
  sim_world_set_noauth (scene->world, SCENE_PATH);
  EXPECT (scene,
          curator_lock_get_participant_nodes (node, CURATOR_WAIT_DEFAULT, NULL, &error) == NULL);
  EXPECT (scene, g_error_matches (error, CURATOR_ZK_ERROR, ZNOAUTH));
  g_clear_error (&error);
  EXPECT (scene,
          curator_lock_get_participant_nodes (a->lock, CURATOR_WAIT_DEFAULT, NULL, &error) == NULL);
  EXPECT (scene, g_error_matches (error, CURATOR_ZK_ERROR, ZNOAUTH));
  g_clear_error (&error);
  EXPECT (scene, curator_lease_get_data (lease, CURATOR_WAIT_DEFAULT, NULL, &error) == NULL);
  EXPECT (scene, g_error_matches (error, CURATOR_ZK_ERROR, ZNOAUTH));
  g_clear_error (&error);
  EXPECT (scene, !curator_lock_acquire (a->lock, CURATOR_WAIT_FOREVER, NULL, &error));
  EXPECT (scene, g_error_matches (error, CURATOR_ZK_ERROR, ZNOAUTH));
  sim_world_set_noauth (scene->world, NULL);
  EXPECT (scene, curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL));
  g_auto (GStrv) after =
      curator_lock_get_participant_nodes (node, CURATOR_WAIT_DEFAULT, NULL, NULL);
  EXPECT (scene, g_strv_length (after) == 0);
}

/* The server has created nothing: no search follows, and the message names the cause. */
static void
exceed_the_quota (Scene *scene, Machine *a)
{
  g_autoptr (GError) error = NULL;
  sim_world_script (scene->world, a->process, SIM_OP_CREATE, 0, QUOTA_EXCEEDED, SIM_BEFORE_EFFECT);
  EXPECT (scene, !curator_lock_acquire (a->lock, CURATOR_WAIT_FOREVER, NULL, &error));
  EXPECT (scene, g_error_matches (error, CURATOR_ZK_ERROR, QUOTA_EXCEEDED));
  EXPECT (scene, strstr (error->message, "quota") != NULL);
}

SCENE_TEST (test_quota_exceeded, .roles = { exceed_the_quota })

SCENE_TEST (test_not_authorised, .roles = { be_refused })

SIM_SUITE ("test_sim_deletions")
