/* Sessions that expire: while waiting, while holding, detected by the server and by our own
 * clock. */
#include "integration/fixture.h"
#include "support/held_lease.h"
#include "support/metronome.h"

#include <poll.h>

/* The k-th request after the wake-up, the proof for the grant, reaches an expired session: the
 * proxy holds it back while the session expires. */
static void
expire_at (Fixture *fixture, int k)
{
  g_autofree char *path = g_strdup_printf ("/expiry/grant-%d", k);
  g_autoptr (CuratorClient) direct = client_connect (fixture_server (fixture));
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorLock) theirs = mutex_new (direct, path);
  g_autoptr (CuratorLock) lock = mutex_new (client, path);
  g_autoptr (Contender) holder = contender_of (theirs);
  g_autoptr (Contender) waiter = contender_start (lock, 60000, NULL);
  assert_children (fixture, path, 2, LONG_MS);
  wait_ms (50);

  gint64 dead = 0;
  proxy_arm (fixture->proxy, PROXY_ANY_REQUEST, k, 1, PROXY_HOLD_REQUEST);
  contender_join (holder);
  assert_soon (proxy_fired (fixture->proxy) > 0 || contender_has_returned (waiter));
  gboolean fired = proxy_fired (fixture->proxy) > 0;
  /* A grant before the expiry is correct. */
  gboolean before = contender_has_returned (waiter);
  assert_true (expire_last_session (fixture->proxy, fixture_server (fixture), &dead));
  proxy_disarm (fixture->proxy);
  proxy_let_go (fixture->proxy);
  contender_assert_granted (waiter);
  if (!before) {
    assert_int_not_equal (waiter->session, dead);
    assert_int_equal (raw_zk_owner (fixture->raw, waiter->node), waiter->session);
  }
  print_message ("request %d: %s, granted %s the expiry\n", k, fired ? "reached" : "not sent",
                 before ? "before" : "after");
  contender_join (waiter);
  assert_no_residue (fixture, path, LONG_MS);
}

TEST (test_p22_never_granted_on_a_dead_node)
{
  for (int k = 1; k <= 3; k++)
    expire_at (fixture, k);
}

/* The session expires while the answer to the create is in flight. The next session finds a node of
 * that name, as if the server had not removed the expired session's node yet. A client that takes
 * that node for its own has a hold that ends with another session. */
TEST (test_p3_node_of_an_earlier_session)
{
  const char *path = "/expiry/create";
  gint64 dead = 0;
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, path);
  raw_zk_make_path (fixture->raw, path);
  proxy_arm (fixture->proxy, PROXY_CREATE2, 1, 1, PROXY_HOLE_BEFORE_REPLY);
  g_autoptr (Contender) contender = contender_start (lock, 60000, NULL);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  assert_children (fixture, path, 1, LONG_MS);
  g_auto (GStrv) names = raw_zk_children (fixture->raw, path);
  g_autofree char *node = g_strconcat (path, "/", names[0], NULL);
  assert_true (expire_last_session (fixture->proxy, fixture_server (fixture), &dead));
  assert_true (raw_zk_wait_gone (fixture->raw, node, LONG_MS));
  assert_int_equal (raw_zk_create (fixture->raw, node, "", ZOO_EPHEMERAL, NULL), ZOK);
  proxy_cut (fixture->proxy);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  contender_assert_granted (contender);
  assert_string_not_equal (contender->node, node);
  assert_int_not_equal (contender->session, dead);
  assert_int_equal (raw_zk_owner (fixture->raw, contender->node), contender->session);
  contender_join (contender);
  assert_no_residue (fixture, path, LONG_MS);
}

/* A server that no longer knows the session opens a new one without notice. */
TEST (test_p27_new_session_unannounced)
{
  g_autoptr (CuratorClient) client = client_connect_for (fixture_proxy (fixture), 3 * SESSION_MS);
  g_autoptr (StateLog) log = state_log_new (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/expiry/silent");
  assert_acquired (lock);
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (lock);
  gint64 before = curator_client_get_session_id (client);
  proxy_forget_sessions (fixture->proxy, TRUE);
  proxy_cut (fixture->proxy);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_LOST, 1, LONG_MS));
  assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_STATE_LOST);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
  assert_int_not_equal (curator_client_get_session_id (client), before);
  proxy_forget_sessions (fixture->proxy, FALSE);
  assert_released (lock);
  assert_acquired (lock);
  assert_released (lock);
  curator_client_close (client);
}

static void
count_lost (CuratorLease *lease, CuratorLeaseState state, gpointer user_data)
{
  if (state == CURATOR_LEASE_STATE_LOST)
    g_atomic_int_inc ((int *) user_data);
}

