/* What sessions that wait cost the servers, and what they are granted.
 *
 * SIM_TEST=test_rates runs one scene.
 */
#include "core/client-record.h"
#include "sim_machine.h"
#include "support/sanitized.h"
#include "support/suite.h"

#include <curator/lock_internals.h>

#include <string.h>

#define PATH        "/lock"
#define OTHER       "/other"
#define TIMEOUT_MS  MACHINE_TIMEOUT_MS
#define N_SCHEDULES 10

static SimWorld *
world_new (guint32 seed, int n_servers)
{
  SimConfig config;

  sim_config_calm (&config);
  config.n_servers = n_servers;
  config.tick_ms = 2000;
  /* Of thousands of machines. */
  config.step_limit = 100 * 1000 * 1000;
  config.time_limit_us = G_TIME_SPAN_DAY;
  return sim_world_new (seed, &config);
}

static Machine *
machine_at (SimWorld *world, const char *name)
{
  Machine *machine = machine_new (world, name);
  machine->lock = curator_mutex_new (machine->client, PATH, NULL);
  return machine;
}

static guint
n_checks (Machine *machine)
{
  return sim_world_n_requests (machine->world, machine->process, SIM_OP_CHECK);
}

static guint64
n_confirmations (Machine *machine)
{
  guint64 values[CURATOR_COUNTER_CONFIRMATIONS + 1];
  curator_client_get_counters (machine->client, values, G_N_ELEMENTS (values));
  return values[CURATOR_COUNTER_CONFIRMATIONS];
}

static guint
n_children (SimWorld *world, const char *path)
{
  g_auto (GStrv) children = sim_world_children (world, path);
  return g_strv_length (children);
}

/* The node with that number in the queue. */
static void
delete_node (SimWorld *world, int number)
{
  g_autofree char *suffix = g_strdup_printf ("lock-%010d", number);
  g_auto (GStrv) children = sim_world_children (world, PATH);

  for (guint i = 0; children[i] != NULL; i++)
    {
      if (g_str_has_suffix (children[i], suffix))
        {
          g_autofree char *path = g_strconcat (PATH "/", children[i], NULL);
          assert_true (sim_world_delete (world, path));
          return;
        }
    }
  fail_msg ("no node %d", number);
}

/* --- a session each -------------------------------------------------------------------------- */

/* One holds, the others wait, in this order. */
static GPtrArray *
queue_new (SimWorld *world, guint n)
{
  GPtrArray *machines = g_ptr_array_new_with_free_func ((GDestroyNotify) machine_free);

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = g_strdup_printf ("M%u", i);
      Machine *machine = machine_at (world, name);
      g_ptr_array_add (machines, machine);
      sim_world_run_for (world, 30);
      machine_begin_acquire (machine);
      sim_world_run_for (world, 30);
      assert_int_equal (n_children (world, PATH), i + 1);
    }
  return machines;
}

#define N_SESSIONS 50

TEST (test_rates)
{
  GOOD_WORLD world = world_new (1, 3);
  g_autoptr (GPtrArray) machines = queue_new (world, N_SESSIONS);
  guint checks[N_SESSIONS];
  guint reads[N_SESSIONS];

  sim_world_run_for (world, 2 * TIMEOUT_MS);
  for (guint i = 0; i < N_SESSIONS; i++)
    {
      Machine *machine = machines->pdata[i];
      checks[i] = n_checks (machine);
      reads[i] = sim_world_n_requests (world, machine->process, SIM_OP_EXISTS);
    }
  sim_world_run_for (world, 3 * TIMEOUT_MS);
  for (guint i = 0; i < N_SESSIONS; i++)
    {
      Machine *machine = machines->pdata[i];
      const guint n = n_checks (machine) - checks[i];
      /* The holder, the next, and the others. */
      assert_in_range (n, i == 0 ? 17 : i == 1 ? 11 : 2, i == 0 ? 19 : i == 1 ? 12 : 3);
      if (i > 1)
        {
          /* Each transaction takes the place of a read. */
          const guint n_reads =
              sim_world_n_requests (world, machine->process, SIM_OP_EXISTS) - reads[i];
          assert_in_range (n_reads + n, 9, 13);
        }
    }

  /* The next one was told when the one before it became the head: it needs no confirmation. */
  for (guint i = 0; i < 5; i++)
    {
      Machine *machine = machines->pdata[i];
      Machine *next = machines->pdata[i + 1];
      g_clear_pointer (&machine->lease, curator_lease_unref);
      sim_world_run_for (world, 20);
      assert_non_null (next->lease);
      /* Its proof is soon renewed, however old it was. */
      for (int ms = 0; ms < TIMEOUT_MS; ms += 10)
        {
          assert_int_equal (curator_lease_get_state (next->lease), CURATOR_LEASE_HELD);
          sim_world_run_for (world, 10);
        }
      assert_true (next->existed);
      assert_true (next->good_for_ms > TIMEOUT_MS / 5);
      assert_int_equal (n_confirmations (next), 0);
    }
}

