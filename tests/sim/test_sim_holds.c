/* What ends a hold, and what does not, in small scenes: a machine that slept, a node that cannot be
 * read, a pause before an entry, heartbeats that are short against the ticks. */
#include "sim_scene.h"

#include <string.h>

#define SESSION_MS 40000

static void
append_state (CuratorClient *client, CuratorConnectionState state, gpointer data)
{
  g_string_append_printf (data, "%s ", curator_connection_state_to_string (state));
}

/* --- the machine sleeps ----------------------------------------------------------------------- */

static void
note_loss (CuratorLease *lease, CuratorLeaseState state, gpointer data)
{
  Scene *scene = data;
  if (state == CURATOR_LEASE_STATE_LOST)
    scene->lost_us = scene->world->now;
}

/* Without a connection it sleeps for a part of what the hold has left, or for longer. */
static void
sleep_while_holding (Scene *scene, Machine *a)
{
  const gint64 at_us = g_rand_int_range (scene->world->rand, 0, 30) * 1000000;
  g_autoptr (CuratorLease) lease = scene_hold (scene, a->lock);

  curator_lease_add_listener (lease, note_loss, scene, NULL);
  sim_sleep_ms (scene->world, 2000);
  const gint64 end_us = scene->world->now + curator_lease_get_remaining_ms (lease) * 1000;
  sim_world_strike (scene->world, SIM_FAULT_OUTAGE, a->process, 60 * G_USEC_PER_SEC);
  /* The loss of the connection is known before. */
  sim_sleep_ms (scene->world, 1000);
  const gint64 wakes_us = scene->world->now + at_us;
  sim_world_strike (scene->world, SIM_FAULT_SUSPEND, a->process, MAX (at_us, 1));
  AWAIT (scene, scene->lost_us != 0);
  /* The time that is left is rounded down to milliseconds. */
  EXPECT (scene, scene->lost_us >= MAX (end_us, wakes_us));
  EXPECT (scene, scene->lost_us <= MAX (end_us, wakes_us) + 2000);
  EXPECT (scene, curator_lease_get_remaining_ms (lease) == 0);
}

SCENE_TEST (test_lost_on_time_after_a_sleep, .roles = { sleep_while_holding },
            .session_ms = SESSION_MS, .n_seeds = 100)

/* --- a pause before an entry ------------------------------------------------------------------ */

