/* Curator's own tests of the framework and of its client, by their names, as far as locks depend on
 * them. tests/README.md has the whole table. */
#include "integration/fixture.h"
#include "support/held_lease.h"

/* TestBlockUntilConnected: currently connected. */
static void
test_block_until_connected_currently_connected (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  assert_ok (curator_client_block_until_connected (client, 0, NULL, &error), &error);
  assert_ok (curator_client_block_until_connected (client, CURATOR_WAIT_FOREVER, NULL, &error),
             &error);
}

/* currently never connected */
static void
test_block_until_connected_never_connected (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  assert_ok (curator_client_start (client, &error), &error);
  assert_ok (curator_client_block_until_connected (client, 5000, NULL, &error), &error);
}

/* currently awaiting reconnect */
static void
test_block_until_connected_awaiting_reconnect (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_new (fixture_proxy (fixture));
  g_autoptr (StateLog) log = state_log_new (client);
  client_start (client);
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  assert_true (state_log_wait (log, CURATOR_STATE_SUSPENDED, 1, LONG_MS));
  assert_false (curator_client_block_until_connected (client, 100, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_TIMED_OUT);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_ok (curator_client_block_until_connected (client, 5000, NULL, &error), &error);
  curator_client_close (client);
}

/* tight loop: fifty clients, one after another */
static void
test_block_until_connected_tight_loop (void **state)
{
  Fixture *fixture = *state;
  for (int i = 0; i < 50; i++)
    curator_client_unref (client_connect (fixture_server (fixture)));
}

/* TestNeverConnected: no server at all, LOST in the end. */
static void
test_never_connected (void **state)
{
  g_autofree char *host = zk_server_new_host ();
  g_autofree char *address = g_strdup_printf ("%s:%d", host, zk_server_free_port (host));
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_new (address);
  curator_client_set_session_timeout (client, 1000);
  g_autoptr (StateLog) log = state_log_new (client);
  assert_ok (curator_client_start (client, &error), &error);
  assert_true (state_log_wait (log, CURATOR_STATE_LOST, 1, LONG_MS));
  curator_client_close (client);
}

/* TestEnabledSessionExpiredState.testKillSession */
static void
test_kill_session (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (CuratorClient) client = client_new (fixture_proxy (fixture));
  g_autoptr (StateLog) log = state_log_new (client);
  client_start (client);
  fixture_expire (fixture);
  assert_true (state_log_wait (log, CURATOR_STATE_RECONNECTED, 1, LONG_MS));
  g_autofree char *seen = state_log_to_string (log);
  assert_string_equal (seen, "CONNECTED SUSPENDED LOST RECONNECTED");
  curator_client_close (client);
}

/* testReconnectWithoutExpiration: the server restarts well within the session's time. */
static void
test_reconnect_without_expiration (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  curator_client_set_session_timeout (client, 10000);
  g_autoptr (StateLog) log = state_log_new (client);
  client_start (client);
  assert_true (zk_server_restart (fixture->server));
  assert_true (state_log_wait (log, CURATOR_STATE_RECONNECTED, 1, LONG_MS));
  g_autofree char *seen = state_log_to_string (log);
  assert_string_equal (seen, "CONNECTED SUSPENDED RECONNECTED");
  curator_client_close (client);
}

/* testSessionExpirationFromTimeout and …WithRestart: the server is down for longer than the session
 * timeout; our own clock reports LOST, and a new session follows when it is back. */
static void
test_session_expiration_from_timeout_with_restart (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  curator_client_set_session_timeout (client, 1500);
  g_autoptr (StateLog) log = state_log_new (client);
  client_start (client);
  gint64 session = curator_client_get_session_id (client);
  zk_server_kill (fixture->server);
  assert_true (state_log_wait (log, CURATOR_STATE_LOST, 1, LONG_MS));
  assert_true (zk_server_restart (fixture->server));
  assert_true (state_log_wait (log, CURATOR_STATE_RECONNECTED, 1, LONG_MS));
  g_autofree char *seen = state_log_to_string (log);
  assert_string_equal (seen, "CONNECTED SUSPENDED LOST RECONNECTED");
  assert_int_not_equal (curator_client_get_session_id (client), session);
  curator_client_close (client);
}

/* The server restarts between acquire and release: BasicTests.testReconnect, and that the hold is
 * the same one. */
static void
test_reconnect (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  curator_client_set_session_timeout (client, 10000);
  g_autoptr (StateLog) log = state_log_new (client);
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/framework/reconnect");
  assert_acquired (lock);
  assert_true (zk_server_restart (fixture->server));
  assert_true (state_log_wait (log, CURATOR_STATE_RECONNECTED, 1, LONG_MS));
  assert_released (lock);
  assert_acquired (lock);
  assert_released (lock);
  assert_no_residue (fixture, "/framework/reconnect", 3000);
  curator_client_close (client);
}

/* BasicTests.testExpiredSession, TestFrameworkEdges.testSessionKilled: the client is usable after
 * an expiry. */
static void
test_session_killed (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/framework/killed");
  for (int i = 0; i < 3; i++)
    {
      fixture_expire (fixture);
      assert_acquired (lock);
      assert_released (lock);
    }
  assert_no_residue (fixture, "/framework/killed", 3000);
}

/* TestFrameworkEdges.testProtectionWithKilledSession: the session expires while the create is in
 * flight; one node remains, that of the new session. */
static void
test_protection_with_killed_session (void **state)
{
  Fixture *fixture = *state;
  static const ProxyAction actions[] = { PROXY_HOLD_REQUEST, PROXY_HOLD_REPLY };
  for (gsize i = 0; i < G_N_ELEMENTS (actions); i++)
    {
      g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
      g_autoptr (CuratorLock) lock = mutex_new (client, "/framework/protected");
      raw_zk_make_path (fixture->raw, "/framework/protected");
      proxy_arm (fixture->proxy, PROXY_CREATE2, 1, 1, actions[i]);
      gint64 dead = 0;
      g_autoptr (Contender) contender = contender_start (lock, LONG_MS, NULL);
      assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
      assert_true (expire_last_session (fixture->proxy, fixture_server (fixture), &dead));
      proxy_cut (fixture->proxy); /* no answer of the expired session arrives */
      contender_assert_granted (contender);
      assert_int_not_equal (contender->session, dead);
      assert_children (fixture, "/framework/protected", 1, 3000);
      assert_int_equal (raw_zk_owner (fixture->raw, contender->node), contender->session);
      contender_join (contender);
      assert_no_residue (fixture, "/framework/protected", 3000);
    }
}

/* TestFrameworkEdges.testProtectedCreateNodeDeletion: the answer is lost and nothing is retried;
 * the node is removed in the background, with and without a namespace. */
static void
test_protected_create_node_deletion (void **state)
{
  Fixture *fixture = *state;
  static const char *const namespaces[] = { "", "nsnode" };
  for (gsize i = 0; i < G_N_ELEMENTS (namespaces); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (CuratorRetryPolicy) never = curator_retry_policy_new_n_times (0, 0);
      g_autoptr (CuratorClient) client = curator_client_new (fixture_proxy (fixture), never);
      curator_client_set_session_timeout (client, 10000);
      assert_ok (curator_client_set_namespace (client, namespaces[i], &error), &error);
      client_start (client);
      g_autofree char *path = g_strdup_printf ("%s%s/framework/deletion",
                                               *namespaces[i] != '\0' ? "/" : "", namespaces[i]);
      raw_zk_make_path (fixture->raw, path);
      g_autoptr (CuratorLock) lock = mutex_new (client, "/framework/deletion");
      proxy_arm (fixture->proxy, PROXY_CREATE2, 1, 1, PROXY_CUT_BEFORE_REPLY);
      assert_not_acquired (lock, LONG_MS, CURATOR_ERROR_CONNECTION_LOST);
      assert_no_residue (fixture, path, 3000);
    }
}

typedef struct
{
  int asked;
} Policy;

static gboolean
allow_twice (guint retry_count, gint64 elapsed_ms, gint64 *sleep_ms, gpointer user_data)
{
  Policy *policy = user_data;
  *sleep_ms = 10;
  return g_atomic_int_add (&policy->asked, 1) < 2;
}

/* TestFrameworkEdges.testRetry, testFailure: the policy is consulted, and when it refuses a retry
 * the error is returned. */
static void
test_retry_and_failure (void **state)
{
  Fixture *fixture = *state;
  Policy asked = { 0 };
  g_autoptr (CuratorRetryPolicy) policy =
      curator_retry_policy_new_custom (allow_twice, &asked, NULL);
  g_autoptr (CuratorClient) client = curator_client_new (fixture_proxy (fixture), policy);
  curator_client_set_session_timeout (client, SESSION_MS);
  curator_client_set_connection_timeout (client, 200);
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/framework/retry");
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  assert_not_acquired (lock, 60000, CURATOR_ERROR_CONNECTION_LOST);
  assert_true (g_atomic_int_get (&asked.asked) >= 3);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
}

/* TestFrameworkEdges.testReconnectAfterLoss, TestFramework.testSessionLossWithLongTimeout. */
static void
test_reconnect_after_loss (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (CuratorClient) client = client_new (fixture_proxy (fixture));
  curator_client_set_session_timeout (client, 1500);
  g_autoptr (StateLog) log = state_log_new (client);
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/framework/loss");
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  assert_true (state_log_wait (log, CURATOR_STATE_LOST, 1, LONG_MS));
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_acquired (lock);
  assert_released (lock);
  curator_client_close (client);
}

/* TestFrameworkEdges.testQuickClose */
static void
test_quick_close (void **state)
{
  Fixture *fixture = *state;
  for (int i = 0; i < 20; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
      assert_ok (curator_client_start (client, &error), &error);
      wait_ms (i % 4);
      curator_client_close (client);
    }
}

/* TestFrameworkEdges.testBackgroundLatencyUnSleep: a call that waits for the connection continues
 * as soon as there is one, not at the next retry. */
static void
test_background_latency_un_sleep (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorRetryPolicy) slow = curator_retry_policy_new_forever (60000);
  g_autoptr (CuratorClient) client = curator_client_new (fixture_proxy (fixture), slow);
  curator_client_set_session_timeout (client, SESSION_MS);
  g_autoptr (StateLog) log = state_log_new (client);
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  assert_ok (curator_client_start (client, &error), &error);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/framework/latency");
  g_autoptr (Contender) contender = contender_start (lock, CURATOR_WAIT_FOREVER, NULL);
  wait_ms (300);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_true (state_log_wait (log, CURATOR_STATE_CONNECTED, 1, LONG_MS));
  assert_true (contender_wait (contender, 1000));
  assert_true (contender->acquired);
  contender_join (contender);
  curator_client_close (client);
}