/* --- an election ------------------------------------------------------------------------------ */

/* SIM_SESSIONS=1000 takes minutes. */
static guint
n_electors (void)
{
  const char *text = g_getenv ("SIM_SESSIONS");
  return text != NULL ? (guint) g_ascii_strtoull (text, NULL, 10) : IS_SANITIZED ? 50 : 150;
}

static guint
n_transactions_of_all (SimWorld *world)
{
  return sim_world_n_requests (world, NULL, SIM_OP_CHECK)
         + sim_world_n_requests (world, NULL, SIM_OP_CREATE);
}

/* All connections are lost at once, as when a leader is elected, and made again. */
TEST (test_election)
{
  const guint n_sessions = n_electors ();
  GOOD_WORLD world = world_new (2, 3);
  g_autoptr (GPtrArray) machines = queue_new (world, n_sessions);

  sim_world_run_for (world, 2 * TIMEOUT_MS);
  for (guint i = 0; i < machines->len; i++)
    {
      Machine *machine = machines->pdata[i];
      sim_world_strike (world, SIM_FAULT_OUTAGE, machine->process, TIMEOUT_MS / 4 * 1000);
    }
  sim_world_run_for (world, TIMEOUT_MS / 4);
  guint most = 0;
  const guint n_before = n_transactions_of_all (world);
  guint n = n_before;
  for (int i = 0; i < 10; i++)
    {
      sim_world_run_for (world, TIMEOUT_MS / 10);
      most = MAX (most, n_transactions_of_all (world) - n);
      n = n_transactions_of_all (world);
    }
  for (guint i = 0; i < machines->len; i++)
    {
      assert_int_equal (
          curator_client_get_connection_state (((Machine *) machines->pdata[i])->client),
          CURATOR_CONNECTION_STATE_RECONNECTED);
    }
  print_message (
      "%d sessions: %u transactions in the session timeout after the election, at most %u in a "
      "tenth of it\n",
      n_sessions, n - n_before, most);
  /* One of each, and what the holder and the next send; no tenth has three times its share. */
  assert_true (n - n_before <= n_sessions + 12);
  assert_true (most <= 3 * n_sessions / 10);
}

/* --- more than a thousand waiting nodes of one session ---------------------------------------- */

/* Two heartbeats check them. */
#define N_NODES 1100

static void
on_acquired (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  g_clear_pointer (&lease, curator_lease_unref);
}

static CuratorLock *
new_mutex (CuratorClient *client)
{
  return curator_mutex_new (client, PATH, NULL);
}

static CuratorLock *
new_reader (CuratorClient *client)
{
  g_autoptr (CuratorRwLock) pair = curator_rw_lock_new (client, PATH, NULL, 0, NULL);
  return curator_lock_ref (curator_rw_lock_get_read_lock (pair));
}

static CuratorLock *
new_writer (CuratorClient *client)
{
  g_autoptr (CuratorRwLock) pair = curator_rw_lock_new (client, PATH, NULL, 0, NULL);
  return curator_lock_ref (curator_rw_lock_get_write_lock (pair));
}

/* Any but the two in front, whose names are these. */
static void
delete_one_behind (SimWorld *world, char **front)
{
  g_auto (GStrv) children = sim_world_children (world, PATH);
  int i;
  do
    {
      i = g_rand_int_range (sim_world_rand (world), 0, N_NODES + 2);
    }
  while (g_strv_contains ((const char *const *) front, children[i]));
  g_autofree char *path = g_strconcat (PATH "/", children[i], NULL);
  assert_true (sim_world_delete (world, path));
}

