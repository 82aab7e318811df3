/* What a hold is: a session, that session's timeout as it is now, and a czxid. Whatever of them
 * changes, the holder knows before, or one heartbeat after, another client is granted the lock. */
#include "integration/taking.h"

#include "support/four_letter.h"
#include "support/metronome.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* So long that a busy machine loses no hold by itself. */
#define HOLD_MS    15000
#define BEAT_MS    (HOLD_MS / 6)
#define LONGEST_MS 30000
#define TICK_MS    (LONGEST_MS / 20)

/* --- waiting for a loss ----------------------------------------------------------------------- */

static gpointer
await_loss (gpointer lease)
{
  gint64 held_ms = 0;
  for (gint64 now_ms; (now_ms = wait_now_ms ()) > 0 && curator_lease_get_remaining_ms (lease) > 0;
       held_ms = now_ms)
    g_usleep (500);
  return GSIZE_TO_POINTER (held_ms);
}

static GThread *
loss_await (CuratorLease *lease)
{
  return g_thread_new ("loss", await_loss, lease);
}

/* When the last look at the lease began that found it held. */
static gint64
loss_finish (GThread *loss)
{
  return (gint64) GPOINTER_TO_SIZE (g_thread_join (loss));
}

/* --- the session timeout changes -------------------------------------------------------------- */

static void
restart_with (ZkServer *server, const char *bounds)
{
  g_autofree char *path = g_build_filename (zk_server_data_dir (server), "zoo.cfg", NULL);
  g_autofree char *text = NULL;
  assert_true (g_file_get_contents (path, &text, NULL, NULL));
  char *old = strstr (text, "minSessionTimeout");
  if (old != NULL)
    *old = '\0';
  g_autofree char *changed = g_strconcat (text, bounds, NULL);
  zk_server_kill (server);
  assert_true (g_file_set_contents (path, changed, -1, NULL));
  assert_true (zk_server_relaunch (server));
  assert_true (zk_server_wait_serving (server, LONG_MS));
}

#define BOUNDS(least, most) "minSessionTimeout=" least "\nmaxSessionTimeout=" most "\n"

/* By what the server tells of its connections. */
static gboolean
is_shortened (ZkServer *server, const char *session)
{
  g_autofree char *text = four_letter (zk_server_address (server), "cons", 1000);
  const char *line = text != NULL ? strstr (text, session) : NULL;
  const char *timeout = line != NULL ? strstr (line, ",to=") : NULL;
  return timeout != NULL && atoi (timeout + strlen (",to=")) == 15000;
}

/* A holder behind a proxy, and one that waits for its lock, on a server that grants 20 s. */
typedef struct
{
  Proxy *proxy;
  CuratorClient *client;
  CuratorClient *rival;
  CuratorLease *lease;
  Taking *next;
  GThread *loss;
} Pair;

static void
pair_init (Pair *pair, ZkServer *server)
{
  restart_with (server, BOUNDS ("1000", "20000"));
  pair->proxy = proxy_new (zk_server_address (server));
  pair->client = client_connect_for (proxy_address (pair->proxy), 20000);
  pair->rival = client_connect_for (zk_server_address (server), 20000);
  g_autoptr (CuratorLock) lock = mutex_new (pair->client, "/shortened");
  g_autoptr (CuratorLock) other = mutex_new (pair->rival, "/shortened");
  pair->lease = lease_of (lock);
  assert_int_equal (curator_client_get_session_timeout_ms (pair->client), 20000);
  pair->next = taking_start_lock (other, CURATOR_WAIT_FOREVER, NULL);
  taking_assert_waits (pair->next);
  pair->loss = loss_await (pair->lease);
}

/* The holder is cut off for good, and knows of its loss before the next one is granted the lock. */
static void
pair_finish (Pair *pair, const char *what)
{
  proxy_set_mode (pair->proxy, PROXY_DESERT);
  taking_assert_granted (pair->next);
  const gint64 lost_ms = loss_finish (pair->loss);
  print_message ("%s: LOST %d ms before the next grant\n", what,
                 (int) (pair->next->returned_ms - lost_ms));
  assert_true (lost_ms < pair->next->returned_ms);
  assert_int_equal (curator_lease_get_state (pair->lease), CURATOR_LEASE_STATE_LOST);
  taking_free (pair->next);
  curator_lease_unref (pair->lease);
  curator_client_close (pair->client);
  curator_client_unref (pair->client);
  curator_client_unref (pair->rival);
  proxy_free (pair->proxy);
}

