/* Promises that a random schedule seldom puts to the test, each in a small scene of its own.
 *
 * A scene runs under many seeds. What it expects is checked on its actors' threads, where CMocka
 * cannot assert: a failed expectation fails the world. SIM_TEST=test_foreign_children runs one.
 */
#include "client/client-private.h"
#include "retry/retry_policy.h"
#include "sim.h"

#include "curator/curator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define N_SEEDS 20
#define N_MACHINES 3
#define SESSION_MS 30000
#define PATH "/sim/promise"

typedef struct
{
  SimWorld *world;
  SimProcess *process;
  CuratorClient *client;
  CuratorLock *mutex;
  gboolean closed;
} Machine;

typedef struct
{
  SimWorld *world;
  Machine machines[N_MACHINES];
  /* What the actors of a scene tell each other; the baton guards it. */
  gboolean held;
  gboolean waited;
  gboolean over;
  int n_holders;
  int n_refused;
  GString *order;
} Scene;

#define EXPECT(scene, expectation)                                                             \
  G_STMT_START                                                                                 \
  {                                                                                            \
    if (!(expectation))                                                                        \
      {                                                                                        \
        sim_world_fail ((scene)->world, "%s: not so: %s", G_STRFUNC, #expectation);            \
      }                                                                                        \
  }                                                                                            \
  G_STMT_END

/* Waits, in virtual time, for something that has to come. */
#define AWAIT(scene, expectation)                                                              \
  G_STMT_START                                                                                 \
  {                                                                                            \
    for (int wait_ms = 0; wait_ms < 120000 && !(expectation); wait_ms++)                       \
      {                                                                                        \
        sim_sleep_ms ((scene)->world, 1);                                                      \
      }                                                                                        \
    EXPECT (scene, expectation);                                                               \
  }                                                                                            \
  G_STMT_END

/* --- what a scene stands on --------------------------------------------------------------------- */

static void
machine_open (Scene *scene, int i)
{
  Machine *machine = &scene->machines[i];
  const char name[] = { (char) ('A' + i), '\0' };
  CuratorRetryPolicy *policy = curator_retry_policy_new_exponential_backoff (200, 3);

  curator_retry_policy_seed (policy, g_rand_int (sim_world_rand (scene->world)));
  machine->world = scene->world;
  machine->process = sim_process_new (scene->world, name);
  machine->client =
      curator_client_new_with_ops ("127.0.0.1:2181", policy, sim_process_ops (machine->process));
  curator_retry_policy_unref (policy);
  curator_client_set_session_timeout (machine->client, SESSION_MS);
  sim_world_add_client (scene->world, machine->process, machine->client);
  assert_true (curator_client_start (machine->client, NULL));
  machine->mutex = curator_mutex_new (machine->client, PATH, NULL);
}

static void
close_machine (gpointer data)
{
  Machine *machine = data;
  curator_client_close (machine->client);
}

/* roles[i] is what machine i does; NULL for nothing. */
static void
play (const SimActorFunc *roles, void (*look) (Scene *scene))
{
  for (guint32 seed = 0; seed < N_SEEDS; seed++)
    {
      SimConfig config;
      Scene scene = { 0 };

      sim_config_calm (&config);
      scene.world = sim_world_new (seed, &config);
      scene.order = g_string_new (NULL);
      for (int i = 0; i < N_MACHINES; i++)
        {
          machine_open (&scene, i);
        }
      for (int i = 0; i < N_MACHINES && roles[i] != NULL; i++)
        {
          sim_actor_new (scene.world, scene.machines[i].process, "role", roles[i], &scene);
        }
      sim_world_run (scene.world);
      look (&scene);
      sim_world_heal (scene.world);
      for (int i = 0; i < N_MACHINES; i++)
        {
          sim_actor_new (scene.world, scene.machines[i].process, "closer", close_machine,
                         &scene.machines[i]);
        }
      sim_world_run (scene.world);
      for (int i = 0; i < N_MACHINES; i++)
        {
          sim_world_add_client (scene.world, scene.machines[i].process, NULL);
          curator_lock_unref (scene.machines[i].mutex);
          curator_client_unref (scene.machines[i].client);
        }
      const gboolean failed = sim_world_failed (scene.world);
      sim_world_free (scene.world);
      g_string_free (scene.order, TRUE);
      assert_false (failed);
    }
}

static void
nothing_else (Scene *scene)
{
}

static gboolean
has_error (GError **error, CuratorError code)
{
  const gboolean has = g_error_matches (*error, CURATOR_ERROR, code);
  g_clear_error (error);
  return has;
}

static guint
n_children (Scene *scene, const char *path)
{
  g_auto (GStrv) children = sim_world_children (scene->world, path);
  return g_strv_length (children);
}

/* --- a connection that is gone makes a hold suspect ------------------------------------------------ */

static void
hold_over_an_outage (gpointer data)
{
  Scene *scene = data;
  Machine *a = &scene->machines[0];
  g_autoptr (CuratorLease) lease = curator_lock_acquire_lease (a->mutex, -1, NULL, NULL);

  EXPECT (scene, lease != NULL && curator_lease_get_state (lease) == CURATOR_LEASE_HELD);
  sim_world_strike (scene->world, SIM_FAULT_OUTAGE, a->process, G_USEC_PER_SEC);
  AWAIT (scene, curator_client_get_connection_state (a->client) == CURATOR_STATE_SUSPENDED);
  EXPECT (scene, curator_lease_get_state (lease) == CURATOR_LEASE_SUSPECT);
  EXPECT (scene, curator_lease_get_remaining_ms (lease) > 0);
  AWAIT (scene, curator_lease_get_state (lease) == CURATOR_LEASE_HELD);
  EXPECT (scene, curator_lease_release (lease, NULL));
}

static void
test_suspended_makes_suspect (void **state)
{
  const SimActorFunc roles[N_MACHINES] = { hold_over_an_outage };
  play (roles, nothing_else);
}

/* --- who gives up leaves no watch ------------------------------------------------------------------- */

static void
hold_until_over (gpointer data)
{
  Scene *scene = data;
  Machine *a = &scene->machines[0];
  g_autoptr (CuratorLease) lease = curator_lock_acquire_lease (a->mutex, -1, NULL, NULL);

  EXPECT (scene, lease != NULL);
  scene->held = TRUE;
  AWAIT (scene, scene->over);
}

static void
give_up_often (gpointer data)
{
  Scene *scene = data;
  Machine *b = &scene->machines[1];

  AWAIT (scene, scene->held);
  for (int i = 0; i < 5; i++)
    {
      g_autoptr (GError) error = NULL;
      EXPECT (scene, !curator_lock_acquire (b->mutex, 50, NULL, &error));
      EXPECT (scene, has_error (&error, CURATOR_ERROR_TIMED_OUT));
    }
  sim_sleep_ms (scene->world, 1000);
  EXPECT (scene, n_children (scene, PATH) == 1);
  EXPECT (scene, sim_process_server_watches (b->process) == 0);
  EXPECT (scene, sim_process_client_watches (b->process) == 0);
  scene->over = TRUE;
}

static void
test_no_watch_after_timeout (void **state)
{
  const SimActorFunc roles[N_MACHINES] = { hold_until_over, give_up_often };
  play (roles, nothing_else);
}

/* --- a waiter keeps its place ------------------------------------------------------------------------ */

static void
take_turn (Scene *scene, int i)
{
  Machine *machine = &scene->machines[i];
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLease) lease = curator_lock_acquire_lease (machine->mutex, -1, NULL, &error);

  EXPECT (scene, lease != NULL);
  g_string_append_c (scene->order, (char) ('A' + i));
  sim_sleep_ms (scene->world, 10);
}

