#include "sim_machine.h"

#include "core/client-record.h"
#include "retry/retry_policy.h"

void
good_world_free (SimWorld **world)
{
  assert_null ((*world)->failure);
  sim_world_free (*world);
}

CuratorClient *
sim_client_new (SimProcess *process, CuratorRetryPolicy *policy, gint64 session_ms)
{
  if (policy == NULL) {
    policy = curator_retry_policy_new_exponential_backoff (200, 3);
    curator_retry_policy_seed (policy, g_rand_int (process->world->rand));
  }
  process->client = curator_client_new_with_ops ("127.0.0.1:2181", policy, &process->ops);
  curator_retry_policy_unref (policy);
  curator_client_set_session_timeout (process->client, session_ms);
  return process->client;
}

Machine *
machine_new_latent (SimWorld *world, const char *name, CuratorRetryPolicy *policy)
{
  Machine *machine = g_new0 (Machine, 1);

  machine->world = world;
  machine->process = sim_process_new (world, name);
  machine->client = sim_client_new (machine->process, policy, MACHINE_TIMEOUT_MS);
  return machine;
}

Machine *
machine_new (SimWorld *world, const char *name)
{
  Machine *machine = machine_new_latent (world, name, curator_retry_policy_new_forever (100));

  assert_true (curator_client_start (machine->client, NULL));
  return machine;
}

Machine *
machine_new_at (SimWorld *world, const char *name, const char *path)
{
  Machine *machine = machine_new (world, name);

  machine->lock = curator_mutex_new (machine->client, path, NULL);
  return machine;
}

CuratorLock *
machine_lock_with (Machine *machine, const char *path, const CuratorLockDriverFuncs *funcs,
                   gboolean nothing_overtakes)
{
  g_autoptr (CuratorLockDriver) driver = curator_lock_driver_new (funcs, NULL, NULL);

  curator_lock_driver_set_nothing_overtakes (driver, nothing_overtakes);
  return curator_mutex_new_with_driver (machine->client, path, "lock-", 1, driver, NULL);
}

static void
on_acquired (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  Machine *machine = data;
  machine->answered = TRUE;
  machine->error = error != NULL ? error->code : 0;
  machine->lease = lease;
  machine->good_for_ms = lease != NULL ? curator_lease_get_remaining_ms (lease) : 0;
  machine->existed =
      lease != NULL
      && (guint64) sim_world_czxid (machine->world, curator_lease_get_node_path (lease))
             == curator_lease_get_fencing_token (lease);
}

void
machine_begin_acquire (Machine *machine)
{
  machine->answered = FALSE;
  curator_lock_acquire_then (machine->lock, CURATOR_WAIT_FOREVER, NULL, on_acquired, machine);
}

void
machine_acquire (Machine *machine)
{
  machine_begin_acquire (machine);
  sim_world_run_for (machine->world, 1000);
  assert_non_null (machine->lease);
}

static void
close_client (gpointer client)
{
  curator_client_close (client);
}

void
machine_free (Machine *machine)
{
  g_clear_pointer (&machine->lease, curator_lease_unref);
  g_clear_pointer (&machine->lock, curator_lock_unref);
  sim_actor_new (machine->world, machine->process, "closer", close_client, machine->client);
  sim_world_run (machine->world);
  sim_world_run_for (machine->world, 1000);
  machine->process->client = NULL;
  curator_client_unref (machine->client);
  g_free (machine);
}

guint
sim_world_n_transactions (SimWorld *world, SimProcess *process)
{
  return sim_world_n_requests (world, process, SIM_OP_CHECK)
         + sim_world_n_requests (world, process, SIM_OP_CREATE);
}