static void
find_deleted_nodes (CuratorLock *(*new_held) (CuratorClient *client),
                    CuratorLock *(*new_waiting) (CuratorClient *client))
{
  GOOD_WORLD world = world_new (3, 3);
  g_autoptr (Machine) holder = machine_new (world, "A");
  g_autoptr (Machine) next = machine_new (world, "B");
  g_autoptr (Machine) waiter = machine_new (world, "C");
  gint64 longest = 0;

  holder->lock = new_held (holder->client);
  next->lock = new_held (next->client);
  waiter->lock = new_waiting (waiter->client);
  machine_acquire (holder);
  machine_begin_acquire (next);
  sim_world_run_for (world, 1000);
  g_auto (GStrv) front = sim_world_children (world, PATH);
  for (int i = 0; i < N_NODES; i++)
    {
      curator_lock_acquire_then (waiter->lock, CURATOR_WAIT_FOREVER, NULL, on_acquired, NULL);
      sim_world_run_for (world, g_rand_int_range (sim_world_rand (world), 0, 20));
    }
  sim_world_run_for (world, TIMEOUT_MS);
  const guint n_before = n_checks (waiter);
  sim_world_run_for (world, 3 * TIMEOUT_MS);
  assert_in_range (n_checks (waiter) - n_before, 4, 8);
  for (int i = 0; i < 10; i++)
    {
      delete_one_behind (world, front);
      gint64 ms = 0;
      for (; ms < 2 * TIMEOUT_MS && n_children (world, PATH) == N_NODES + 1; ms += 50)
        sim_world_run_for (world, 50);
      longest = MAX (longest, ms);
      assert_int_equal (n_children (world, PATH), N_NODES + 2);
      sim_world_run_for (world, g_rand_int_range (sim_world_rand (world), 0, TIMEOUT_MS));
    }
  print_message ("a deleted one of %d nodes was created again after %" G_GINT64_FORMAT
                 " ms at most; the session timeout is %d ms\n",
                 N_NODES, longest, TIMEOUT_MS);
}

TEST (test_deleted_nodes_are_found)
{
  find_deleted_nodes (new_mutex, new_mutex);
  find_deleted_nodes (new_writer, new_reader);
}

/* A heartbeat fails because of one node, whose attempt has ended when the others are checked. */
TEST (test_heartbeats_go_on)
{
  for (guint32 seed = 0; seed < N_SCHEDULES; seed++)
    {
      GOOD_WORLD world = world_new (seed, 3);
      G_GNUC_UNUSED g_autoptr (GPtrArray) front = queue_new (world, 2);
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      g_autoptr (Machine) waiter = machine_at (world, "W");

      sim_world_run_for (world, 100);
      curator_lock_acquire_then (waiter->lock, CURATOR_WAIT_FOREVER, cancellable, on_acquired,
                                 NULL);
      sim_world_run_for (world, TIMEOUT_MS / 3);
      curator_lock_acquire_then (waiter->lock, CURATOR_WAIT_FOREVER, NULL, on_acquired, NULL);
      sim_world_run_for (world, 100);
      delete_node (world, 2);
      const guint n = n_checks (waiter);
      for (int ms = 0; ms < TIMEOUT_MS && n_checks (waiter) == n; ms++)
        sim_world_run_for (world, 1);
      sim_world_run_for (world, 10);
      g_cancellable_cancel (cancellable);
      sim_world_run_for (world, 200);
      assert_int_equal (n_children (world, PATH), 3);
      delete_node (world, 3);
      sim_world_run_for (world, 2 * TIMEOUT_MS);
      assert_int_equal (n_children (world, PATH), 3);
    }
}

/* --- a turn without warning ------------------------------------------------------------------- */

typedef struct
{
  SimWorld *world;
  Machine *holder;
  Machine *second;
  Machine *third;
} Three;

static Three
three_new (guint32 seed)
{
  Three three = { .world = world_new (seed, 3) };
  three.holder = machine_at (three.world, "A");
  three.second = machine_at (three.world, "B");
  three.third = machine_at (three.world, "C");
  sim_process_prefer_server (three.third->process, 1);
  sim_process_prefer_server (three.second->process, 2);
  sim_process_prefer_server (three.holder->process, 2);
  sim_world_strike (three.world, SIM_FAULT_DROP, three.third->process, 0);
  sim_world_strike (three.world, SIM_FAULT_DROP, three.second->process, 0);
  sim_world_strike (three.world, SIM_FAULT_DROP, three.holder->process, 0);
  sim_world_run_for (three.world, 1000);
  machine_acquire (three.holder);
  machine_begin_acquire (three.second);
  sim_world_run_for (three.world, 100);
  return three;
}

static void
three_free (Three *three)
{
  sim_world_heal (three->world);
  machine_free (three->third);
  machine_free (three->second);
  machine_free (three->holder);
  good_world_free (&three->world);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Three, three_free)