/* The client reconnects to the same session. */
static void
shorten (ZkServer *server)
{
  Pair pair;
  pair_init (&pair, server);
  StateLog *log = state_log_new (pair.client);
  const gint64 session = curator_client_get_session_id (pair.client);
  (void) warnings_taken ();
  restart_with (server, BOUNDS ("1000", "10000"));
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
  assert_int_equal (curator_client_get_session_id (pair.client), session);
  assert_int_equal (curator_client_get_session_timeout_ms (pair.client), 10000);
  assert_soon (warnings_taken () >= 1); /* the warning comes after the event */
  pair_finish (&pair, "shortened");
  state_log_free (log);
}

/* One connect request reaches the server, which grants three quarters; the reply is lost. */
static void
shorten_unheard (ZkServer *server)
{
  Pair pair;
  pair_init (&pair, server);
  g_autofree char *session = g_strdup_printf ("sid=0x%" G_GINT64_MODIFIER "x,",
                                              curator_client_get_session_id (pair.client));
  proxy_set_mode (pair.proxy, PROXY_REFUSE);
  restart_with (server, BOUNDS ("1000", "15000"));
  proxy_set_mode (pair.proxy, PROXY_HOLE_TO_CLIENT);
  assert_soon (is_shortened (server, session));
  assert_int_equal (curator_client_get_session_timeout_ms (pair.client), 20000);
  pair_finish (&pair, "shortened, unheard");
}

TEST (test_timeout_is_shortened)
{
  ZkServer *server = zk_server_start (1000, NULL);
  assert_non_null (server);
  const char *runs = g_getenv ("CURATOR_TEST_RUNS");
  for (int i = runs != NULL ? atoi (runs) : 2; i > 0; i--)
    shorten (server);
  shorten_unheard (server);
  zk_server_stop (server);
}

/* Another server may still count by the smaller one. */
TEST (test_timeout_is_lengthened)
{
  ZkServer *server = zk_server_start (1000, NULL);
  assert_non_null (server);
  restart_with (server, BOUNDS ("1000", "15000"));
  g_autoptr (CuratorClient) client = client_connect_for (zk_server_address (server), 30000);
  g_autoptr (StateLog) log = state_log_new (client);
  assert_int_equal (curator_client_get_session_timeout_ms (client), 15000);
  restart_with (server, BOUNDS ("30000", "30000"));
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
  assert_int_equal (curator_client_get_session_timeout_ms (client), 15000);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/lengthened");
  g_autoptr (CuratorLease) lease = lease_of (lock);
  for (int i = 0; i < 300; i++) {
    assert_true (curator_lease_get_remaining_ms (lease) < 15000);
    wait_ms (10);
  }
  curator_client_close (client);
  zk_server_stop (server);
}

/* --- the node is another one ------------------------------------------------------------------ */

#define FIXED     "/model/fixed"
#define N_MOMENTS 12

/* Right after the grant, between heartbeats, or during a reconnect. */
static void
delete_at_a_moment (Fixture *fixture, int i)
{
  if (i % 3 == 1)
    wait_ms (g_random_int_range (0, BEAT_MS * 3 / 2));
  if (i % 3 == 2) {
    proxy_set_mode (fixture->proxy, PROXY_REFUSE);
    wait_ms (g_random_int_range (0, 100));
  }
  assert_int_equal (raw_zk_delete (fixture->raw, FIXED), ZOK);
}

TEST (test_node_is_taken_by_another)
{
  gint64 worst_ms = 0;
  g_autoptr (CuratorClient) client = client_connect_for (fixture_proxy (fixture), HOLD_MS);
  g_autoptr (CuratorClient) rival = client_connect_for (fixture_server (fixture), HOLD_MS);
  g_autoptr (CuratorLock) lock = curator_fixed_node_lock_new (client, FIXED, NULL);
  g_autoptr (CuratorLock) other = curator_fixed_node_lock_new (rival, FIXED, NULL);
  for (int i = 0; i < N_MOMENTS; i++) {
    g_autoptr (CuratorLease) lease = lease_of (lock);
    g_autoptr (Taking) next = taking_start_lock (other, CURATOR_WAIT_FOREVER, NULL);
    GThread *loss = loss_await (lease);
    delete_at_a_moment (fixture, i);
    assert_true (taking_wait (next, LONG_MS));
    const gint64 back_ms = wait_now_ms ();
    proxy_set_mode (fixture->proxy, PROXY_PASS);
    const gint64 lost_ms = loss_finish (loss);
    const gint64 both_ms = lost_ms - (i % 3 == 2 ? back_ms : next->returned_ms);
    worst_ms = MAX (worst_ms, both_ms);
    /* A heartbeat, and as much for a busy machine and the reconnect. */
    assert_promised_ms (both_ms, 2 * BEAT_MS - 1, lost_ms - both_ms);
    assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_STATE_LOST);
    assert_true (curator_lease_get_remaining_ms (taking_lease (next, 0)) > 0);
    taking_give_back (next);
  }
  print_message ("%d moments: two believers for at most %d ms\n", N_MOMENTS, (int) worst_ms);
}