static void
hold_until_both_wait (gpointer data)
{
  Scene *scene = data;
  g_autoptr (CuratorLease) lease =
      curator_lock_acquire_lease (scene->machines[0].mutex, -1, NULL, NULL);

  scene->held = TRUE;
  AWAIT (scene, scene->waited);
  sim_sleep_ms (scene->world, 5000);
  EXPECT (scene, n_children (scene, PATH) == 3);
}

static void
wait_first (gpointer data)
{
  Scene *scene = data;
  AWAIT (scene, scene->held);
  take_turn (scene, 1);
}

static void
wait_second (gpointer data)
{
  Scene *scene = data;
  AWAIT (scene, scene->held && n_children (scene, PATH) == 2);
  scene->waited = TRUE;
  take_turn (scene, 2);
}

static void
expect_order (Scene *scene)
{
  EXPECT (scene, strcmp (scene->order->str, "BC") == 0);
}

static void
test_waiters_keep_their_place (void **state)
{
  const SimActorFunc roles[N_MACHINES] = { hold_until_both_wait, wait_first, wait_second };
  play (roles, expect_order);
}

/* --- at the end of the counter: refused, never two -------------------------------------------------- */

static void
take_until_refused (Scene *scene, int i)
{
  for (int round = 0; round < 10; round++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (CuratorLease) lease =
          curator_lock_acquire_lease (scene->machines[i].mutex, -1, NULL, &error);

      if (lease == NULL)
        {
          EXPECT (scene, has_error (&error, CURATOR_ERROR_SEQUENCE_EXHAUSTED));
          scene->n_refused++;
          continue;
        }
      scene->n_holders++;
      EXPECT (scene, scene->n_holders == 1);
      sim_sleep_ms (scene->world, 5);
      scene->n_holders--;
    }
}

