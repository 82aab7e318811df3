/* Thousands of waiters in one process: each is granted in its turn in spite of faults half way, or
 * gives up. Their memory is measured while they wait, and is freed afterwards; what each costs does
 * not grow with their number.
 *
 * malloc's caches, and GLib's, would blur that: ctest disables them.
 */
#include "integration/fixture.h"

#include "core/client-record.h"
#include "core/monitor.h"
#include "support/sanitized.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum
{
  N_WAITERS = IS_SANITIZED ? 500 : 5000,
  N_CANCELLED = N_WAITERS / 5,
  N_BATCH = 50,
  PATIENCE_MS = 120000,
  /* The allowance for tables, pools and the allocator's caches. The smallest block leaked by each
   * waiter exceeds it. */
  SLACK_BYTES = 96 * 1024,
  /* The same for a number that gives up: less than a byte for each. */
  N_GIVE_UP = 5000
};

typedef struct
{
  struct Crowd *crowd;
  GCancellable *cancellable;
  gboolean told;
  gboolean granted;
  gboolean cancelled;
} Waiter;

/* The waiters for one path, of all clients. */
typedef struct Crowd
{
  pthread_mutex_t mutex;
  Waiter waiters[N_WAITERS];
  int n_told;
  int n_granted;
  int n_cancelled;
  int n_timed_out;
  int n_refused; /* beyond the watch limit of a session */
  int n_other;
  int n_twice;
  int n_out_of_order;
  gint64 last_number;
  int park_at; /* the grant that is kept until crowd_go_on() */
  CuratorLease *parked;
} Crowd;

/* Not on the heap, which is measured. */
static Crowd crowd;

static gsize
heap_in_use (void)
{
  return mallinfo2 ().uordblks;
}

static void
crowd_init (int park_at)
{
  memset (&crowd, 0, sizeof crowd);
  pthread_mutex_init (&crowd.mutex, NULL);
  crowd.last_number = -1;
  crowd.park_at = park_at;
}

static gint64
number_of (CuratorLease *lease)
{
  const char *name = curator_lease_get_node_name (lease);
  return strtoll (name + strlen (name) - 10, NULL, 10);
}

/* @locality a callback lane. */
static void
on_acquired (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer user_data)
{
  Waiter *waiter = user_data;

  pthread_mutex_lock (&crowd.mutex);
  crowd.n_told++;
  crowd.n_twice += waiter->told ? 1 : 0;
  waiter->told = TRUE;
  if (lease != NULL) {
    const gint64 number = number_of (lease);
    crowd.n_out_of_order += number <= crowd.last_number ? 1 : 0;
    crowd.last_number = number;
    waiter->granted = TRUE;
    crowd.n_granted++;
    if (crowd.n_granted == crowd.park_at)
      crowd.parked = g_steal_pointer (&lease);
  } else if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED)) {
    waiter->cancelled = TRUE;
    crowd.n_cancelled++;
  } else if (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_LIMIT_EXCEEDED)) {
    crowd.n_refused++;
  }
  /* A deadline of some milliseconds may pass before the server has shown who is in front. */
  else if (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT)
           || g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_NO_ANSWER)) {
    crowd.n_timed_out++;
  } else {
    g_printerr ("a waiter failed: %s\n", error->message);
    crowd.n_other++;
  }
  pthread_mutex_unlock (&crowd.mutex);
  g_clear_pointer (&lease, curator_lease_unref);
}

static void
queue_up (CuratorLock *lock, int i)
{
  curator_lock_acquire_then (lock, CURATOR_WAIT_FOREVER, crowd.waiters[i].cancellable, on_acquired,
                             &crowd.waiters[i]);
}

static gboolean
is_parked (void)
{
  pthread_mutex_lock (&crowd.mutex);
  const gboolean yes = crowd.parked != NULL;
  pthread_mutex_unlock (&crowd.mutex);
  return yes;
}

static void
go_on (void)
{
  pthread_mutex_lock (&crowd.mutex);
  CuratorLease *parked = g_steal_pointer (&crowd.parked);
  pthread_mutex_unlock (&crowd.mutex);
  curator_lease_unref (parked);
}

static gboolean
are_told (int n)
{
  pthread_mutex_lock (&crowd.mutex);
  const gboolean yes = crowd.n_told >= n;
  pthread_mutex_unlock (&crowd.mutex);
  return yes;
}

/* Every callback was called once and in turn. Every waiter was granted, except for those that were
 * cancelled, or refused in the test of the limit. */
