/* Connection states, their listeners, and waiting for a connection. On what threads the listeners
 * run, and that they may block: arguments/test_user_code. */
#include "integration/fixture.h"
#include "support/held_lease.h"

#include <string.h>

#define CLOCK_MS   12000 /* the shortest session of the server: our own clock ends it */
#define PATIENT_MS (10 * CLOCK_MS)

TEST (test_first_connection)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  g_autoptr (StateLog) log = state_log_new (client);
  assert_int_equal (curator_client_get_connection_state (client),
                    CURATOR_CONNECTION_STATE_SUSPENDED);
  assert_int_equal (curator_client_get_session_id (client), 0);
  assert_false (curator_client_block_until_connected (client, 0, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_NOT_STARTED);
  client_start (client);
  assert_int_equal (curator_client_get_connection_state (client),
                    CURATOR_CONNECTION_STATE_CONNECTED);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_CONNECTED, 1, LONG_MS));
  assert_true (log->thread != g_thread_self ());
  g_autofree char *seen = state_log_to_string (log);
  assert_string_equal (seen, "CONNECTED");
  assert_int_not_equal (curator_client_get_session_id (client), 0);
  assert_int_equal (curator_client_get_session_timeout_ms (client), CLOCK_MS);
  assert_false (curator_client_start (client, &error));
  assert_curator_error (&error, CURATOR_ERROR_ALREADY_STARTED);
  curator_client_close (client);
}

/* --- what happens to a connection, what a listener hears, and what becomes of the session and a
 * hold ---- */

static void
cut_twice (Fixture *fixture, StateLog *log)
{
  for (int i = 1; i <= 2; i++) {
    proxy_set_mode (fixture->proxy, PROXY_REFUSE);
    assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_SUSPENDED, i, LONG_MS));
    proxy_set_mode (fixture->proxy, PROXY_PASS);
    assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, i, LONG_MS));
  }
}

static void
expire (Fixture *fixture, StateLog *log)
{
  fixture_expire (fixture);
}

/* The client's own clock ends the session. */
static void
cut_for_long (Fixture *fixture, StateLog *log)
{
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_LOST, 1, LONG_MS));
  proxy_set_mode (fixture->proxy, PROXY_PASS);
}

static void
restart_server (Fixture *fixture, StateLog *log)
{
  assert_true (zk_server_restart (fixture->server));
}

static void
stop_server_for_long (Fixture *fixture, StateLog *log)
{
  zk_server_kill (fixture->server);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_LOST, 1, LONG_MS));
  assert_true (zk_server_restart (fixture->server));
}

#define LOSES "CONNECTED SUSPENDED LOST RECONNECTED"

static const struct
{
  const char *name;
  void (*strike) (Fixture *fixture, StateLog *log);
  gint64 session_ms;
  const char *states;
} fates[] = {
  { "cut twice", cut_twice, PATIENT_MS, "CONNECTED SUSPENDED RECONNECTED SUSPENDED RECONNECTED" },
  { "the session expires", expire, PATIENT_MS, LOSES },
  { "cut for long", cut_for_long, CLOCK_MS, LOSES },
  { "the server restarts", restart_server, PATIENT_MS, "CONNECTED SUSPENDED RECONNECTED" },
  { "the server is away for long", stop_server_for_long, CLOCK_MS, LOSES },
};

/* Also Curator's testKillSession, testReconnectWithoutExpiration, testSessionExpirationFromTimeout,
 * testReconnect and testReconnectAfterLoss: locks work again, and a hold is lost with its session
 * only. */
TEST (test_fates_of_a_connection)
{
  for (gsize i = 0; i < G_N_ELEMENTS (fates); i++) {
    g_autoptr (CuratorClient) client = client_new (fixture_proxy (fixture));
    g_autoptr (StateLog) log = state_log_new (client);
    const gboolean loses = strcmp (fates[i].states, LOSES) == 0;
    print_message ("%s\n", fates[i].name);
    curator_client_set_session_timeout (client, fates[i].session_ms);
    client_start (client);
    const gint64 session = curator_client_get_session_id (client);
    g_autoptr (CuratorLock) lock = mutex_new (client, "/states/fates");
    assert_acquired (lock);
    fates[i].strike (fixture, log);
    assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
    g_autofree char *seen = state_log_to_string (log);
    assert_string_equal (seen, fates[i].states);
    /* A server that comes back may still know the session. */
    if (!loses || fates[i].strike == expire)
      assert_int_equal (curator_client_get_session_id (client) != session, loses);
    assert_int_equal (curator_lease_get_state (held_lease (lock)) == CURATOR_LEASE_STATE_LOST,
                      loses);
    assert_released (lock);
    assert_acquired (lock);
    assert_released (lock);
    assert_no_residue (fixture, "/states/fates", LONG_MS);
    curator_client_close (client);
  }
}

