/* Properties that must hold when one fault occurs at one exact moment, each under many schedules.
 *
 * Two machines and one lock.
 */
#include "sim_machine.h"

#include <string.h>

#define PATH        "/lock"
#define TIMEOUT_MS  MACHINE_TIMEOUT_MS
#define N_SCHEDULES 40

static SimWorld *
world_new (guint32 seed)
{
  return sim_world_new_calm (seed, 1 + (int) seed % 3);
}

/* --- P11: a lost watch event ------------------------------------------------------------------ */

typedef CuratorLock *(*NewLock) (CuratorClient *client, const char *path, GError **error);

static void
expect_grant_without_event (guint32 seed, NewLock new_lock, SimLoss where)
{
  GOOD_WORLD world = world_new (seed);
  g_autoptr (Machine) holder = machine_new (world, "A");
  g_autoptr (Machine) waiter = machine_new (world, "B");

  holder->lock = new_lock (holder->client, PATH, NULL);
  waiter->lock = new_lock (waiter->client, PATH, NULL);
  machine_acquire (holder);
  machine_begin_acquire (waiter);
  sim_world_run_for (world, 1000);
  waiter->process->to_lose = where;
  g_clear_pointer (&holder->lease, curator_lease_unref);
  sim_world_run_for (world, 1000);
  assert_false (waiter->process->to_lose != SIM_LOST_NOWHERE);
  assert_false (waiter->answered);

  sim_world_run_for (world, TIMEOUT_MS * 3 / 2);
  assert_non_null (waiter->lease);
  assert_int_equal (sim_process_server_watches (waiter->process), 1); /* of its own node */
}

TEST (test_p11_lost_event)
{
  static const NewLock recipes[] = { curator_mutex_new, curator_fixed_node_lock_new,
                                     curator_semaphore_mutex_new };
  static const SimLoss places[] = { SIM_LOST_AT_SERVER, SIM_LOST_IN_LIBRARY };

  for (guint32 seed = 0; seed < N_SCHEDULES; seed++) {
    for (gsize i = 0; i < G_N_ELEMENTS (recipes); i++)
      for (gsize k = 0; k < G_N_ELEMENTS (places); k++)
        expect_grant_without_event (seed, recipes[i], places[k]);
  }
}

/* --- P20: heartbeats that never reached the leader -------------------------------------------- */

/* A process that was stopped for most of the session timeout resumes and acquires the lock. Its
 * server hears from it again, but is cut off before it reports that to the leader. */
static gboolean
take_after_a_pause (guint32 seed, gint64 paused_ms)
{
  GOOD_WORLD world = sim_world_new_calm (seed, 3);
  g_autoptr (Machine) a = machine_new_at (world, "A", PATH);
  g_autoptr (Machine) b = machine_new_at (world, "B", PATH);

  world->config.eager = TRUE;
  sim_process_move (a->process, 1);
  sim_process_move (b->process, 2);
  sim_world_run_for (world, 20 * 1000 + (gint64) seed * 17);

  sim_world_strike (world, SIM_FAULT_PAUSE, a->process, paused_ms * 1000);
  sim_world_run_for (world, paused_ms);
  machine_begin_acquire (a);
  RUN_UNTIL (world, a->lease != NULL, 2 * TIMEOUT_MS);
  assert_non_null (a->lease);
  machine_begin_acquire (b);
  sim_world_run_for (world, seed % 10);
  sim_world_strike (world, SIM_FAULT_CUT, a->process, 60 * G_USEC_PER_SEC);
  for (int ms = 0; ms < 2 * TIMEOUT_MS && b->lease == NULL; ms += 10) {
    sim_world_run_for (world, 10);
    assert_false (b->lease != NULL && curator_lease_get_remaining_ms (a->lease) > 0);
  }
  const gboolean lost = curator_lease_get_remaining_ms (a->lease) == 0;
  sim_world_heal (world);
  return lost;
}

TEST (test_p20_pause_before_a_hold)
{
  guint n_lost = 0;

  for (guint32 seed = 0; seed < N_SCHEDULES; seed++)
    n_lost += take_after_a_pause (seed, TIMEOUT_MS / 2 + (gint64) (seed % 5) * 600) ? 1 : 0;
  assert_true (n_lost > N_SCHEDULES / 4);
}