static void
check_crowd (int n, int least_granted)
{
  if (!holds_within (are_told (n), PATIENCE_MS)) {
    fail_msg ("%d of %d callbacks were called, %d of them with a grant", crowd.n_told, n,
              crowd.n_granted);
  }
  pthread_mutex_lock (&crowd.mutex);
  assert_int_equal (crowd.n_told, n);
  assert_int_equal (crowd.n_twice, 0);
  assert_int_equal (crowd.n_other, 0);
  assert_int_equal (crowd.n_out_of_order, 0);
  assert_int_equal (crowd.n_granted + crowd.n_cancelled + crowd.n_refused, n);
  assert_in_range (crowd.n_granted, least_granted, n);
  pthread_mutex_unlock (&crowd.mutex);
}

static CuratorClient *
connect_patient (const char *address)
{
  CuratorClient *client = client_new (address);
  curator_client_set_session_timeout (client, LONG_SESSION_MS);
  curator_client_set_connection_timeout (client, LONG_SESSION_MS);
  client_start (client);
  return client;
}

/* A holder in another session, which keeps the crowd waiting. */
typedef struct
{
  CuratorClient *client;
  CuratorLock *lock;
} Doorkeeper;

static void
doorkeeper_shut (Doorkeeper *keeper, Fixture *fixture, KindNew kind, const char *path)
{
  keeper->client = connect_patient (fixture_server (fixture));
  keeper->lock = kind (keeper->client, path);
  assert_acquired (keeper->lock);
}

static void
doorkeeper_open (Doorkeeper *keeper)
{
  assert_released (keeper->lock);
  curator_lock_unref (keeper->lock);
  curator_client_close (keeper->client);
  curator_client_unref (keeper->client);
}

/* All requests of the client have been answered, and the answers freed. */
static void
settle (CuratorClient *client)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) nothing = mutex_new (client, "/many/nothing");
  g_auto (GStrv) names =
      curator_lock_get_participant_nodes (nothing, CURATOR_WAIT_DEFAULT, NULL, &error);
  assert_ok (names != NULL, &error);
  assert_int_equal (g_strv_length (names), 0);
}

/* Threads of a closed client may still be exiting. */
static void
assert_heap_back (gsize before)
{
  G_GNUC_UNUSED const gboolean back =
      holds_within (heap_in_use () < before + SLACK_BYTES, IS_SANITIZED ? 0 : LONG_MS);
  print_message ("heap afterwards: %+zd bytes\n", (gssize) heap_in_use () - (gssize) before);
#if !IS_SANITIZED
  assert_true (back);
#endif
}

/* Runs the whole crowd once, behind a doorkeeper; returns the bytes per waiter. */
static double
wait_and_pass (Fixture *fixture, CuratorClient *client, const char *path)
{
  g_autoptr (CuratorLock) lock = mutex_new (client, path);
  Doorkeeper keeper;
  doorkeeper_shut (&keeper, fixture, mutex_new, path);
  crowd_init (-1);
  const gsize before = heap_in_use ();
  for (int i = 0; i < N_WAITERS; i++)
    queue_up (lock, i);
  assert_children (fixture, path, N_WAITERS + 1, PATIENCE_MS);
  settle (client);
  const gsize waiting = heap_in_use ();
  /* The first in line watches the doorkeeper; the others have a node of their own session in
   * front. */
  assert_int_equal (four_letter_watches_of_session (fixture_server (fixture),
                                                    curator_client_get_session_id (client)),
                    1);
  const gint64 begun = wait_now_ms ();
  doorkeeper_open (&keeper);
  check_crowd (N_WAITERS, N_WAITERS);
  print_message ("%d waiters: %.0f bytes each, drained in %d ms\n", N_WAITERS,
                 (double) (waiting - before) / (int) N_WAITERS, (int) (wait_now_ms () - begun));
  assert_no_residue (fixture, path, PATIENCE_MS);
  settle (client);
  return (double) (waiting - before) / (int) N_WAITERS;
}

TEST (test_healthy)
{
  g_autoptr (CuratorClient) client = connect_patient (fixture_server (fixture));
  wait_and_pass (fixture, client, "/many/healthy"); /* tables and pools reach their size */
  const gsize before = heap_in_use ();
  G_GNUC_UNUSED const double each = wait_and_pass (fixture, client, "/many/healthy");
  assert_heap_back (before);
#if !IS_SANITIZED
  assert_true (each <= 1024);
#endif
  curator_client_close (client);
}

