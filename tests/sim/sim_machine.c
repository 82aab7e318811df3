#include "sim_machine.h"

#include "core/client-record.h"
#include "support/suite.h"

void
good_world_free (SimWorld **world)
{
  assert_false (sim_world_failed (*world));
  sim_world_free (*world);
}

Machine *
machine_new_latent (SimWorld *world, const char *name, CuratorRetryPolicy *policy)
{
  g_autoptr (CuratorRetryPolicy) forever = curator_retry_policy_new_forever (100);
  Machine *machine = g_new0 (Machine, 1);

  machine->world = world;
  machine->process = sim_process_new (world, name);
  machine->client = curator_client_new_with_ops (
      "127.0.0.1:2181", policy != NULL ? policy : forever, sim_process_ops (machine->process));
  curator_client_set_session_timeout (machine->client, MACHINE_TIMEOUT_MS);
  sim_world_add_client (world, machine->process, machine->client);
  return machine;
}

Machine *
machine_new (SimWorld *world, const char *name)
{
  Machine *machine = machine_new_latent (world, name, NULL);
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
close_client (gpointer data)
{
  Machine *machine = data;
  curator_client_close (machine->client);
}

void
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

guint
machine_n_transactions (Machine *machine)
{
  return sim_world_n_requests (machine->world, machine->process, SIM_OP_CHECK)
         + sim_world_n_requests (machine->world, machine->process, SIM_OP_CREATE);
}