static void
enter_after_a_pause (Scene *scene, Machine *a)
{
  g_autoptr (GString) states = g_string_new (NULL);
  const SimFault fault = g_rand_boolean (scene->world->rand) ? SIM_FAULT_PAUSE : SIM_FAULT_SUSPEND;

  EXPECT (scene, curator_lock_acquire (a->lock, CURATOR_WAIT_FOREVER, NULL, NULL));
  const guint id = curator_client_add_state_listener (a->client, append_state, states, NULL);
  EXPECT (scene, curator_lock_acquire (a->lock, 0, NULL, NULL));
  EXPECT (scene, curator_lock_release (a->lock, CURATOR_WAIT_DEFAULT, NULL, NULL));
  sim_world_strike (scene->world, fault, a->process, (SESSION_MS - 4000) * 1000);
  sim_sleep_us (scene->world, 1);
  scene_expect_refused (scene, a->lock, 0, CURATOR_ERROR_LOCK_LOST);
  EXPECT (scene, !curator_lock_is_owned_by_current_thread (a->lock));
  curator_lock_release (a->lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
  AWAIT (scene, strstr (states->str, "LOST RECONNECTED ") != NULL);
  curator_client_remove_state_listener (a->client, id);
}

SCENE_TEST (test_no_entry_after_a_pause, .roles = { enter_after_a_pause }, .session_ms = SESSION_MS,
            .n_seeds = 100)

/* --- what ended a hold ------------------------------------------------------------------------ */

/* The session expires during the pause, and its end deletes the node. Nobody else did. */
static void
hold_over_a_long_pause (Scene *scene, Machine *a)
{
  const gint64 beyond_ms = g_rand_int_range (scene->world->rand, 1000, SESSION_MS);
  guint64 counters[CURATOR_COUNTER_LOST_CLOSED + 1];
  g_autoptr (CuratorLease) lease = scene_hold (scene, a->lock);

  /* The hold watches its node by now. */
  sim_sleep_ms (scene->world, 2000);
  sim_world_strike (scene->world, SIM_FAULT_PAUSE, a->process, (SESSION_MS + beyond_ms) * 1000);
  sim_sleep_us (scene->world, 1);
  AWAIT (scene, curator_lease_get_state (lease) == CURATOR_LEASE_STATE_LOST);
  AWAIT (scene,
         curator_client_get_connection_state (a->client) == CURATOR_CONNECTION_STATE_RECONNECTED);
  curator_client_get_counters (a->client, counters, G_N_ELEMENTS (counters));
  EXPECT (scene, counters[CURATOR_COUNTER_LOST_DELETED] == 0);
  EXPECT (scene,
          counters[CURATOR_COUNTER_LOST_CLOCK] + counters[CURATOR_COUNTER_LOST_SESSION] == 1);
}

SCENE_TEST (test_nobody_deleted_it, .roles = { hold_over_a_long_pause }, .session_ms = SESSION_MS,
            .n_seeds = 100)

/* --- a holder that hangs ---------------------------------------------------------------------- */

#define MAX_HOLD_MS 2000
/* At most, see curator_lock_set_max_hold(), and the time to notify the next one. */
#define GUARD_MS    1000
#define NOTIFIED_MS 200

static void
extend_often (Scene *scene, CuratorLease *lease)
{
  GRand *random = scene->world->rand;
  const int n = g_rand_int_range (random, 0, 6);

  for (int i = 0; i < n; i++) {
    const int ms = g_rand_int_range (random, 0, 2 * MAX_HOLD_MS);
    sim_sleep_ms (scene->world, g_rand_int_range (random, 0, MAX_HOLD_MS));
    const gint64 ends_us = scene->world->now + ms * 1000;
    if (!curator_lease_extend (lease, ms, NULL)) {
      EXPECT (scene, scene->world->now > scene->ends_us - 1000);
      return;
    }
    scene->ends_us = MAX (scene->ends_us, ends_us);
    EXPECT (scene, curator_lease_get_remaining_ms (lease) >= ms - 1);
  }
}

/* Holds another lock, too, which goes on. */
static void
hang_while_holding (Scene *scene, Machine *a)
{
  g_autoptr (CuratorLock) lock = curator_mutex_new (a->client, "/sim/other", NULL);
  g_autoptr (CuratorLease) other = scene_hold (scene, lock);

  curator_lock_set_max_hold (a->lock, MAX_HOLD_MS);
  g_autoptr (CuratorLease) lease = scene_hold (scene, a->lock);
  scene->ends_us = scene->world->now + MAX_HOLD_MS * 1000 - NOTIFIED_MS * 1000;
  curator_lease_add_listener (lease, note_loss, scene, NULL);
  scene->held = TRUE;
  extend_often (scene, lease);
  AWAIT (scene, scene->over);
  EXPECT (scene, curator_lease_get_state (lease) == CURATOR_LEASE_STATE_LOST);
  EXPECT (scene, curator_lease_get_state (other) == CURATOR_LEASE_STATE_HELD);
  sim_sleep_ms (scene->world, 2 * SESSION_MS);
  EXPECT (scene, curator_lease_get_state (other) == CURATOR_LEASE_STATE_HELD);
}

static void
be_granted_next (Scene *scene, Machine *me)
{
  AWAIT (scene, scene->held);
  CuratorLease *lease = scene_hold (scene, me->lock);
  const gint64 now = scene->world->now;
  EXPECT (scene, scene->lost_us >= scene->ends_us);
  EXPECT (scene, now >= scene->lost_us + GUARD_MS * 1000);
  EXPECT (scene, now <= scene->lost_us + (GUARD_MS + NOTIFIED_MS) * 1000);
  curator_lease_unref (lease);
  scene->over = TRUE;
}

SCENE_TEST (test_maximum_of_a_hold, .roles = { hang_while_holding, be_granted_next },
            .session_ms = SESSION_MS, .n_seeds = 200)

/* --- nodes that cannot be read ---------------------------------------------------------------- */

#define N_OTHERS 3

static void
hold_unreadable (Scene *scene, Machine *a)
{
  const int n_others = g_rand_int_range (scene->world->rand, 0, N_OTHERS + 1);
  CuratorLease *others[N_OTHERS];
  g_autoptr (CuratorLease) lease = scene_hold (scene, a->lock);
  const char *path = curator_lease_get_node_path (lease);

  for (int i = 0; i < n_others; i++) {
    g_autofree char *other = g_strdup_printf ("/sim/other%d", i);
    g_autoptr (CuratorLock) lock = curator_mutex_new (a->client, other, NULL);
    others[i] = scene_hold (scene, lock);
  }
  sim_world_set_unreadable (scene->world, path, g_rand_boolean (scene->world->rand));
  for (int ms = 0; ms < 3 * SESSION_MS; ms += 100) {
    sim_sleep_ms (scene->world, 100);
    EXPECT (scene, curator_lease_get_state (lease) == CURATOR_LEASE_STATE_HELD);
    for (int i = 0; i < n_others; i++)
      EXPECT (scene, curator_lease_get_state (others[i]) == CURATOR_LEASE_STATE_HELD);
  }
  EXPECT (scene, sim_world_delete (scene->world, path));
  sim_sleep_ms (scene->world, SESSION_MS / 6 + 1000);
  EXPECT (scene, curator_lease_get_state (lease) == CURATOR_LEASE_STATE_LOST);
  for (int i = 0; i < n_others; i++) {
    EXPECT (scene, curator_lease_get_state (others[i]) == CURATOR_LEASE_STATE_HELD);
    curator_lease_unref (others[i]);
  }
  sim_world_set_unreadable (scene->world, NULL, FALSE);
}

/* Who waits behind it is told of its end, or asks until there is none. */
static void
hold_unseen (Scene *scene, Machine *me)
{
  CuratorLease *lease = scene_hold (scene, me->lock);

  sim_world_set_unreadable (scene->world, curator_lease_get_node_path (lease),
                            g_rand_boolean (scene->world->rand));
  scene->held = TRUE;
  AWAIT (scene, scene_n_children (scene, SCENE_PATH) == 2);
  sim_sleep_ms (scene->world, 3000);
  scene->over = TRUE;
  EXPECT (scene, curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL));
  curator_lease_unref (lease);
}