/* Faults that strike the crowd when half of it has been granted, and one holds. */
typedef struct
{
  void (*strike) (Fixture *fixture, CuratorClient *client);
  gboolean keeps_session;
  int least_granted;
} Mishap;

static void
pass_half_then (Fixture *fixture, const char *path, const Mishap *mishap)
{
  const gsize before = heap_in_use ();
  CuratorClient *client = connect_patient (fixture_proxy (fixture));
  CuratorLock *lock = mutex_new (client, path);
  Doorkeeper keeper;
  doorkeeper_shut (&keeper, fixture, mutex_new, path);
  crowd_init (N_WAITERS / 2);
  /* The session that a proxy has seen last is the crowd's. */
  const gint64 session = curator_client_get_session_id (client);
  for (int i = 0; i < N_WAITERS; i++) {
    crowd.waiters[i].cancellable = g_cancellable_new ();
    queue_up (lock, i);
  }
  assert_children (fixture, path, N_WAITERS + 1, PATIENCE_MS);
  doorkeeper_open (&keeper);
  assert_true (holds_within (is_parked (), PATIENCE_MS));
  mishap->strike (fixture, client);
  check_crowd (N_WAITERS, mishap->least_granted);
  assert_int_equal (curator_client_get_session_id (client) == session, mishap->keeps_session);
  assert_no_residue (fixture, path, PATIENCE_MS);
  curator_lock_unref (lock);
  curator_client_close (client);
  curator_client_unref (client);
  for (int i = 0; i < N_WAITERS; i++)
    g_object_unref (crowd.waiters[i].cancellable);
  assert_heap_back (before);
}

static void
restart_server (Fixture *fixture, CuratorClient *client)
{
  zk_server_kill (fixture->server);
  go_on ();
  assert_true (zk_server_relaunch (fixture->server));
  assert_true (zk_server_wait_serving (fixture->server, PATIENCE_MS));
}

TEST (test_server_restarts)
{
  const Mishap mishap = { .strike = restart_server,
                          .keeps_session = TRUE,
                          .least_granted = N_WAITERS };
  pass_half_then (fixture, "/many/restart", &mishap);
}

static void
end_session (Fixture *fixture, CuratorClient *client)
{
  fixture_expire (fixture);
  go_on ();
}

TEST (test_session_ends)
{
  const Mishap mishap = { .strike = end_session, .least_granted = N_WAITERS };
  pass_half_then (fixture, "/many/expiry", &mishap);
}

/* Picks a waiter that is still waiting and was not picked yet. */
static Waiter *
pick (GRand *rand)
{
  for (;;) {
    Waiter *waiter = &crowd.waiters[g_rand_int_range (rand, 0, N_WAITERS)];
    pthread_mutex_lock (&crowd.mutex);
    const gboolean fits = !waiter->told && !g_cancellable_is_cancelled (waiter->cancellable);
    pthread_mutex_unlock (&crowd.mutex);
    if (fits)
      return waiter;
  }
}

/* Nothing is granted meanwhile, so each of them is cancelled for certain. Some more are cancelled
 * while the others proceed, and may be granted first. */
static void
cancel_many (Fixture *fixture, CuratorClient *client)
{
  const guint32 seed = g_random_int ();
  GRand *rand = g_rand_new_with_seed (seed);
  print_message ("seed %u\n", seed);
  for (int i = 0; i < N_CANCELLED; i++)
    g_cancellable_cancel (pick (rand)->cancellable);
  assert_true (holds_within (are_told (N_WAITERS / 2 + N_CANCELLED), PATIENCE_MS));
  pthread_mutex_lock (&crowd.mutex);
  assert_int_equal (crowd.n_cancelled, N_CANCELLED);
  pthread_mutex_unlock (&crowd.mutex);
  go_on ();
  for (int i = 0; i < N_CANCELLED / 4; i++)
    g_cancellable_cancel (crowd.waiters[g_rand_int_range (rand, 0, N_WAITERS)].cancellable);
  g_rand_free (rand);
}

TEST (test_many_are_cancelled)
{
  const Mishap mishap = { .strike = cancel_many,
                          .keeps_session = TRUE,
                          .least_granted = N_WAITERS - N_CANCELLED - N_CANCELLED / 4 };
  pass_half_then (fixture, "/many/cancelled", &mishap);
}

static int
n_watched (Fixture *fixture, gint64 session)
{
  return four_letter_watches_of_session (fixture_server (fixture), session);
}