/* Another thread of the program waits behind the node, and watches it before the holder does: a
 * neighbour without a watch would not, so a number between them is left out. */
static void
replace_watched_node (Fixture *fixture, CuratorLock *lock, CuratorLock *other)
{
  g_autoptr (CuratorLease) lease = lease_of (lock);
  const char *node = curator_lease_get_node_path (lease);
  char *left_out = NULL;
  assert_int_equal (raw_zk_create (fixture->raw, "/model/watched/x-lock-", NULL,
                                   ZOO_PERSISTENT_SEQUENTIAL, &left_out),
                    ZOK);
  raw_zk_delete (fixture->raw, left_out);
  g_free (left_out);
  g_autoptr (Taking) next = taking_start_lock (other, CURATOR_WAIT_FOREVER, NULL);
  assert_children (fixture, "/model/watched", 2, LONG_MS);
  assert_int_equal (raw_zk_replace (fixture->raw, node, NULL, ZOO_PERSISTENT, NULL), ZOK);
  assert_lease_state (lease, CURATOR_LEASE_STATE_LOST, HOLD_MS);
  raw_zk_delete (fixture->raw, node); /* the holder may have done that */
  assert_true (taking_wait (next, LONG_MS));
  taking_give_back (next);
  assert_no_residue (fixture, "/model/watched", LONG_MS);
}

TEST (test_node_is_replaced_under_a_waiter)
{
  g_autoptr (CuratorClient) client = client_connect_for (fixture_server (fixture), HOLD_MS);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/model/watched");
  g_autoptr (CuratorLock) other = mutex_new (client, "/model/watched");
  for (int i = 0; i < 5; i++)
    replace_watched_node (fixture, lock, other);
}

/* --- the connection states -------------------------------------------------------------------- */

#define CUT_OFF_HOLD_MS 21000 /* how long a hold lasts after the newest proof */

/* Cut off for longer than a hold lasts; the session survives. */
static void
cut_off (Fixture *fixture, gboolean holding, const char *expected)
{
  g_autoptr (CuratorClient) client = client_new (fixture_proxy (fixture));
  g_autoptr (StateLog) log = state_log_new (client);
  curator_client_set_session_timeout (client, LONGEST_MS);
  curator_client_set_server_tick (client, TICK_MS);
  client_start (client);
  const gint64 session = curator_client_get_session_id (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/model/states");
  g_autoptr (CuratorLease) lease = lease_of (lock);
  if (!holding)
    assert_true (curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL));
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  wait_ms (CUT_OFF_HOLD_MS + 400);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
  assert_int_equal (curator_client_get_session_id (client), session);
  g_autofree char *told = state_log_to_string (log);
  assert_string_equal (told, expected);
  assert_int_equal (curator_lease_get_state (lease),
                    holding ? CURATOR_LEASE_STATE_LOST : CURATOR_LEASE_STATE_RELEASED);
  curator_client_close (client);
}

TEST (test_lost_is_told_before_reconnected)
{
  cut_off (fixture, TRUE, "CONNECTED SUSPENDED LOST RECONNECTED");
  cut_off (fixture, FALSE, "CONNECTED SUSPENDED RECONNECTED");
}

/* --- a node that cannot be read --------------------------------------------------------------- */

static void
count_state (CuratorLease *lease, CuratorLeaseState state, gpointer user_data)
{
  g_atomic_int_inc ((gint *) user_data);
}