/* The third's machine is stopped meanwhile, so that it finds all of it at once. */
static void
both_vanish (Three *three, gint64 asleep_ms)
{
  sim_world_strike (three->world, SIM_FAULT_PAUSE, three->third->process, asleep_ms * 1000);
  delete_node (three->world, 0);
  delete_node (three->world, 1);
  /* Its server learns of it. */
  sim_world_run_for (three->world, 50);
}

/* The node of the third, too. lag: its server does not know that yet. */
static void
all_vanish (Three *three, gboolean lag)
{
  both_vanish (three, 200);
  if (lag)
    sim_world_strike (three->world, SIM_FAULT_LAG, three->third->process, TIMEOUT_MS / 4 * 1000);
  delete_node (three->world, 2);
}

static void
await_answer (Three *three, gint64 patience_ms)
{
  for (gint64 ms = 0; ms < patience_ms && !three->third->answered; ms++)
    sim_world_run_for (three->world, 1);
}

/* A hold that was told is one that the servers know, and by its clock. */
static void
expect_true_hold (Three *three)
{
  if (three->third->answered)
    {
      assert_non_null (three->third->lease);
      assert_true (three->third->existed);
      assert_true (three->third->good_for_ms > 0);
    }
}

/* How long the third waits is in tenths of the session timeout, from when its proof is new to when
 * it is long too old. */
static void
vanish_with_an_old_proof (guint32 seed, int tenths, gboolean cut)
{
  g_auto (Three) three = three_new (seed);

  machine_begin_acquire (three.third);
  sim_world_run_for (three.world, TIMEOUT_MS / 10 * tenths);
  both_vanish (&three, 100);
  if (cut)
    sim_world_strike (three.world, SIM_FAULT_CUT, three.third->process, 60 * G_USEC_PER_SEC);
  await_answer (&three, TIMEOUT_MS * 2);
  expect_true_hold (&three);
  if (!cut)
    assert_non_null (three.third->lease);
}

/* The same on a machine that runs: one that wakes reconnects, which may cost it an answer. No
 * heartbeat was due so far: the list is followed by one round trip more. */
static void
vanish_and_be_confirmed_once (guint32 seed)
{
  g_auto (Three) three = three_new (seed);
  SimProcess *process = three.third->process;

  machine_begin_acquire (three.third);
  sim_world_run_for (three.world, TIMEOUT_MS * 4 / 10);
  const guint n_lists = sim_world_n_requests (three.world, process, SIM_OP_CHILDREN);
  delete_node (three.world, 0);
  delete_node (three.world, 1);
  await_answer (&three, TIMEOUT_MS);
  assert_non_null (three.third->lease);
  assert_true (three.third->existed);
  assert_int_equal (n_confirmations (three.third), 1);
  assert_int_equal (sim_world_n_requests (three.world, process, SIM_OP_CHILDREN), n_lists + 1);
}

TEST (test_old_proof)
{
  for (guint32 seed = 0; seed < N_SCHEDULES; seed++)
    {
      for (int tenths = 1; tenths < 15; tenths++)
        {
          vanish_with_an_old_proof (seed, tenths, FALSE);
          vanish_with_an_old_proof (seed, tenths, TRUE);
        }
      vanish_and_be_confirmed_once (seed);
    }
}

/* The session ends on the servers while its machine is stopped. */
TEST (test_dead_session)
{
  for (guint32 seed = 0; seed < N_SCHEDULES; seed++)
    {
      for (gint64 asleep_ms = TIMEOUT_MS / 4; asleep_ms < TIMEOUT_MS * 2;
           asleep_ms += TIMEOUT_MS / 4)
        {
          g_auto (Three) three = three_new (seed);
          machine_begin_acquire (three.third);
          sim_world_run_for (three.world, 1000 + (gint64) seed * 513);
          sim_world_strike (three.world, SIM_FAULT_PAUSE, three.third->process, asleep_ms * 1000);
          sim_world_strike (three.world, SIM_FAULT_EXPIRE, three.third->process, 0);
          both_vanish (&three, asleep_ms);
          await_answer (&three, 3 * TIMEOUT_MS);
          expect_true_hold (&three);
        }
    }
}

/* The session of the third may have newer proofs, of another hold. */
static void
vanish_with_its_node (guint32 seed, int tenths, gboolean holds_another, gboolean lag)
{
  g_auto (Three) three = three_new (seed);
  g_autoptr (CuratorLock) other = curator_mutex_new (three.third->client, OTHER, NULL);
  g_autoptr (CuratorLease) held = NULL;

  if (holds_another)
    {
      CuratorLock *waited = three.third->lock;
      three.third->lock = other;
      machine_acquire (three.third);
      held = g_steal_pointer (&three.third->lease);
      three.third->lock = waited;
    }
  machine_begin_acquire (three.third);
  sim_world_run_for (three.world, TIMEOUT_MS / 10 * tenths);
  all_vanish (&three, lag);
  await_answer (&three, TIMEOUT_MS / 2);
  expect_true_hold (&three);
}

