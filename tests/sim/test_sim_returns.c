/* Contenders that come back: what they know of the queue, and how often they list it. What they guess is tested by
 * test_return_guess, what they wait for by test_front.
 *
 * SIM_TEST=test_writer_that_reads_on runs one.
 */
#include "sim_scene.h"

#include "core/client-record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The numbers of a third party's nodes. A's first node has number 0, and its second one 10. */
enum
{
  FIRST_IN_FRONT = 1,
  LAST_IN_FRONT = 9,
  FIRST_BEHIND = 11,
  LAST_BEHIND = 14
};

/* As many as are behind. */
#define LONG_QUEUE 4

static const char *kind = "lock-"; /* of a third party's nodes */

static char *
nth_node (int number)
{
  return g_strdup_printf (SCENE_PATH "/%s%010d", kind, number);
}

static void
put_nodes (Scene *scene, int first, int last)
{
  for (int i = first; i <= last; i++)
    {
      g_autofree char *node = nth_node (i);
      EXPECT (scene, sim_world_put (scene->world, node, "", 0));
    }
}

static void
delete_nodes (Scene *scene, int first, int last)
{
  for (int i = first; i <= last; i++)
    {
      g_autofree char *node = nth_node (i);
      EXPECT (scene, sim_world_delete (scene->world, node));
    }
}

static guint
n_lists (Scene *scene)
{
  return sim_world_n_requests (scene->world, scene->machines[0].process, SIM_OP_CHILDREN);
}

static void
stand_around (Scene *scene)
{
  scene->machines[0].client->settings.long_queue = LONG_QUEUE;
  AWAIT (scene, scene->waited);
  put_nodes (scene, FIRST_IN_FRONT, LAST_IN_FRONT);
  scene->held = TRUE;
  AWAIT (scene, scene_n_children (scene, SCENE_PATH) == 10);
  put_nodes (scene, FIRST_BEHIND, LAST_BEHIND);
}

/* A waits behind nine nodes and before four others. It lists while eight are in front. */
static void
surround (gpointer data)
{
  Scene *scene = data;

  stand_around (scene);
  sim_sleep_ms (scene->world, 500);
  const guint before = n_lists (scene);
  delete_nodes (scene, LAST_IN_FRONT - 1, LAST_IN_FRONT - 1);
  AWAIT (scene, n_lists (scene) == before + 1);
  sim_sleep_ms (scene->world, 500);
  delete_nodes (scene, FIRST_IN_FRONT, LAST_IN_FRONT - 2);
  delete_nodes (scene, LAST_IN_FRONT, LAST_IN_FRONT);
}

static void
take_a_turn_of (Scene *scene, CuratorLock *lock)
{
  EXPECT (scene, curator_lock_acquire (lock, -1, NULL, NULL));
  EXPECT (scene, curator_lock_release (lock, 0, NULL, NULL));
  scene->waited = TRUE;
  AWAIT (scene, scene->held);
  EXPECT (scene, curator_lock_acquire (lock, -1, NULL, NULL));
  sim_sleep_ms (scene->world, 100);
  EXPECT (scene, curator_lock_release (lock, 0, NULL, NULL));
}

static void
take_a_turn (Scene *scene)
{
  take_a_turn_of (scene, scene->machines[0].mutex);
}

static void
play_return (SimActorFunc come_back, SimActorFunc others)
{
  const ScenePlay play = { .roles = { come_back, others }, .check = scene_expect_no_watches };
  scene_play (&play);
}

/* --- no list at the return, and one on the way ------------------------------------------------ */

static void
on_return (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  Scene *scene = data;
  EXPECT (scene, lease != NULL);
  g_clear_pointer (&lease, curator_lease_unref);
  scene->over = TRUE;
}

static void
come_back (gpointer data)
{
  Scene *scene = data;

  take_a_turn (scene);
  const guint before = n_lists (scene);
  curator_lock_acquire_async (scene->machines[0].mutex, -1, NULL, on_return, scene);
  sim_sleep_ms (scene->world, 500);
  EXPECT (scene, scene_n_children (scene, SCENE_PATH) == 5 && n_lists (scene) == before);
  delete_nodes (scene, FIRST_BEHIND, LAST_BEHIND - 1);
  sim_sleep_ms (scene->world, 500);
  EXPECT (scene, !scene->over);
  delete_nodes (scene, LAST_BEHIND, LAST_BEHIND);
  AWAIT (scene, scene->over);
  EXPECT (scene, n_lists (scene) == before + 1);
}