TEST (test_block_until_connected_in_vain)
{
  g_autofree char *host = zk_server_new_host ();
  g_autofree char *address = g_strdup_printf ("%s:%d", host, zk_server_free_port (host));
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_new (address);
  g_autoptr (StateLog) log = state_log_new (client);
  curator_client_set_session_timeout (client, 1000);
  curator_client_set_connection_timeout (client, SESSION_MS);
  assert_ok (curator_client_start (client, &error), &error);
  const gint64 start = wait_now_ms ();
  assert_false (curator_client_block_until_connected (client, 700, NULL, &error));
  assert_true (wait_now_ms () - start >= 700);
  assert_curator_error (&error, CURATOR_ERROR_CONNECTION_LOST);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_cancellable_cancel (cancellable);
  assert_false (curator_client_block_until_connected (client, LONG_MS, cancellable, &error));
  assert_error (&error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  /* TestNeverConnected */
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_LOST, 1, LONG_MS));
  curator_client_close (client);
}

/* The client connects by itself when the server starts late, or comes back. */
TEST (test_server_comes_late)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_new (fixture_proxy (fixture));
  g_autoptr (StateLog) log = state_log_new (client);
  for (int outage = 1; outage <= 2; outage++) {
    proxy_set_mode (fixture->proxy, PROXY_REFUSE);
    if (outage == 1)
      assert_ok (curator_client_start (client, &error), &error);
    else
      assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_SUSPENDED, 1, LONG_MS));
    assert_false (curator_client_block_until_connected (client, 300, NULL, &error));
    assert_curator_error (&error, CURATOR_ERROR_CONNECTION_LOST);
    proxy_set_mode (fixture->proxy, PROXY_PASS);
    assert_ok (curator_client_block_until_connected (client, LONG_MS, NULL, &error), &error);
  }
  assert_ok (curator_client_block_until_connected (client, 0, NULL, &error), &error);
  assert_ok (curator_client_block_until_connected (client, CURATOR_WAIT_FOREVER, NULL, &error),
             &error);
  curator_client_close (client);
}

typedef struct
{
  int calls;
  int destroyed;
} Listener;

static void
count_call (CuratorClient *client, CuratorConnectionState state, gpointer user_data)
{
  g_atomic_int_inc (&((Listener *) user_data)->calls);
}

static void
count_destroy (gpointer data)
{
  g_atomic_int_inc (&((Listener *) data)->destroyed);
}

TEST (test_removed_listener_is_silent)
{
  g_autoptr (CuratorClient) client = client_new (fixture_proxy (fixture));
  g_autoptr (StateLog) log = state_log_new (client);
  Listener removed = { 0 }, kept = { 0 };
  guint id = curator_client_add_state_listener (client, count_call, &removed, count_destroy);
  guint other = curator_client_add_state_listener (client, count_call, &kept, count_destroy);
  assert_true (id != 0 && other != 0 && id != other);
  curator_client_remove_state_listener (client, id);
  curator_client_remove_state_listener (client, 12345);
  client_start (client);
  proxy_cut (fixture->proxy);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
  assert_int_equal (g_atomic_int_get (&removed.calls), 0);
  assert_int_equal (g_atomic_int_get (&removed.destroyed), 1);
  curator_client_close (client);
  g_clear_pointer (&client, curator_client_unref);
  assert_soon (g_atomic_int_get (&kept.destroyed) != 0);
  assert_true (g_atomic_int_get (&kept.calls) >= 3);
  assert_int_equal (g_atomic_int_get (&kept.destroyed), 1);
}

static int
start_patient (void **state)
{
  return fixture_start_for_sessions (state, PATIENT_MS);
}

SUITE ("states", start_patient, fixture_stop)
