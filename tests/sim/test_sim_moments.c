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
  Machine *machine = g_new0 (Machine, 1);

  machine->world = world;
  machine->process = sim_process_new (world, name);
  machine->client =
      curator_client_new_with_ops ("127.0.0.1:2181", NULL, sim_process_ops (machine->process));
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

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_p11_lost_event),
  };

  g_set_prgname ("test_sim_moments");
  sim_pin_to_one_cpu ();
  sim_report_crashes ();
  return cmocka_run_group_tests (tests, NULL, NULL);
}