TEST (test_node_gone)
{
  for (guint32 seed = 0; seed < N_SCHEDULES; seed++)
    {
      /* Too long ago for the create, too soon for a heartbeat. */
      vanish_with_its_node (seed, 4, FALSE, TRUE);
      vanish_with_its_node (seed, 4, TRUE, TRUE);
      for (int tenths = 1; tenths < 15; tenths++)
        vanish_with_its_node (seed, tenths, tenths % 2 == 0, FALSE);
    }
}

static void
describe_plain (CuratorLockDriver *driver, CuratorNodeRequest *request, gpointer data)
{
  curator_node_request_set_protected (request, FALSE);
}

static void
describe_third (CuratorLockDriver *driver, CuratorNodeRequest *request, gpointer data)
{
  curator_node_request_set_name (request, "lock-0000000002");
  curator_node_request_set_mode (request, CURATOR_CREATE_MODE_EPHEMERAL);
}

static CuratorLock *
lock_with (Machine *machine,
           void (*describe) (CuratorLockDriver *driver, CuratorNodeRequest *request, gpointer data))
{
  const CuratorLockDriverFuncs funcs = { .creates_the_lock = describe };
  g_autoptr (CuratorLockDriver) driver = curator_lock_driver_new (&funcs, NULL, NULL);
  curator_lock_driver_set_nothing_overtakes (driver, TRUE);
  return curator_mutex_new_with_driver (machine->client, PATH, "lock-", 1, driver, NULL);
}

/* The node of the third has no GUID in its name, and another client's has taken its place. Only its
 * czxid differs, which neither a list nor a check shows. */
static void
vanish_and_be_replaced (guint32 seed, int tenths, gboolean lag)
{
  g_auto (Three) three = three_new (seed);
  g_autoptr (Machine) other = machine_new (three.world, "D");

  other->lock = lock_with (other, describe_third);
  g_clear_pointer (&three.third->lock, curator_lock_unref);
  three.third->lock = lock_with (three.third, describe_plain);
  machine_begin_acquire (three.third);
  sim_world_run_for (three.world, TIMEOUT_MS / 10 * tenths);
  all_vanish (&three, lag);
  machine_begin_acquire (other);
  await_answer (&three, TIMEOUT_MS / 2);
  assert_non_null (other->lease);
  expect_true_hold (&three);
}

TEST (test_node_replaced)
{
  for (guint32 seed = 0; seed < N_SCHEDULES; seed++)
    {
      vanish_and_be_replaced (seed, 4, TRUE);
      for (int tenths = 1; tenths < 15; tenths++)
        vanish_and_be_replaced (seed, tenths, FALSE);
    }
}

/* --- a slow confirmation ---------------------------------------------------------------------- */

/* A turn without warning, while the leader is so slow that no answer proves anything, and the
 * policy allows no second try. */
TEST (test_slow_confirmation)
{
  for (guint32 seed = 0; seed < N_SCHEDULES; seed++)
    {
      g_autoptr (CuratorRetryPolicy) never = curator_retry_policy_new_n_times (0, 0);
      g_auto (Three) three = three_new (seed);
      g_autoptr (Machine) waiter = machine_new_latent (three.world, "D", never);

      waiter->lock = curator_mutex_new (waiter->client, PATH, NULL);
      assert_true (curator_client_start (waiter->client, NULL));
      sim_world_run_for (three.world, 1000);
      machine_begin_acquire (waiter);
      sim_world_run_for (three.world, TIMEOUT_MS * 4 / 10);
      sim_world_strike (three.world, SIM_FAULT_FREEZE, NULL, TIMEOUT_MS / 6 * 1000);
      delete_node (three.world, 0);
      delete_node (three.world, 1);
      sim_world_run_for (three.world, TIMEOUT_MS / 6 - 1);
      assert_false (waiter->answered);
      sim_world_run_for (three.world, TIMEOUT_MS);
      assert_int_equal (waiter->error, 0);
      assert_non_null (waiter->lease);
      assert_true (waiter->existed && waiter->good_for_ms > 0);
      assert_true (n_confirmations (waiter) > 1);
    }
}

SIM_SUITE ("test_sim_waiting")