static void
test_no_list_at_the_return (void **state)
{
  play_return (come_back, surround);
}

/* --- what was known ends with the session ------------------------------------------------------- */

static void
come_back_in_another_session (gpointer data)
{
  Scene *scene = data;
  SceneMachine *a = &scene->machines[0];

  take_a_turn (scene);
  sim_world_strike (scene->world, SIM_FAULT_EXPIRE, a->process, 0);
  const gint64 session = curator_client_get_session_id (a->client);
  AWAIT (scene,
         curator_client_get_session_id (a->client) != session
             && curator_client_get_connection_state (a->client) == CURATOR_STATE_RECONNECTED);
  const guint before = n_lists (scene);
  curator_lock_acquire_async (a->mutex, -1, NULL, on_return, scene);
  sim_sleep_ms (scene->world, 500);
  EXPECT (scene, n_lists (scene) == before + 1);
  delete_nodes (scene, FIRST_BEHIND, LAST_BEHIND);
  AWAIT (scene, scene->over);
}

static void
test_known_in_its_session_only (void **state)
{
  play_return (come_back_in_another_session, surround);
}

/* --- the known node was the session's own --------------------------------------------------------- */

static GCancellable *gives_up;

static void
on_given_up (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  Scene *scene = data;
  EXPECT (scene, lease == NULL);
  scene->n_refused++;
}

/* A second node of A is the last one when A lists. */
static void
surround_with_own (gpointer data)
{
  Scene *scene = data;

  stand_around (scene);
  curator_lock_acquire_async (scene->machines[0].mutex, -1, gives_up, on_given_up, scene);
  AWAIT (scene, scene_n_children (scene, SCENE_PATH) == 15);
  sim_sleep_ms (scene->world, 500);
  delete_nodes (scene, LAST_IN_FRONT - 1, LAST_IN_FRONT - 1);
  sim_sleep_ms (scene->world, 500);
  delete_nodes (scene, FIRST_IN_FRONT, LAST_IN_FRONT - 2);
  g_cancellable_cancel (gives_up);
  AWAIT (scene, scene->n_refused == 1);
  delete_nodes (scene, LAST_IN_FRONT, LAST_IN_FRONT);
}

static void
come_back_behind_own (gpointer data)
{
  Scene *scene = data;

  g_cancellable_reset (gives_up);
  take_a_turn (scene);
  curator_lock_acquire_async (scene->machines[0].mutex, -1, NULL, on_return, scene);
  sim_sleep_ms (scene->world, 500);
  EXPECT (scene, !scene->over);
  delete_nodes (scene, FIRST_BEHIND, LAST_BEHIND);
  AWAIT (scene, scene->over);
}

static void
test_known_node_is_own (void **state)
{
  gives_up = g_cancellable_new ();
  play_return (come_back_behind_own, surround_with_own);
  g_clear_object (&gives_up);
}

/* --- the known node is a writer's, who goes on as a reader with the same number ------------------- */

static void
surround_writer (gpointer data)
{
  Scene *scene = data;

  stand_around (scene);
  sim_sleep_ms (scene->world, 500);
  delete_nodes (scene, FIRST_IN_FRONT, LAST_IN_FRONT);
}

static void
come_back_behind_reader (gpointer data)
{
  Scene *scene = data;
  g_autoptr (CuratorRwLock) rw_lock =
      curator_rw_lock_new (scene->machines[0].client, SCENE_PATH, NULL, 0, NULL);
  CuratorLock *writer = curator_rw_lock_write_lock (rw_lock);

  take_a_turn_of (scene, writer);
  const guint before = n_lists (scene);
  curator_lock_acquire_async (writer, -1, NULL, on_return, scene);
  sim_sleep_ms (scene->world, 500);
  EXPECT (scene, n_lists (scene) == before);
  delete_nodes (scene, FIRST_BEHIND, LAST_BEHIND - 1);
  kind = "__READ__";
  put_nodes (scene, LAST_BEHIND, LAST_BEHIND);
  kind = "__WRIT__";
  delete_nodes (scene, LAST_BEHIND, LAST_BEHIND);
  sim_sleep_ms (scene->world, 500);
  EXPECT (scene, !scene->over);
  kind = "__READ__";
  delete_nodes (scene, LAST_BEHIND, LAST_BEHIND);
  kind = "__WRIT__";
  AWAIT (scene, scene->over);
}