/* --- P14: a slow callback --------------------------------------------------------------------- */

#define SLEEP_MS (30 * 1000)

typedef struct
{
  Machine *machine;
  gboolean asleep;
  gboolean awake;
  gint64 lost_at; /* states that the lease's listener received */
  gint64 gone_at; /* states that the connection's listener received */
  GString *states;
} Sleeper;

static void
note_lease (CuratorLease *lease, CuratorLeaseState state, gpointer data)
{
  Sleeper *sleeper = data;

  g_string_append_printf (sleeper->states, "%s ", curator_lease_state_to_string (state));
  if (state == CURATOR_LEASE_STATE_LOST)
    sleeper->lost_at = sleeper->machine->world->now;
}

static void
note_connection (CuratorClient *client, CuratorConnectionState state, gpointer data)
{
  Sleeper *sleeper = data;

  if (state == CURATOR_CONNECTION_STATE_LOST && sleeper->gone_at == 0)
    sleeper->gone_at = sleeper->machine->world->now;
}

static void
sleep_long (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  Sleeper *sleeper = data;

  sleeper->machine->lease = lease;
  curator_lease_add_listener (lease, note_lease, sleeper, NULL);
  sleeper->asleep = TRUE;
  sim_sleep_ms (sleeper->machine->world, SLEEP_MS);
  sleeper->awake = TRUE;
}

/* The servers become unreachable, or expire the session. */
static void
lose_session_under_sleeper (guint32 seed, SimFault fault)
{
  GOOD_WORLD world = world_new (seed);
  g_autoptr (Machine) machine = machine_new (world, "A");
  Sleeper sleeper = { .machine = machine, .states = g_string_new (NULL) };

  machine->lock = curator_mutex_new (machine->client, PATH, NULL);
  curator_client_add_state_listener (machine->client, note_connection, &sleeper, NULL);
  curator_lock_acquire_then (machine->lock, CURATOR_WAIT_FOREVER, NULL, sleep_long, &sleeper);
  sim_world_run_for (world, 1000 + seed * 50);
  assert_true (sleeper.asleep);
  gint64 struck_at = world->now;
  sim_world_strike (world, fault, machine->process, SLEEP_MS * 1000);
  sim_world_run_for (world, 2 * TIMEOUT_MS);
  assert_false (sleeper.awake);
  assert_in_range (sleeper.lost_at, struck_at, struck_at + TIMEOUT_MS * 1000);
  assert_in_range (sleeper.gone_at, struck_at, struck_at + (TIMEOUT_MS + 1000) * 1000);
  assert_string_equal (sleeper.states->str,
                       fault == SIM_FAULT_EXPIRE && strstr (sleeper.states->str, "SUSPECT") == NULL
                           ? "LOST "
                           : "SUSPECT LOST ");
  sim_world_run_for (world, SLEEP_MS);
  assert_true (sleeper.awake);
  g_string_free (sleeper.states, TRUE);
}

TEST (test_p14_callback_sleeps)
{
  for (guint32 seed = 0; seed < N_SCHEDULES; seed++) {
    lose_session_under_sleeper (seed, SIM_FAULT_OUTAGE);
    lose_session_under_sleeper (seed, SIM_FAULT_EXPIRE);
  }
}

/* --- P22: a grant needs a proof newer than the wake-up ---------------------------------------- */

/* The holder releases while the waiter's machine is suspended. The waiter's server applies the
 * delete and is cut off then. */