/* TestCreate.testForbiddenAncestors: creating parents needs no READ permission on nodes above
 * them. */
static void
test_forbidden_ancestors (void **state)
{
  Fixture *fixture = *state;
  assert_int_equal (raw_zk_make_path (fixture->raw, "/forbidden/middle"), ZOK);
  assert_int_equal (
      raw_zk_set_world_acl (fixture->raw, "/forbidden/middle", ZOO_PERM_CREATE | ZOO_PERM_DELETE),
      ZOK);
  assert_int_equal (raw_zk_set_world_acl (fixture->raw, "/forbidden", ZOO_PERM_DELETE), ZOK);
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/forbidden/middle/lock/below");
  assert_acquired (lock);
  assert_released (lock);
}

/* TestFailedDeleteManager.testLostSession and testWithNamespaceAndLostSession: the delete fails
 * while the server is down and is retried when it is back. */
static void
guaranteed_delete (Fixture *fixture, const char *namespace_, const char *full_path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  curator_client_set_session_timeout (client, 10000);
  curator_client_set_connection_timeout (client, 500);
  assert_ok (curator_client_set_namespace (client, namespace_, &error), &error);
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/framework/delete");
  assert_acquired (lock);
  zk_server_kill (fixture->server);
  assert_false (curator_lock_release (lock, 0, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_RELEASE_PENDING);
  g_autoptr (StateLog) log = state_log_new (client);
  assert_true (zk_server_restart (fixture->server));
  /* A server that is just starting may accept a connection and not answer for a while: count the
   * time from the reconnect. */
  assert_true (state_log_wait (log, CURATOR_STATE_RECONNECTED, 1, LONG_MS));
  assert_no_residue (fixture, full_path, 3000);
  curator_client_close (client);
}

static void
test_failed_delete_lost_session (void **state)
{
  guaranteed_delete (*state, NULL, "/framework/delete");
}

static void
test_failed_delete_with_namespace (void **state)
{
  guaranteed_delete (*state, "aisa", "/aisa/framework/delete");
}

/* testGuaranteedDeleteOnNonExistentNode: deleting a missing node is no failure. */
static void
test_guaranteed_delete_on_non_existent_node (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/framework/nothing");
  assert_acquired (lock);
  assert_int_equal (raw_zk_delete (fixture->raw, curator_lease_get_node_path (held_lease (lock))),
                    ZOK);
  assert_released (lock);
  wait_ms (200);
  proxy_reset_counts (fixture->proxy);
  wait_ms (500);
  assert_int_equal (proxy_count (fixture->proxy, PROXY_DELETE), 0);
}

/* TestWithCluster.testSessionSurvives: the connected server dies, another one takes over the
 * session. */
static void
test_session_survives (void **state)
{
  ZkEnsemble *ensemble = zk_ensemble_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
  assert_non_null (ensemble);
  g_autoptr (CuratorClient) client = client_new (zk_ensemble_connect_string (ensemble));
  curator_client_set_session_timeout (client, 10000);
  g_autoptr (StateLog) log = state_log_new (client);
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/framework/cluster");
  assert_acquired (lock);
  gint64 session = curator_client_get_session_id (client);
  FourLetterPackets packets;
  int connected = -1;
  for (int i = 0; i < 3; i++)
    {
      const char *address = zk_server_address (zk_ensemble_server (ensemble, i));
      connected = four_letter_packets (address, session, &packets) ? i : connected;
    }
  assert_true (connected >= 0);
  zk_server_kill (zk_ensemble_server (ensemble, connected));
  assert_true (state_log_wait (log, CURATOR_STATE_SUSPENDED, 1, LONG_MS));
  assert_true (state_log_wait (log, CURATOR_STATE_RECONNECTED, 1, LONG_MS));
  assert_int_equal (curator_client_get_session_id (client), session);
  assert_int_equal (state_log_count (log, CURATOR_STATE_LOST), 0);
  assert_true (curator_lock_is_owned_by_current_thread (lock));
  assert_released (lock);
  curator_client_close (client);
  zk_ensemble_stop (ensemble);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    heal_and_test (test_block_until_connected_currently_connected),
    heal_and_test (test_block_until_connected_never_connected),
    heal_and_test (test_block_until_connected_awaiting_reconnect),
    heal_and_test (test_block_until_connected_tight_loop),
    heal_and_test (test_never_connected),
    heal_and_test (test_kill_session),
    heal_and_test (test_reconnect_without_expiration),
    heal_and_test (test_session_expiration_from_timeout_with_restart),
    heal_and_test (test_reconnect),
    heal_and_test (test_session_killed),
    heal_and_test (test_protection_with_killed_session),
    heal_and_test (test_protected_create_node_deletion),
    heal_and_test (test_retry_and_failure),
    heal_and_test (test_reconnect_after_loss),
    heal_and_test (test_quick_close),
    heal_and_test (test_background_latency_un_sleep),
    heal_and_test (test_forbidden_ancestors),
    heal_and_test (test_failed_delete_lost_session),
    heal_and_test (test_failed_delete_with_namespace),
    heal_and_test (test_guaranteed_delete_on_non_existent_node),
    heal_and_test (test_session_survives),
  };
  return cmocka_run_group_tests_name ("Curator's framework tests", tests, fixture_start,
                                      fixture_stop);
}