static void
reach_the_end_as_a (gpointer data)
{
  Scene *scene = data;
  EXPECT (scene, curator_lock_acquire (scene->machines[0].mutex, -1, NULL, NULL));
  EXPECT (scene, curator_lock_release (scene->machines[0].mutex, NULL));
  sim_world_set_counter (scene->world, PATH, G_MAXINT32 - 2);
  scene->held = TRUE;
  take_until_refused (scene, 0);
}

static void
reach_the_end_as_b (gpointer data)
{
  AWAIT ((Scene *) data, ((Scene *) data)->held);
  take_until_refused (data, 1);
}

static void
reach_the_end_as_c (gpointer data)
{
  AWAIT ((Scene *) data, ((Scene *) data)->held);
  take_until_refused (data, 2);
}

static void
expect_refusals (Scene *scene)
{
  EXPECT (scene, scene->n_refused > 0);
}

static void
test_end_of_the_counter (void **state)
{
  const SimActorFunc roles[N_MACHINES] = { reach_the_end_as_a, reach_the_end_as_b,
                                           reach_the_end_as_c };
  play (roles, expect_refusals);
}

/* --- what is no lock node counts for nothing ---------------------------------------------------------- */

static void
put_foreign_children (Scene *scene, const char *path)
{
  static const char *const names[] = { "notes", "lock-", "lease-12", "lease-00000000x1", "%n" };

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *child = g_strconcat (path, "/", names[i], NULL);
      EXPECT (scene, sim_world_put (scene->world, child, "", 0));
    }
}

static void
acquire_among_strangers (gpointer data)
{
  Scene *scene = data;
  Machine *a = &scene->machines[0];
  g_autoptr (CuratorSemaphore) semaphore = curator_semaphore_new (a->client, PATH "/s", 2, NULL);

  for (int round = 0; round < 2; round++)
    {
      g_autoptr (GPtrArray) leases = curator_semaphore_acquire_n (semaphore, 2, 5000, NULL, NULL);

      EXPECT (scene, leases != NULL);
      EXPECT (scene, curator_lock_acquire (a->mutex, 5000, NULL, NULL));
      curator_lock_release (a->mutex, NULL);
      if (round == 0)
        {
          put_foreign_children (scene, PATH "/s/locks");
          put_foreign_children (scene, PATH "/s/leases");
          put_foreign_children (scene, PATH);
        }
    }
}

static void
test_foreign_children (void **state)
{
  const SimActorFunc roles[N_MACHINES] = { acquire_among_strangers };
  play (roles, nothing_else);
}

/* --- a number that grows lets the next one in at once -------------------------------------------- */

static void
share_a_count (gpointer data)
{
  Scene *scene = data;
  Machine *a = &scene->machines[0];
  g_autoptr (CuratorSharedCount) count = curator_shared_count_new (a->client, PATH "/n", 1, NULL);

  EXPECT (scene, curator_shared_count_start (count, NULL));
  g_autoptr (CuratorSemaphore) semaphore =
      curator_semaphore_new_with_shared_count (a->client, PATH "/s", count, NULL);
  g_autoptr (CuratorLease) only = curator_semaphore_acquire (semaphore, -1, NULL, NULL);
  EXPECT (scene, only != NULL);
  scene->held = TRUE;
  AWAIT (scene, n_children (scene, PATH "/s/leases") == 2);
  sim_sleep_ms (scene->world, 1000);
  EXPECT (scene, !scene->over);
  EXPECT (scene, curator_shared_count_set (count, 2, NULL));
  sim_sleep_ms (scene->world, 1000);
  EXPECT (scene, scene->over);
}