/* Notifications to a holder, and the release that it owes before it may acquire again. */
TEST (test_p23_holder_is_notified)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/expiry/hold");
  assert_acquired (lock);
  assert_acquired (lock);
  CuratorLease *lease = held_lease (lock);
  guint64 token = curator_lease_get_fencing_token (lease);
  int told = 0;
  curator_lease_add_listener (lease, count_lost, &told, NULL);
  struct pollfd pfd = { .fd = curator_lease_get_fd (lease), .events = POLLIN };
  assert_true (pfd.fd >= 0);
  assert_int_equal (poll (&pfd, 1, 0), 0);
  assert_true (curator_lease_get_remaining_ms (lease) > 0);

  fixture_expire (fixture);
  assert_int_equal (poll (&pfd, 1, LONG_MS), 1);
  assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_STATE_LOST);
  assert_int_equal (curator_lease_get_remaining_ms (lease), 0);
  assert_soon (g_atomic_int_get (&told) > 0);
  assert_false (curator_lock_is_owned_by_current_thread (lock));
  assert_false (curator_lock_is_acquired_in_this_process (lock));
  assert_true (held_lease (lock) == lease);

  for (int level = 0; level < 2; level++) {
    assert_not_acquired (lock, LONG_MS, CURATOR_ERROR_LOCK_LOST);
    assert_released (lock);
  }
  assert_false (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_NOT_OWNER);
  assert_acquired (lock);
  assert_true (curator_lease_get_fencing_token (held_lease (lock)) > token);
  assert_released (lock);
  assert_no_residue (fixture, "/expiry/hold", LONG_MS);
}

/* The node in front of a waiter is deleted: the waiter keeps its own node and its turn. */
TEST (test_p18_place_is_kept)
{
  const char *path = "/expiry/place";
  CuratorClient *clients[3];
  Contender *contenders[3];
  for (int i = 0; i < 3; i++) {
    clients[i] = client_connect (fixture_server (fixture));
    g_autoptr (CuratorLock) lock = mutex_new (clients[i], path);
    contenders[i] = contender_start (lock, 60000, NULL);
    assert_children (fixture, path, i + 1, LONG_MS);
  }
  g_auto (GStrv) names = raw_zk_children (fixture->raw, path);
  g_autofree char *pushed = g_strconcat (path, "/", names[1], NULL);
  g_autofree char *last = g_strconcat (path, "/", names[2], NULL);
  assert_int_equal (raw_zk_delete (fixture->raw, pushed), ZOK);
  assert_true (contender_wait (contenders[0], LONG_MS));
  contender_join (contenders[0]);
  contender_assert_granted (contenders[2]);
  assert_string_equal (contenders[2]->node, last);
  contender_join (contenders[2]);
  contender_assert_granted (contenders[1]);
  for (int i = 0; i < 3; i++) {
    contender_free (contenders[i]);
    curator_client_unref (clients[i]);
  }
  assert_no_residue (fixture, path, LONG_MS);
}

/* The log writer belongs to the program and may call the client: it would deadlock if a message
 * were logged under the client's mutex. */
static CuratorClient *logged_client;

static GLogWriterOutput
ask_and_write (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
  CuratorClient *client = g_atomic_pointer_get (&logged_client);
  if (client != NULL && level == G_LOG_LEVEL_WARNING)
    curator_client_get_connection_state (client);
  return g_log_writer_default (level, fields, n_fields, NULL);
}

/* In an outage our own clock ends the hold before the server does. Last: the observer expires. */
TEST (test_lost_by_own_clock)
{
  g_autoptr (CuratorClient) client = client_connect_for (fixture_server (fixture), 3 * SESSION_MS);
  g_autoptr (StateLog) log = state_log_new (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/expiry/clock");
  assert_acquired (lock);
  CuratorLease *lease = held_lease (lock);
  g_atomic_pointer_set (&logged_client, client);
  gint64 remaining = curator_lease_get_remaining_ms (lease);
  gint64 timeout = curator_client_get_session_timeout_ms (client);
  assert_true (remaining > 0 && remaining <= timeout);

  zk_server_freeze (fixture->server);
  gint64 frozen_ms = wait_now_ms ();
  assert_soon (curator_lease_get_state (lease) == CURATOR_LEASE_STATE_LOST);
  gint64 took = wait_now_ms () - frozen_ms;
  /* lease.h: no holder believes for longer than its session lives. */
  assert_promised_ms (took, timeout - 1, frozen_ms);
  /* The connection's state follows Curator: SUSPENDED after 2/3 of the session timeout in silence,
   * LOST a whole timeout later. */
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_LOST, 1, LONG_MS));
  assert_int_equal (curator_client_get_connection_state (client), CURATOR_CONNECTION_STATE_LOST);
  g_atomic_pointer_set (&logged_client, NULL);
  zk_server_thaw (fixture->server);

  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
  assert_released (lock);
  assert_acquired (lock);
  assert_released (lock);
  curator_client_close (client);
}

int
main (void)
{
  g_log_set_writer_func (ask_and_write, NULL, NULL);
  metronome_start ();
  return suite_run ("expiry", fixture_start_calm, fixture_stop);
}
