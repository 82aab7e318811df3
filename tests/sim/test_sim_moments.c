/* What must hold when one thing goes wrong at one exact moment, each under many schedules.
 *
 * Two machines and one lock. Everything is asked for without waiting, by the thread that drives the
 * world; what becomes of it is written down on the lanes of the machines' clients.
 */
#include "sim.h"

#include "client/client-private.h"
#include "curator/curator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PATH "/lock"
#define TIMEOUT_MS 6000
#define N_SCHEDULES 40

typedef struct
{
  SimWorld *world;
  SimProcess *process;
  CuratorClient *client;
  CuratorLock *lock;
  CuratorLease *lease;
  gboolean answered; /* the newest acquire */
  int error;         /* its code in CURATOR_ERROR, 0 for none */
} Machine;

static SimWorld *
world_new (guint32 seed)
{
  SimConfig config;

  sim_config_calm (&config);
  config.n_servers = 1 + (int) seed % 3;
  config.tick_ms = 2000;
  return sim_world_new (seed, &config);
}

static Machine *
machine_new (SimWorld *world, const char *name)
{
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_forever (100);
  Machine *machine = g_new0 (Machine, 1);

  machine->world = world;
  machine->process = sim_process_new (world, name);
  machine->client =
      curator_client_new_with_ops ("127.0.0.1:2181", policy, sim_process_ops (machine->process));
  curator_client_set_session_timeout (machine->client, TIMEOUT_MS);
  sim_world_add_client (world, machine->process, machine->client);
  assert_true (curator_client_start (machine->client, NULL));
  return machine;
}

static void
on_acquired (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  Machine *machine = data;
  machine->answered = TRUE;
  machine->error = error != NULL ? error->code : 0;
  machine->lease = lease;
}

static void
begin_acquire (Machine *machine)
{
  machine->answered = FALSE;
  curator_lock_acquire_async (machine->lock, CURATOR_WAIT_FOREVER, NULL, on_acquired, machine);
}

static void
acquire (Machine *machine)
{
  begin_acquire (machine);
  sim_world_run_for (machine->world, 1000);
  assert_non_null (machine->lease);
}

static void
close_client (gpointer data)
{
  Machine *machine = data;
  curator_client_close (machine->client);
}

static void
machine_free (Machine *machine)
{
  g_clear_pointer (&machine->lease, curator_lease_unref);
  g_clear_pointer (&machine->lock, curator_lock_unref);
  sim_actor_new (machine->world, machine->process, "closer", close_client, machine);
  sim_world_run (machine->world);
  sim_world_run_for (machine->world, 1000);
  sim_world_add_client (machine->world, machine->process, NULL);
  curator_client_unref (machine->client);
  g_free (machine);
}

/* --- P11: an event that never comes ------------------------------------------------------------ */

typedef CuratorLock *(*NewLock) (CuratorClient *client, const char *path, GError **error);

static void
expect_grant_without_event (guint32 seed, NewLock new_lock, SimLoss where)
{
  SimWorld *world = world_new (seed);
  Machine *holder = machine_new (world, "A");
  Machine *waiter = machine_new (world, "B");

  holder->lock = new_lock (holder->client, PATH, NULL);
  waiter->lock = new_lock (waiter->client, PATH, NULL);
  acquire (holder);
  begin_acquire (waiter);
  sim_world_run_for (world, 1000);
  sim_process_lose_event (waiter->process, where);
  g_clear_pointer (&holder->lease, curator_lease_unref);
  sim_world_run_for (world, 1000);
  assert_false (sim_process_has_to_lose (waiter->process));
  assert_false (waiter->answered);

  sim_world_run_for (world, TIMEOUT_MS * 3 / 2);
  assert_non_null (waiter->lease);
  assert_int_equal (sim_process_server_watches (waiter->process), 1); /* of its own node */
  machine_free (waiter);
  machine_free (holder);
  assert_false (sim_world_failed (world));
  sim_world_free (world);
}

static void
test_p11_lost_event (void **state)
{
  static const NewLock recipes[] = { curator_mutex_new, curator_fixed_node_lock_new,
                                     curator_semaphore_mutex_new };
  static const SimLoss places[] = { SIM_LOST_AT_SERVER, SIM_LOST_IN_LIBRARY };

  for (guint32 seed = 0; seed < N_SCHEDULES; seed++)
    {
      for (gsize i = 0; i < G_N_ELEMENTS (recipes); i++)
        {
          for (gsize k = 0; k < G_N_ELEMENTS (places); k++)
            {
              expect_grant_without_event (seed, recipes[i], places[k]);
            }
        }
    }
}

/* --- P20: what the leader had not heard ---------------------------------------------------------- */

static gboolean
believes (Machine *machine)
{
  return machine->lease != NULL && curator_lease_get_remaining_ms (machine->lease) > 0;
}

/* A process that was stopped for most of the time-out goes on and takes the lock; its server has heard
 * of it again, but is cut off before it tells the leader. */
static gboolean
take_after_a_pause (guint32 seed, gint64 paused_ms)
{
  SimConfig config;
  SimWorld *world;
  Machine *a;
  Machine *b;
  gboolean lost;

  sim_config_calm (&config);
  config.n_servers = 3;
  config.tick_ms = 2000;
  config.eager = TRUE;
  world = sim_world_new (seed, &config);
  a = machine_new (world, "A");
  b = machine_new (world, "B");
  a->lock = curator_mutex_new (a->client, PATH, NULL);
  b->lock = curator_mutex_new (b->client, PATH, NULL);
  sim_process_prefer_server (a->process, 1);
  sim_process_prefer_server (b->process, 2);
  sim_world_strike (world, SIM_FAULT_DROP, a->process, 0);
  sim_world_strike (world, SIM_FAULT_DROP, b->process, 0);
  sim_world_run_for (world, 20 * 1000 + (gint64) seed * 17);

  sim_world_strike (world, SIM_FAULT_PAUSE, a->process, paused_ms * 1000);
  sim_world_run_for (world, paused_ms);
  begin_acquire (a);
  for (int ms = 0; ms < 2 * TIMEOUT_MS && a->lease == NULL; ms++)
    {
      sim_world_run_for (world, 1);
    }
  assert_non_null (a->lease);
  begin_acquire (b);
  sim_world_run_for (world, seed % 10);
  sim_world_strike (world, SIM_FAULT_CUT, a->process, 60 * G_USEC_PER_SEC);
  for (int ms = 0; ms < 2 * TIMEOUT_MS && b->lease == NULL; ms += 10)
    {
      sim_world_run_for (world, 10);
      assert_false (b->lease != NULL && believes (a));
    }
  lost = !believes (a);
  sim_world_heal (world);
  machine_free (b);
  machine_free (a);
  assert_false (sim_world_failed (world));
  sim_world_free (world);
  return lost;
}

static void
test_p20_pause_before_a_hold (void **state)
{
  guint n_lost = 0;

  for (guint32 seed = 0; seed < N_SCHEDULES; seed++)
    {
      n_lost += take_after_a_pause (seed, TIMEOUT_MS / 2 + (gint64) (seed % 5) * 600) ? 1 : 0;
    }
  assert_true (n_lost > N_SCHEDULES / 4);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_p11_lost_event),
    cmocka_unit_test (test_p20_pause_before_a_hold),
  };

  g_set_prgname ("test_sim_moments");
  sim_swallow_warnings ();
  sim_pin_to_one_cpu ();
  sim_report_crashes ();
  return cmocka_run_group_tests (tests, NULL, NULL);
}