static void
wait_for_a_larger_count (gpointer data)
{
  Scene *scene = data;
  Machine *b = &scene->machines[1];
  g_autoptr (CuratorSharedCount) count = curator_shared_count_new (b->client, PATH "/n", 1, NULL);

  AWAIT (scene, scene->held);
  EXPECT (scene, curator_shared_count_start (count, NULL));
  g_autoptr (CuratorSemaphore) semaphore =
      curator_semaphore_new_with_shared_count (b->client, PATH "/s", count, NULL);
  g_autoptr (CuratorLease) lease = curator_semaphore_acquire (semaphore, -1, NULL, NULL);
  EXPECT (scene, lease != NULL);
  scene->over = TRUE;
}

static void
test_more_leases_at_once (void **state)
{
  const SimActorFunc roles[N_MACHINES] = { share_a_count, wait_for_a_larger_count };
  play (roles, nothing_else);
}

/* --- a callback may block as long as it likes ------------------------------------------------------- */

static void
on_acquired_take_another (CuratorLock *lock, CuratorLease *lease, const GError *error,
                          gpointer data)
{
  Scene *scene = data;
  g_autoptr (CuratorLease) owned = lease;
  g_autoptr (CuratorLock) other =
      curator_mutex_new (scene->machines[0].client, "/sim/other", NULL);

  EXPECT (scene, owned != NULL);
  EXPECT (scene, curator_lock_acquire (other, -1, NULL, NULL));
  EXPECT (scene, curator_lock_release (other, NULL));
  scene->over = TRUE;
}

static void
acquire_with_callback (gpointer data)
{
  Scene *scene = data;
  curator_lock_acquire_async (scene->machines[0].mutex, -1, NULL, on_acquired_take_another, scene);
  AWAIT (scene, scene->over);
}

static void
test_callbacks_may_block (void **state)
{
  const SimActorFunc roles[N_MACHINES] = { acquire_with_callback };
  play (roles, nothing_else);
}

/* --- a release that cannot be confirmed ends the hold all the same ---------------------------------- */

static void
release_in_an_outage (gpointer data)
{
  Scene *scene = data;
  Machine *a = &scene->machines[0];
  g_autoptr (GError) error = NULL;

  EXPECT (scene, curator_lock_acquire (a->mutex, -1, NULL, NULL));
  sim_world_strike (scene->world, SIM_FAULT_OUTAGE, a->process, 20 * G_USEC_PER_SEC);
  AWAIT (scene, curator_client_get_connection_state (a->client) == CURATOR_STATE_SUSPENDED);
  EXPECT (scene, !curator_lock_release (a->mutex, &error));
  EXPECT (scene, has_error (&error, CURATOR_ERROR_RELEASE_PENDING));
  EXPECT (scene, !curator_lock_is_owned_by_current_thread (a->mutex));
  EXPECT (scene, !curator_lock_is_acquired_in_this_process (a->mutex));
  AWAIT (scene, n_children (scene, PATH) == 0);
  EXPECT (scene, curator_lock_acquire (a->mutex, -1, NULL, NULL));
  EXPECT (scene, curator_lock_release (a->mutex, NULL));
}

static void
test_release_in_an_outage (void **state)
{
  const SimActorFunc roles[N_MACHINES] = { release_in_an_outage };
  play (roles, nothing_else);
}

static void
swallow (const char *domain, GLogLevelFlags level, const char *message, gpointer data)
{
  if ((level & G_LOG_LEVEL_MASK) < G_LOG_LEVEL_WARNING)
    {
      g_log_default_handler (domain, level, message, data);
    }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_suspended_makes_suspect),
    cmocka_unit_test (test_no_watch_after_timeout),
    cmocka_unit_test (test_waiters_keep_their_place),
    cmocka_unit_test (test_end_of_the_counter),
    cmocka_unit_test (test_foreign_children),
    cmocka_unit_test (test_more_leases_at_once),
    cmocka_unit_test (test_callbacks_may_block),
    cmocka_unit_test (test_release_in_an_outage),
  };

  g_set_prgname ("test_sim_promises");
  g_log_set_default_handler (swallow, NULL);
  sim_pin_to_one_cpu ();
  sim_report_crashes ();
  if (g_getenv ("SIM_TEST") != NULL)
    {
      cmocka_set_test_filter (g_getenv ("SIM_TEST"));
    }
  return cmocka_run_group_tests (tests, NULL, NULL);
}
