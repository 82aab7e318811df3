/* What sessions that wait cost the servers, and what they are granted.
 *
 * SIM_TEST=test_rates runs one scene.
 */
#include "core/client-record.h"
#include "sim_machine.h"
#include "support/sanitized.h"

#include <string.h>

#define PATH        "/lock"
#define OTHER       "/other"
#define TIMEOUT_MS  MACHINE_TIMEOUT_MS
#define TENTH_MS    (TIMEOUT_MS / 10)
#define N_SCHEDULES 10

static SimWorld *
world_new (guint32 seed)
{
  SimWorld *world = sim_world_new_calm (seed, 3);

  /* Of thousands of machines. */
  world->config.step_limit = 100 * 1000 * 1000;
  world->config.time_limit_us = G_TIME_SPAN_DAY;
  return world;
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
  guint i = 0;

  while (!g_str_has_suffix (children[i], suffix))
    i++;
  assert_true (sim_world_delete (world, children[i]));
}

/* --- a session each -------------------------------------------------------------------------- */

/* One holds, the others wait, in this order. */
static GPtrArray *
queue_new (SimWorld *world, guint n)
{
  GPtrArray *machines = g_ptr_array_new_with_free_func ((GDestroyNotify) machine_free);

  for (guint i = 0; i < n; i++) {
    g_autofree char *name = g_strdup_printf ("M%u", i);
    Machine *machine = machine_new_at (world, name, PATH);
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
  GOOD_WORLD world = world_new (1);
  g_autoptr (GPtrArray) machines = queue_new (world, N_SESSIONS);
  guint checks[N_SESSIONS];
  guint reads[N_SESSIONS];

  sim_world_run_for (world, 2 * TIMEOUT_MS);
  for (guint i = 0; i < N_SESSIONS; i++) {
    Machine *machine = machines->pdata[i];
    checks[i] = n_checks (machine);
    reads[i] = sim_world_n_requests (world, machine->process, SIM_OP_EXISTS);
  }
  sim_world_run_for (world, 3 * TIMEOUT_MS);
  for (guint i = 0; i < N_SESSIONS; i++) {
    Machine *machine = machines->pdata[i];
    const guint n = n_checks (machine) - checks[i];
    /* The holder, the next, and the others. */
    assert_in_range (n, i == 0 ? 17 : i == 1 ? 11 : 2, i == 0 ? 19 : i == 1 ? 12 : 3);
    if (i > 1) {
      /* Each transaction takes the place of a read. */
      const guint n_reads =
          sim_world_n_requests (world, machine->process, SIM_OP_EXISTS) - reads[i];
      assert_in_range (n_reads + n, 9, 13);
    }
  }

  /* The next one was told when the one before it became the head: it needs no confirmation. */
  for (guint i = 0; i < 5; i++) {
    Machine *machine = machines->pdata[i];
    Machine *next = machines->pdata[i + 1];
    g_clear_pointer (&machine->lease, curator_lease_unref);
    sim_world_run_for (world, 20);
    assert_non_null (next->lease);
    /* Its proof is soon renewed, however old it was. */
    for (int ms = 0; ms < TIMEOUT_MS; ms += 10) {
      assert_int_equal (curator_lease_get_state (next->lease), CURATOR_LEASE_STATE_HELD);
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

/* All connections are lost at once, as when a leader is elected, and made again. */
TEST (test_election)
{
  const guint n_sessions = n_electors ();
  GOOD_WORLD world = world_new (2);
  g_autoptr (GPtrArray) machines = queue_new (world, n_sessions);

  sim_world_run_for (world, 2 * TIMEOUT_MS);
  for (guint i = 0; i < machines->len; i++) {
    Machine *machine = machines->pdata[i];
    sim_world_strike (world, SIM_FAULT_OUTAGE, machine->process, TIMEOUT_MS / 4 * 1000);
  }
  sim_world_run_for (world, TIMEOUT_MS / 4);
  guint most = 0;
  const guint n_before = sim_world_n_transactions (world, NULL);
  guint n = n_before;
  for (int i = 0; i < 10; i++) {
    sim_world_run_for (world, TIMEOUT_MS / 10);
    most = MAX (most, sim_world_n_transactions (world, NULL) - n);
    n = sim_world_n_transactions (world, NULL);
  }
  for (guint i = 0; i < machines->len; i++) {
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
  do {
    i = g_rand_int_range (world->rand, 0, N_NODES + 2);
  } while (g_strv_contains ((const char *const *) front, children[i]));
  assert_true (sim_world_delete (world, children[i]));
}

static void
find_deleted_nodes (CuratorLock *(*new_held) (CuratorClient *client),
                    CuratorLock *(*new_waiting) (CuratorClient *client))
{
  GOOD_WORLD world = world_new (3);
  g_autoptr (Machine) holder = machine_new (world, "A");
  g_autoptr (Machine) next = machine_new (world, "B");
  g_autoptr (Machine) waiter = machine_new (world, "C");

  holder->lock = new_held (holder->client);
  next->lock = new_held (next->client);
  waiter->lock = new_waiting (waiter->client);
  machine_acquire (holder);
  machine_begin_acquire (next);
  sim_world_run_for (world, 1000);
  g_auto (GStrv) front = sim_world_children (world, PATH);
  for (int i = 0; i < N_NODES; i++) {
    curator_lock_acquire_then (waiter->lock, CURATOR_WAIT_FOREVER, NULL, on_acquired, NULL);
    sim_world_run_for (world, g_rand_int_range (world->rand, 0, 20));
  }
  sim_world_run_for (world, TIMEOUT_MS);
  const guint n_before = n_checks (waiter);
  sim_world_run_for (world, 3 * TIMEOUT_MS);
  assert_in_range (n_checks (waiter) - n_before, 4, 8);
  for (int i = 0; i < 10; i++) {
    delete_one_behind (world, front);
    for (int ms = 0; ms < 2 * TIMEOUT_MS && n_children (world, PATH) == N_NODES + 1; ms += 50)
      sim_world_run_for (world, 50);
    assert_int_equal (n_children (world, PATH), N_NODES + 2);
    sim_world_run_for (world, g_rand_int_range (world->rand, 0, TIMEOUT_MS));
  }
}

TEST (test_deleted_nodes_are_found)
{
  find_deleted_nodes (new_mutex, new_mutex);
  find_deleted_nodes (new_writer, new_reader);
}

/* A heartbeat fails because of one node, whose attempt has ended when the others are checked. */
TEST (test_heartbeats_go_on)
{
  for (guint32 seed = 0; seed < N_SCHEDULES; seed++) {
    GOOD_WORLD world = world_new (seed);
    G_GNUC_UNUSED g_autoptr (GPtrArray) front = queue_new (world, 2);
    g_autoptr (GCancellable) cancellable = g_cancellable_new ();
    g_autoptr (Machine) waiter = machine_new_at (world, "W", PATH);

    sim_world_run_for (world, 100);
    curator_lock_acquire_then (waiter->lock, CURATOR_WAIT_FOREVER, cancellable, on_acquired, NULL);
    sim_world_run_for (world, TIMEOUT_MS / 3);
    curator_lock_acquire_then (waiter->lock, CURATOR_WAIT_FOREVER, NULL, on_acquired, NULL);
    sim_world_run_for (world, 100);
    delete_node (world, 2);
    const guint n = n_checks (waiter);
    RUN_UNTIL (world, n_checks (waiter) != n, TIMEOUT_MS);
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
  Three three = { .world = world_new (seed) };
  three.holder = machine_new_at (three.world, "A", PATH);
  three.second = machine_new_at (three.world, "B", PATH);
  three.third = machine_new_at (three.world, "C", PATH);
  sim_process_move (three.third->process, 1);
  sim_process_move (three.second->process, 2);
  sim_process_move (three.holder->process, 2);
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

static const CuratorLockDriverFuncs plain = { .creates_the_lock = describe_plain };
static const CuratorLockDriverFuncs as_third = { .creates_the_lock = describe_third };

/* While the third's machine is stopped the two nodes before its own vanish, so that it finds all of
 * it at once. */
typedef struct
{
  gint64 waits_ms; /* from when its proof is new to when it is long too old */
  gint64 asleep_ms;
  gboolean holds_another; /* its session has newer proofs */
  gboolean expires;       /* the session ends on the servers meanwhile */
  gboolean cut;           /* its server has no quorum any more */
  gboolean node_goes;     /* the third's own, too */
  gboolean lag;           /* its server does not know that yet */
  /* The node of the third has no GUID in its name, and another client's takes its place. Only its
   * czxid differs, which neither a list nor a check shows. */
  gboolean replaced;
} Surprise;

static void
surprise (guint32 seed, const Surprise *how)
{
  g_auto (Three) three = three_new (seed);
  Machine *third = three.third;
  g_autoptr (CuratorLock) other = curator_mutex_new (third->client, OTHER, NULL);
  g_autoptr (CuratorLease) held = NULL;
  g_autoptr (Machine) fourth = machine_new (three.world, "D");

  if (how->holds_another) {
    CuratorLock *waited = third->lock;
    third->lock = other;
    machine_acquire (third);
    held = g_steal_pointer (&third->lease);
    third->lock = waited;
  }
  if (how->replaced) {
    fourth->lock = machine_lock_with (fourth, PATH, &as_third, TRUE);
    g_clear_pointer (&third->lock, curator_lock_unref);
    third->lock = machine_lock_with (third, PATH, &plain, TRUE);
  }
  machine_begin_acquire (third);
  sim_world_run_for (three.world, how->waits_ms);
  sim_world_strike (three.world, SIM_FAULT_PAUSE, third->process, how->asleep_ms * 1000);
  if (how->expires)
    sim_world_strike (three.world, SIM_FAULT_EXPIRE, third->process, 0);
  delete_node (three.world, 0);
  delete_node (three.world, 1);
  /* Its server learns of it. */
  sim_world_run_for (three.world, 50);
  if (how->cut)
    sim_world_strike (three.world, SIM_FAULT_CUT, third->process, 60 * G_USEC_PER_SEC);
  if (how->lag)
    sim_world_strike (three.world, SIM_FAULT_LAG, third->process, TIMEOUT_MS / 4 * 1000);
  if (how->node_goes)
    delete_node (three.world, 2);
  if (how->replaced)
    machine_begin_acquire (fourth);
  RUN_UNTIL (three.world, third->answered,
             how->expires     ? 3 * TIMEOUT_MS
             : how->node_goes ? TIMEOUT_MS / 2
                              : 2 * TIMEOUT_MS);
  assert_int_equal (fourth->lease != NULL, how->replaced);
  /* A hold that was told is one that the servers know, and by its clock. */
  if (third->answered) {
    assert_non_null (third->lease);
    assert_true (third->existed);
    assert_true (third->good_for_ms > 0);
  }
  assert_true (third->answered || how->cut || how->node_goes || how->expires);
}

/* The same on a machine that runs: one that wakes reconnects, which may cost it an answer. No
 * heartbeat was due so far: the list is followed by one round trip more. */
static void
be_confirmed_once (guint32 seed)
{
  g_auto (Three) three = three_new (seed);
  SimProcess *process = three.third->process;

  machine_begin_acquire (three.third);
  sim_world_run_for (three.world, TIMEOUT_MS * 4 / 10);
  const guint n_lists = sim_world_n_requests (three.world, process, SIM_OP_CHILDREN);
  delete_node (three.world, 0);
  delete_node (three.world, 1);
  RUN_UNTIL (three.world, three.third->answered, TIMEOUT_MS);
  assert_non_null (three.third->lease);
  assert_true (three.third->existed);
  assert_int_equal (n_confirmations (three.third), 1);
  assert_int_equal (sim_world_n_requests (three.world, process, SIM_OP_CHILDREN), n_lists + 1);
}

TEST (test_old_proof)
{
  for (guint32 seed = 0; seed < N_SCHEDULES; seed++) {
    for (int i = 2; i < 30; i++)
      surprise (seed, &(Surprise){ i / 2 * TENTH_MS, .asleep_ms = 100, .cut = i % 2 == 0 });
    be_confirmed_once (seed);
  }
}

TEST (test_dead_session)
{
  for (guint32 seed = 0; seed < N_SCHEDULES; seed++)
    for (int i = 1; i < 8; i++)
      surprise (seed, &(Surprise){ 1000 + (gint64) seed * 513, .asleep_ms = TIMEOUT_MS / 4 * i,
                                   .expires = TRUE });
}

static void
lose_node (const Surprise *how)
{
  Surprise all = *how;

  all.asleep_ms = 200;
  all.node_goes = TRUE;
  for (guint32 seed = 0; seed < N_SCHEDULES; seed++)
    surprise (seed, &all);
}

/* With lag: too long ago for the create, too soon for a heartbeat. */
TEST (test_node_gone)
{
  lose_node (&(Surprise){ 4 * TENTH_MS, .lag = TRUE });
  lose_node (&(Surprise){ 4 * TENTH_MS, .lag = TRUE, .holds_another = TRUE });
  for (int i = 1; i < 15; i++)
    lose_node (&(Surprise){ i * TENTH_MS, .holds_another = i % 2 == 0 });
}

TEST (test_node_replaced)
{
  lose_node (&(Surprise){ 4 * TENTH_MS, .lag = TRUE, .replaced = TRUE });
  for (int i = 1; i < 15; i++)
    lose_node (&(Surprise){ i * TENTH_MS, .replaced = TRUE });
}

/* --- a slow confirmation ---------------------------------------------------------------------- */

/* A turn without warning, while the leader is so slow that no answer proves anything, and the
 * policy allows no second try. */
TEST (test_slow_confirmation)
{
  for (guint32 seed = 0; seed < N_SCHEDULES; seed++) {
    g_auto (Three) three = three_new (seed);
    g_autoptr (Machine) waiter =
        machine_new_latent (three.world, "D", curator_retry_policy_new_n_times (0, 0));

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
