/* A shared count, and a semaphore that follows it: whatever has happened to the node, the connection,
 * the session and the count itself, one event after the other, at rest it is followed, or left alone
 * once it is closed.
 */
#include "sim_machine.h"

#include <string.h>

#define PATH    "/counts/size"
#define LOCK    "/lock"
#define REST_MS 10000
#define SOON_MS 3000

typedef enum
{
  DELETED,
  MADE, /* or made anew */
  CHANGED,
  CUT,
  AWAY, /* cut off for a second */
  NEW_SESSION,
  FIFTH_SESSION,
  STARTED, /* again */
  CLOSED,
  N_EVENTS
} Event;

static const char *const event_names[] = { "deleted",     "made",          "changed",
                                           "cut",         "away",          "new session",
                                           "5th session", "started again", "closed" };

typedef struct
{
  SimWorld *world;
  Machine *machine;
  CuratorSharedCount *count;
  CuratorSemaphore *semaphore;
  gint32 value; /* of the node */
  gboolean is_started;
  gboolean is_starting;
  guint n_told;
  gint32 told;
  guint n_lost;
} Followed;

static void
note_value (CuratorSharedCount *count, gint32 value, gpointer data)
{
  Followed *followed = data;
  followed->n_told++;
  followed->told = value;
}

static void
note_lease (CuratorLease *lease, CuratorLeaseState state, gpointer data)
{
  Followed *followed = data;
  followed->n_lost += state == CURATOR_LEASE_STATE_LOST ? 1 : 0;
}

/* On an actor's thread. Its node may be deleted meanwhile. */
static void
start (gpointer data)
{
  Followed *followed = data;
  const gboolean started =
      curator_shared_count_start (followed->count, CURATOR_WAIT_FOREVER, NULL, NULL);

  followed->is_started = followed->is_started || started;
  followed->is_starting = FALSE;
}

static void
await_start (Followed *followed)
{
  RUN_UNTIL (followed->world, !followed->is_starting, REST_MS);
  assert_false (followed->is_starting);
}

static void
begin_to_start (Followed *followed)
{
  await_start (followed);
  followed->is_starting = TRUE;
  sim_actor_new (followed->world, followed->machine->process, "starter", start, followed);
}

static void
change (Followed *followed)
{
  sim_world_set_number (followed->world, PATH, ++followed->value);
}

static void
make (Followed *followed)
{
  sim_world_put (followed->world, "/counts", "", ZOO_PERSISTENT);
  assert_true (sim_world_put (followed->world, PATH, "", ZOO_PERSISTENT));
  change (followed);
}

static void
strike (Followed *followed, SimFault fault, gint64 ms)
{
  sim_world_strike (followed->world, fault, followed->machine->process, ms * 1000);
}

static void
apply (Followed *followed, Event event)
{
  switch (event) {
  case DELETED:
    sim_world_delete (followed->world, PATH);
    break;
  case MADE:
    sim_world_delete (followed->world, PATH);
    make (followed);
    break;
  case CHANGED:
    change (followed);
    break;
  case CUT:
    strike (followed, SIM_FAULT_DROP, 0);
    break;
  case AWAY:
    strike (followed, SIM_FAULT_OUTAGE, 1000);
    break;
  case FIFTH_SESSION:
    for (int i = 0; i < 4; i++) {
      strike (followed, SIM_FAULT_EXPIRE, 0);
      sim_world_run_for (followed->world, 2000);
    }
    strike (followed, SIM_FAULT_EXPIRE, 0);
    break;
  case NEW_SESSION:
    strike (followed, SIM_FAULT_EXPIRE, 0);
    break;
  case STARTED:
    begin_to_start (followed);
    break;
  case CLOSED:
  case N_EVENTS:
  default:
    await_start (followed);
    curator_shared_count_close (followed->count);
    followed->is_started = FALSE;
  }
}

/* The holder of a lock hears of its loss, once. */
static void
expect_loss_is_told (Followed *followed)
{
  Machine *machine = followed->machine;

  machine_acquire (machine);
  followed->n_lost = 0;
  curator_lease_add_listener (machine->lease, note_lease, followed, NULL);
  strike (followed, SIM_FAULT_EXPIRE, 0);
  sim_world_run_for (followed->world, REST_MS);
  assert_int_equal (followed->n_lost, 1);
  g_clear_pointer (&machine->lease, curator_lease_unref);
  sim_world_run_for (followed->world, SOON_MS);
}

static void
expect_followed (Followed *followed)
{
  if (!sim_world_exists (followed->world, PATH))
    make (followed);
  sim_world_run_for (followed->world, SOON_MS);
  for (int i = 0; i < 2; i++) {
    followed->n_told = 0;
    change (followed);
    sim_world_run_for (followed->world, SOON_MS);
    assert_int_equal (curator_shared_count_get (followed->count) == followed->value,
                      followed->is_started);
    assert_int_equal (followed->n_told, followed->is_started ? 1 : 0);
    assert_true (!followed->is_started || followed->told == followed->value);
  }
  assert_int_equal (curator_semaphore_get_max_leases (followed->semaphore),
                    curator_shared_count_get (followed->count));
  assert_int_equal (sim_process_server_watches (followed->machine->process),
                    followed->is_started ? 1 : 0);
  assert_int_equal (sim_process_client_watches (followed->machine->process),
                    followed->is_started ? 1 : 0);
}