static void
test_writer_that_reads_on (void **state)
{
  kind = "__WRIT__";
  play_return (come_back_behind_reader, surround_writer);
  kind = "lock-";
}

/* --- lists for each acquisition ---------------------------------------------------------------- */

#define N_SESSIONS 64
#define N_TURNS    12
#define N_WARM_UP  4

typedef struct
{
  SimWorld *world;
  SimProcess *process;
  CuratorClient *client;
  CuratorLock *mutex;
  int *n_turns;
  guint *lists_before;
} Returner;

static void
take_turns (gpointer data)
{
  Returner *me = data;

  for (int i = 0; i < N_TURNS; i++)
    {
      g_autoptr (CuratorLease) lease = curator_lock_acquire_lease (me->mutex, -1, NULL, NULL);
      EXPECT (me, lease != NULL);
      if (++*me->n_turns == N_WARM_UP * N_SESSIONS)
        *me->lists_before = sim_world_n_requests (me->world, NULL, SIM_OP_CHILDREN);
      sim_sleep_us (me->world, g_rand_int_range (sim_world_rand (me->world), 0, 2000));
    }
}

static void
close_client (gpointer data)
{
  curator_client_close (((Returner *) data)->client);
}

static void
returner_open (Returner *me, SimWorld *world, int i)
{
  g_autofree char *name = g_strdup_printf ("%d", i);
  me->world = world;
  me->process = sim_process_new (world, name);
  me->client = curator_client_new_with_ops ("127.0.0.1:2181", NULL, sim_process_ops (me->process));
  curator_client_set_session_timeout (me->client, 30000);
  sim_world_add_client (world, me->process, me->client);
  assert_true (curator_client_start (me->client, NULL));
  me->mutex = curator_mutex_new (me->client, SCENE_PATH, NULL);
  sim_actor_new (world, me->process, "returner", take_turns, me);
}

/* After the first turns there is one list for each. */
static void
test_one_list_for_each_turn (void **state)
{
  static Returner returners[N_SESSIONS];
  SimConfig config;
  int n_turns = 0;
  guint lists_before = 0;

  sim_config_calm (&config);
  SimWorld *world = sim_world_new (1, &config);
  for (int i = 0; i < N_SESSIONS; i++)
    {
      returners[i].n_turns = &n_turns;
      returners[i].lists_before = &lists_before;
      returner_open (&returners[i], world, i);
    }
  assert_true (sim_world_run (world));
  const guint lists = sim_world_n_requests (world, NULL, SIM_OP_CHILDREN) - lists_before;
  const int turns = n_turns - N_WARM_UP * N_SESSIONS;
  print_message ("%u lists for %d turns\n", lists, turns);
  assert_int_equal (n_turns, N_TURNS * N_SESSIONS);
  assert_true (10 * (int) lists <= 11 * turns);
  for (int i = 0; i < N_SESSIONS; i++)
    sim_actor_new (world, returners[i].process, "closer", close_client, &returners[i]);
  assert_true (sim_world_run (world));
  for (int i = 0; i < N_SESSIONS; i++)
    {
      sim_world_add_client (world, returners[i].process, NULL);
      curator_lock_unref (returners[i].mutex);
      curator_client_unref (returners[i].client);
    }
  sim_world_free (world);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_no_list_at_the_return),
    cmocka_unit_test (test_known_in_its_session_only),
    cmocka_unit_test (test_known_node_is_own),
    cmocka_unit_test (test_writer_that_reads_on),
    cmocka_unit_test (test_one_list_for_each_turn),
  };

  scene_prepare ("test_sim_returns");
  return cmocka_run_group_tests (tests, NULL, NULL);
}