static void
delete_foreign (Fixture *fixture, const char *path)
{
  g_auto (GStrv) names = raw_zk_children (fixture->raw, path);
  for (char **name = names; *name != NULL; name++) {
    if (g_str_has_prefix (*name, "lock-")) {
      g_autofree char *node = g_strdup_printf ("%s/%s", path, *name);
      assert_int_equal (raw_zk_delete (fixture->raw, node), ZOK);
    }
  }
}

/* All watches are sent in one packet at a reconnect, and a server does not accept more than 1 MiB.
 * The limit is half of that: a waiter beyond it is refused at once, and the watches of the others,
 * each behind a foreign node, survive a reconnect. */
TEST (test_p16_more_than_can_be_watched)
{
  enum
  {
    LONG_NAME = 100,
    N_NAMES = 8,
    /* The paths are some 880 bytes long; with two for each there would be room for 260 waiters. */
    LEAST_WAITERS = 350
  };
  g_autoptr (GString) path = g_string_new ("/many");
  for (int i = 0; i < N_NAMES; i++) {
    g_autofree char *name = g_strnfill (LONG_NAME, 'x');
    g_string_append_printf (path, "/%s", name);
  }
  g_autofree char *stranger = g_strdup_printf ("%s/lock-", path->str);
  assert_int_equal (raw_zk_make_path (fixture->raw, path->str), ZOK);
  g_autoptr (CuratorClient) client = connect_patient (fixture_proxy (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, path->str);
  const gint64 session = curator_client_get_session_id (client);
  crowd_init (-1);
  int n = 0;
  for (; n < N_WAITERS && !are_told (1); n++) {
    assert_int_equal (raw_zk_create (fixture->raw, stranger, "", ZOO_EPHEMERAL_SEQUENTIAL, NULL),
                      ZOK);
    queue_up (lock, n);
    settle (client);
  }
  /* The last create, its list, and the delete for the waiter refused after that. */
  settle (client);
  settle (client);
  /* As many foreign nodes as waiters, and the nodes of those whose callbacks were not called. */
  assert_true (holds_within (are_told (2 * n - raw_zk_count_children (fixture->raw, path->str)),
                             PATIENCE_MS));
  const int n_waiting = n - crowd.n_told;
  assert_int_equal (crowd.n_refused, crowd.n_told);
  assert_in_range (n_waiting, LEAST_WAITERS, N_WAITERS - 1);
  print_message ("%d waiters of one session watch %d paths\n", n_waiting,
                 n_watched (fixture, session));

  assert_true (n_watched (fixture, session) >= n_waiting);
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  assert_true (holds_within (n_watched (fixture, session) == 0, PATIENCE_MS));
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_true (holds_within (n_watched (fixture, session) >= n_waiting, PATIENCE_MS));
  delete_foreign (fixture, path->str);
  check_crowd (n, n_waiting);
  assert_true (curator_client_get_session_id (client) == session);
  assert_no_residue (fixture, path->str, PATIENCE_MS);
  curator_client_close (client);
}

/* --- waiters that give up --------------------------------------------------------------------- */

/* Waits until the client's threads have freed their last objects. */
static gsize
heap_at_rest (void)
{
  gsize seen = 0;
  gsize before;
  do {
    before = seen;
    wait_ms (100);
    seen = heap_in_use ();
  } while (seen != before);
  return seen;
}

/* A batch. Those that are not cancelled time out, at another moment each. */
static void
give_up_together (CuratorLock *lock, gboolean cancels, int pause_ms)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();

  crowd_init (-1);
  for (int i = 0; i < N_BATCH; i++) {
    curator_lock_acquire_then (lock, cancels ? CURATOR_WAIT_FOREVER : 1 + i % 8, cancellable,
                               on_acquired, &crowd.waiters[i]);
  }
  if (cancels) {
    wait_ms (pause_ms);
    g_cancellable_cancel (cancellable);
  }
  assert_true (holds_within (are_told (N_BATCH), PATIENCE_MS));
  assert_int_equal (cancels ? crowd.n_cancelled : crowd.n_timed_out, N_BATCH);
}

/* Tables and pools reach their size with the first acquires, or a little later if many were in
 * flight, and then keep it. A leak of a single byte per acquire shows in every further number. */