static void
play (guint32 seed, const Event *events, gsize n)
{
  static const gint64 pauses_ms[] = { 0, 0, 1, 5, 400, SOON_MS };
  GOOD_WORLD world = sim_world_new_calm (seed, 1 + (int) seed % 3);
  g_autoptr (Machine) machine = machine_new_at (world, "A", LOCK);
  Followed followed = { .world = world, .machine = machine, .value = 100 };
  g_autoptr (GString) name = g_string_new (NULL);

  for (gsize i = 0; i < n; i++)
    g_string_append_printf (name, "%s, ", event_names[events[i]]);
  sim_trace (world, "%sat rest", name->str);
  followed.count = curator_shared_count_new (machine->client, PATH, 1, NULL);
  followed.semaphore =
      curator_semaphore_new_with_shared_count (machine->client, "/semaphore", followed.count, NULL);
  curator_shared_count_add_listener (followed.count, note_value, &followed, NULL);
  begin_to_start (&followed);
  await_start (&followed);
  assert_true (followed.is_started);
  for (gsize i = 0; i < n; i++) {
    apply (&followed, events[i]);
    sim_world_run_for (world, pauses_ms[g_rand_int (world->rand) % G_N_ELEMENTS (pauses_ms)]);
  }
  sim_world_run_for (world, REST_MS);
  await_start (&followed);
  expect_followed (&followed);
  expect_loss_is_told (&followed);
  expect_followed (&followed);
  curator_semaphore_unref (followed.semaphore);
  curator_shared_count_unref (followed.count);
}

/* All of two and of three. */
TEST (test_p41_short_orders)
{
  for (guint i = 0; i < N_EVENTS * N_EVENTS; i++)
    play (i, (const Event[]){ i / N_EVENTS, i % N_EVENTS }, 2);
  for (guint i = 0; i < N_EVENTS * N_EVENTS * N_EVENTS; i++)
    play (i, (const Event[]){ i / (N_EVENTS * N_EVENTS), i / N_EVENTS % N_EVENTS, i % N_EVENTS },
          3);
}

TEST (test_p41_longer_orders)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);

  for (guint32 seed = 0; seed < 1000; seed++) {
    Event events[5];
    const gsize n = 4 + seed % 2;
    for (gsize i = 0; i < n; i++)
      events[i] = (Event) g_rand_int_range (rand, 0, N_EVENTS);
    play (seed, events, n);
  }
}

/* --- the versions of a node's former life ------------------------------------------------------ */

typedef struct
{
  Followed followed;
  gint32 version;
  gboolean is_set;
  gboolean is_over;
} Try;

static void
try_now (gpointer data)
{
  Try *try = data;
  try->is_set = TRUE;
  const gboolean succeeded = curator_shared_count_try_set (
      try->followed.count, try->version, 1000, &try->is_set, CURATOR_WAIT_FOREVER, NULL, NULL);
  try->is_over = succeeded;
}

static gboolean
is_set_by (Try *try, gint32 version)
{
  SimWorld *world = try->followed.world;

  try->version = version;
  try->is_over = FALSE;
  sim_actor_new (world, try->followed.machine->process, "setter", try_now, try);
  RUN_UNTIL (world, try->is_over, SOON_MS);
  assert_true (try->is_over);
  return try->is_set;
}

static gint32
version_of (CuratorSharedCount *count)
{
  gint32 version;
  assert_true (curator_shared_count_get_versioned (count, NULL, &version));
  return version;
}

/* The first life has known_writes, the next one new_writes. how: the client hears of it by that. */
static void
play_lives (guint32 seed, int known_writes, int new_writes, Event how)
{
  GOOD_WORLD world = sim_world_new_calm (seed, 1);
  g_autoptr (Machine) machine = machine_new (world, "A");
  Try try = { .followed = { .world = world, .machine = machine, .value = 100 } };
  Followed *followed = &try.followed;

  followed->count = curator_shared_count_new (machine->client, PATH, 1, NULL);
  begin_to_start (followed);
  await_start (followed);
  for (int i = 0; i < known_writes; i++)
    change (followed);
  sim_world_run_for (world, SOON_MS);
  const gint32 former = version_of (followed->count);
  for (int life = 0; life < 3; life++) {
    if (how == AWAY)
      apply (followed, AWAY);
    sim_world_delete (world, PATH);
    if (how == STARTED) {
      apply (followed, STARTED);
      await_start (followed);
    } else {
      make (followed);
    }
    for (int i = 0; i < new_writes; i++)
      change (followed);
    sim_world_run_for (world, REST_MS);
    assert_false (is_set_by (&try, former));
    assert_true (curator_shared_count_get (followed->count) != 1000);
    const gint32 current = version_of (followed->count);
    assert_true (is_set_by (&try, current));
    assert_false (is_set_by (&try, current));
    assert_true (is_set_by (&try, version_of (followed->count)));
  }
  curator_shared_count_unref (followed->count);
}

TEST (test_versions_of_a_former_life)
{
  static const Event ways[] = { CHANGED, AWAY, STARTED };

  for (guint i = 0; i < 4 * 4 * G_N_ELEMENTS (ways); i++)
    play_lives (i, (int) i % 4, (int) i / 4 % 4, ways[i / 16]);
}

SIM_SUITE ("test_sim_followed")