static void
wait_behind_it (Scene *scene, Machine *me)
{
  AWAIT (scene, scene->held);
  g_autoptr (CuratorLease) lease = scene_hold (scene, me->lock);
  assert_non_null (lease);
  EXPECT (scene, scene->over);
}

SCENE_TEST (test_waiting_behind_an_unreadable_node, .roles = { hold_unseen, wait_behind_it },
            .check = scene_expect_no_watches, .session_ms = SESSION_MS, .n_seeds = 100)

SCENE_TEST (test_unreadable_node, .roles = { hold_unreadable }, .session_ms = SESSION_MS)

/* --- short heartbeats and many requests ------------------------------------------------------- */

static void
read_busily (gpointer data)
{
  Scene *scene = data;
  Machine *a = scene->machines[0];
  AWAIT (scene, scene->held);
  while (!scene->over) {
    G_GNUC_UNUSED g_auto (GStrv) nodes =
        curator_lock_get_participant_nodes (a->lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
    sim_sleep_us (scene->world, g_rand_int_range (scene->world->rand, 1, 100000));
  }
}

static void
hold_busily (Scene *scene, Machine *a)
{
  g_autoptr (CuratorLease) lease = scene_hold (scene, a->lock);

  for (int i = 0; i < 4; i++)
    sim_actor_new (scene->world, a->process, "reader", read_busily, scene);
  scene->held = TRUE;
  for (int ms = 0; ms < 2 * SESSION_MS; ms += 50) {
    sim_sleep_ms (scene->world, 50);
    EXPECT (scene, curator_lease_get_state (lease) == CURATOR_LEASE_STATE_HELD);
  }
  scene->over = TRUE;
}

TEST (test_short_heartbeats)
{
  static const gint64 intervals_ms[] = { 100, 130, 250, 1000 };
  static const gint64 ticks_ms[] = { 250, 1000, 2000 };

  for (gsize i = 0; i < G_N_ELEMENTS (intervals_ms); i++) {
    for (gsize k = 0; k < G_N_ELEMENTS (ticks_ms); k++) {
      const ScenePlay play = { .roles = { hold_busily },
                               .session_ms = SESSION_MS,
                               .heartbeat_ms = intervals_ms[i],
                               .server_tick_ms = ticks_ms[k],
                               .n_seeds = 1 };
      scene_play (&play);
    }
  }
}

SIM_SUITE ("test_sim_holds")