static void
hold_unreadable (Fixture *fixture, int n_others)
{
  g_autoptr (CuratorClient) client = client_connect_for (fixture_server (fixture), HOLD_MS);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/model/unreadable");
  g_autoptr (CuratorLease) lease = lease_of (lock);
  g_autoptr (GPtrArray) others =
      g_ptr_array_new_with_free_func ((GDestroyNotify) curator_lease_unref);
  gint n_changes = 0;
  curator_lease_add_listener (lease, count_state, &n_changes, NULL);
  for (int i = 0; i < n_others; i++) {
    g_autofree char *path = g_strdup_printf ("/model/readable-%d", i);
    g_autoptr (CuratorLock) readable = mutex_new (client, path);
    CuratorLease *other = lease_of (readable);
    curator_lease_add_listener (other, count_state, &n_changes, NULL);
    g_ptr_array_add (others, other);
  }
  const char *node = curator_lease_get_node_path (lease);
  assert_int_equal (raw_zk_set_world_acl (fixture->raw, node, ZOO_PERM_ALL & ~ZOO_PERM_READ), ZOK);
  wait_ms (HOLD_MS + 1000);
  assert_int_equal (g_atomic_int_get (&n_changes), 0);
  assert_true (curator_lease_get_remaining_ms (lease) > 0);
  const gint64 deleted_ms = wait_now_ms ();
  assert_int_equal (raw_zk_delete (fixture->raw, node), ZOK);
  assert_lease_state (lease, CURATOR_LEASE_STATE_LOST, LONG_MS);
  /* A heartbeat, and as much for a busy machine. */
  assert_promised_ms (wait_now_ms () - deleted_ms, 2 * BEAT_MS, deleted_ms);
  for (guint i = 0; i < others->len; i++)
    assert_int_equal (curator_lease_get_state (others->pdata[i]), CURATOR_LEASE_STATE_HELD);
  curator_client_close (client); /* no listener runs afterwards */
}

TEST (test_a_node_cannot_be_read)
{
  hold_unreadable (fixture, 3);
  hold_unreadable (fixture, 0);
}

/* --- heartbeats that are sent more often than they are answered ------------------------------- */

TEST (test_heartbeat_shorter_than_the_round_trip)
{
  g_autoptr (CuratorClient) client = client_new (fixture_proxy (fixture));
  gint n_changes = 0;
  curator_client_set_session_timeout (client, LONGEST_MS);
  curator_client_set_heartbeat_interval (client, 100);
  proxy_set_delay (fixture->proxy, 60, 60);
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/model/often");
  for (int i = 0; i < 30; i++) {
    g_autoptr (CuratorLease) lease = lease_of (lock);
    const guint id = curator_lease_add_listener (lease, count_state, &n_changes, NULL);
    wait_ms (i % 10 == 0 ? 500 : 0);
    assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_STATE_HELD);
    curator_lease_remove_listener (lease, id);
    assert_true (curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL));
  }
  assert_int_equal (g_atomic_int_get (&n_changes), 0);
}

/* --- a process that was stopped --------------------------------------------------------------- */

/* Stops this process for that long, a moment from now. */
static void
stop_us (int seconds)
{
  g_autofree char *command =
      g_strdup_printf ("(sleep 0.3; kill -STOP %d; sleep %d; kill -CONT %d) &", (int) getpid (),
                       seconds, (int) getpid ());
  assert_int_equal (system (command), 0);
}

#define PAUSED_MS  8000
#define NOTICED_MS 5000 /* longer than a busy machine pauses the test, and shorter than the pause */
#define MOST_STOPS 5

/* FALSE: the process was continued by somebody else before the pause was over. */
static gboolean
enter_until_paused (CuratorLock *lock, guint64 *n_entered)
{
  const gint64 began_ms = wait_now_ms ();
  gint64 before_ms = began_ms;
  g_autoptr (GError) error = NULL;

  stop_us (PAUSED_MS / 1000);
  while (before_ms - began_ms < 2 * PAUSED_MS) {
    if (!curator_lock_acquire (lock, 0, NULL, &error)) {
      /* The pause fell between the look at the time and the entry. */
      assert_true (wait_now_ms () - before_ms >= NOTICED_MS);
      assert_curator_error (&error, CURATOR_ERROR_LOCK_LOST);
      return TRUE;
    }
    curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
    (*n_entered)++;
    const gint64 now_ms = wait_now_ms ();
    if (now_ms - before_ms >= PAUSED_MS)
      return TRUE;
    before_ms = now_ms;
  }
  return FALSE;
}

TEST (test_no_entry_after_a_pause)
{
  g_autoptr (CuratorClient) client = client_connect_for (fixture_server (fixture), PAUSED_MS);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/model/paused");
  guint64 n_entered = 0;
  int n_stops = 1;

  assert_acquired (lock);
  while (!enter_until_paused (lock, &n_entered))
    assert_true (++n_stops <= MOST_STOPS);
  assert_not_acquired (lock, 0, CURATOR_ERROR_LOCK_LOST);
  print_message ("entered %" G_GUINT64_FORMAT " times, stopped %d times\n", n_entered, n_stops);
  curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
}

static int
start_for_long_sessions (void **state)
{
  return fixture_start_for_sessions (state, LONGEST_MS);
}

int
main (void)
{
  warnings_count ("shortens");
  metronome_start ();
  return suite_run ("hold model", start_for_long_sessions, fixture_stop);
}