static void
give_up_thousands (Fixture *fixture, const char *path, gboolean cancels)
{
  g_autoptr (CuratorClient) client = connect_patient (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, path);
  gssize growth = G_MAXSSIZE;
  Doorkeeper keeper;

  doorkeeper_shut (&keeper, fixture, mutex_new, path);
  for (int i = 0; i < 2 || (growth >= N_GIVE_UP && i < 5); i++) {
    const gsize before = heap_at_rest ();
    for (int n = 0; n < N_GIVE_UP; n += N_BATCH)
      give_up_together (lock, cancels, n / N_BATCH % 5);
    assert_children (fixture, path, 1, LONG_MS);
    assert_soon (n_watched (fixture, curator_client_get_session_id (client)) == 0);
    growth = (gssize) heap_at_rest () - (gssize) before;
    print_message ("heap growth over %d acquires: %zd bytes\n", N_GIVE_UP, growth);
  }
  assert_true (growth < N_GIVE_UP);
  doorkeeper_open (&keeper);
}

TEST (test_p13_timed_out_leave_nothing)
{
  give_up_thousands (fixture, "/many/late", FALSE);
}

TEST (test_p13_cancelled_leave_nothing)
{
  give_up_thousands (fixture, "/many/off", TRUE);
}

/* --- what each costs -------------------------------------------------------------------------- */

static guint64
requests_of (CuratorClient *client)
{
  guint64 counters[CURATOR_COUNTER_REQUESTS + 1] = { 0 };
  curator_client_get_counters (client, counters, G_N_ELEMENTS (counters));
  return counters[CURATOR_COUNTER_REQUESTS];
}

/* A create, a delete that need not have been sent yet, and a share of the lists: with one list
 * each, four times as many readers read sixteen times as many names. */
static void
check_cost_of_readers (Fixture *fixture, const char *path, int n)
{
  g_autoptr (CuratorClient) client = connect_patient (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = reader_new (client, path);
  Doorkeeper keeper;

  doorkeeper_shut (&keeper, fixture, writer_new, path);
  crowd_init (-1);
  const guint64 before = requests_of (client);
  for (int i = 0; i < n; i++)
    queue_up (lock, i);
  assert_children (fixture, path, n + 1, PATIENCE_MS);
  doorkeeper_open (&keeper);
  assert_true (holds_within (are_told (n), PATIENCE_MS));
  assert_int_equal (crowd.n_granted, n);
  assert_in_range (requests_of (client) - before, n, 5 * n / 2);
}

TEST (test_a_reader_costs_no_more_in_a_crowd)
{
  check_cost_of_readers (fixture, "/many/few-readers", N_WAITERS / 4);
  check_cost_of_readers (fixture, "/many/readers", N_WAITERS);
}

#if !IS_SANITIZED
/* Idle locks, before and after their first use. */
TEST (test_idle_locks)
{
  enum
  {
    N_LOCKS = 10000,
    N_USED = 1000
  };
  static CuratorLock *locks[N_LOCKS];
  g_autoptr (CuratorClient) client = connect_patient (fixture_server (fixture));
  const gsize before = heap_in_use ();
  for (int i = 0; i < N_LOCKS; i++) {
    g_autofree char *path = g_strdup_printf ("/many/idle/%05d", i);
    locks[i] = mutex_new (client, path);
  }
  const gsize each = (heap_in_use () - before) / N_LOCKS;
  print_message ("an idle lock: %zu bytes\n", each);
  assert_true (each <= 300);

  const gsize unused = heap_in_use ();
  for (int i = 0; i < N_USED; i++) {
    assert_acquired (locks[i]);
    assert_released (locks[i]);
  }
  const gssize more = ((gssize) heap_in_use () - (gssize) unused) / N_USED;
  print_message ("once it was used: %+zd bytes\n", more);
  assert_true (each + (gsize) MAX (more, 0) <= 300);
  for (int i = 0; i < N_LOCKS; i++)
    curator_lock_unref (locks[i]);
  assert_heap_back (before);
  curator_client_close (client);
}
#endif

/* Whatever is done under the client's mutex, however long, the clock does not wait for it, nor does
 * a re-entry. */
TEST (test_the_clock_and_a_reentry_take_no_mutex)
{
  g_autoptr (CuratorClient) client = connect_patient (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/many/reentry");
  assert_acquired (lock);
  assert_acquired (lock); /* remembered from here on */
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (lock);

  curator_client_lock (client);
  const gboolean is_good = curator_lease_get_remaining_ms (lease) > 0
                           && curator_lease_get_state (lease) == CURATOR_LEASE_STATE_HELD
                           && curator_lock_acquire (lock, LONG_MS, NULL, NULL);
  curator_client_unlock (client);
  assert_true (is_good);
  for (int i = 0; i < 3; i++)
    assert_released (lock);
}

SUITE ("many waiters", fixture_start_slow, fixture_stop)