static gboolean
wake_up_late (guint32 seed, gint64 asleep_ms, gboolean cut)
{
  GOOD_WORLD world = sim_world_new_calm (seed, 3);
  g_autoptr (Machine) holder = machine_new_at (world, "A", PATH);
  g_autoptr (Machine) waiter = machine_new_at (world, "B", PATH);

  world->config.eager = TRUE;
  sim_process_move (waiter->process, 1);
  sim_process_move (holder->process, 2);
  sim_world_run_for (world, 1000);
  machine_acquire (holder);
  machine_begin_acquire (waiter);
  sim_world_run_for (world, 10000 + (gint64) seed * 13);

  const guint n_before = sim_world_n_transactions (world, waiter->process);
  sim_world_strike (world, SIM_FAULT_SUSPEND, waiter->process, asleep_ms * 1000);
  g_clear_pointer (&holder->lease, curator_lease_unref);
  sim_world_run_for (world, 500);
  if (cut)
    sim_world_strike (world, SIM_FAULT_CUT, waiter->process, 60 * G_USEC_PER_SEC);
  RUN_UNTIL (world, waiter->answered, asleep_ms + 2 * TIMEOUT_MS);
  const gboolean granted = waiter->answered;
  if (granted) {
    assert_non_null (waiter->lease);
    assert_true (waiter->good_for_ms > 0);
    assert_true (sim_world_exists (world, curator_lease_get_node_path (waiter->lease)));
    assert_true (sim_world_n_transactions (world, waiter->process) > n_before);
  }
  sim_world_heal (world);
  return granted;
}

TEST (test_p22_stale_clock)
{
  static const gint64 tenths[] = { 5, 7, 9, 12, 20 };
  guint n_granted = 0;

  for (guint32 seed = 0; seed < N_SCHEDULES; seed++) {
    for (gsize i = 0; i < G_N_ELEMENTS (tenths); i++) {
      assert_true (wake_up_late (seed, TIMEOUT_MS / 10 * tenths[i], FALSE));
      n_granted += wake_up_late (seed, TIMEOUT_MS / 10 * tenths[i], TRUE) ? 1 : 0;
    }
  }
  assert_true (n_granted > 0);
}

/* --- settings --------------------------------------------------------------------------------- */

typedef struct
{
  gint64 tick_ms;
  gint64 heartbeat_ms;
  gint64 usable_ms; /* of a hold, right after the grant */
  guint n_warnings;
  guint n_beats; /* in ten seconds of idling */
} Setting;

/* The session timeout is 6 s. */
static void
expect_setting (const Setting *setting)
{
  GOOD_WORLD world = world_new (0);
  g_autoptr (Machine) machine = machine_new_latent (world, "A", NULL);

  if (setting->tick_ms != 0)
    curator_client_set_server_tick (machine->client, setting->tick_ms);
  if (setting->heartbeat_ms != 0)
    curator_client_set_heartbeat_interval (machine->client, setting->heartbeat_ms);
  sim_n_warnings = 0;
  assert_true (curator_client_start (machine->client, NULL));
  machine->lock = curator_mutex_new (machine->client, PATH, NULL);
  machine_begin_acquire (machine);
  RUN_UNTIL (world, machine->lease != NULL, 1000);
  assert_int_equal (sim_n_warnings, setting->n_warnings);
  assert_int_equal (machine->lease != NULL, setting->usable_ms > 0);
  if (machine->lease != NULL) {
    assert_in_range (curator_lease_get_remaining_ms (machine->lease), setting->usable_ms - 20,
                     setting->usable_ms);
    sim_world_run_for (world, 10 * 1000);
    const guint n_before = sim_world_n_requests (world, machine->process, SIM_OP_CHECK);
    sim_world_run_for (world, 10 * 1000);
    assert_in_range (sim_world_n_requests (world, machine->process, SIM_OP_CHECK) - n_before,
                     setting->n_beats - 1, setting->n_beats + 1);
    assert_int_equal (curator_lease_get_state (machine->lease), CURATOR_LEASE_STATE_HELD);
  }
}

TEST (test_tick_and_heartbeat)
{
  /* 6 s minus a heartbeat, half a tick, a tenth and a hundredth. */
  static const Setting settings[] = {
    { 0, 0, 6000 - 1000 - 1000 - 660, 0, 10 },
    { 2000, 0, 6000 - 1000 - 1000 - 660, 0, 10 },
    { 500, 0, 6000 - 1000 - 250 - 660, 0, 10 },
    { 0, 250, 6000 - 250 - 1000 - 660, 0, 40 },
    { 0, 60000, 6000 - 1500 - 1000 - 660, 0, 7 },
    { 3400, 0, 6000 - 1000 - 1700 - 660, 0, 10 },
    { 10000, 0, 0, 1, 0 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (settings); i++)
    expect_setting (&settings[i]);
}

SIM_SUITE ("test_sim_moments")
