/* Curator's own tests of the framework and of its client, by their names, as far as locks depend on
 * them. integration/ported.md has the whole table. */
#include "integration/fixture.h"
#include "support/held_lease.h"

/* TestFrameworkEdges.testProtectionWithKilledSession: the session expires while the create is in
 * flight; one node remains, that of the new session. */
TEST (test_protection_with_killed_session)
{
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
TEST (test_protected_create_node_deletion)
{
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

/* TestFrameworkEdges.testQuickClose */
TEST (test_quick_close)
{
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
TEST (test_background_latency_un_sleep)
{
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
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_CONNECTED, 1, LONG_MS));
  assert_true (contender_wait (contender, 1000));
  assert_true (contender->acquired);
  contender_join (contender);
  curator_client_close (client);
}

/* TestCreate.testForbiddenAncestors: creating parents needs no READ permission on nodes above
 * them. */
TEST (test_forbidden_ancestors)
{
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
  assert_false (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_RELEASE_PENDING);
  g_autoptr (StateLog) log = state_log_new (client);
  assert_true (zk_server_restart (fixture->server));
  /* A server that is just starting may accept a connection and not answer for a while: count the
   * time from the reconnect. */
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
  assert_no_residue (fixture, full_path, 3000);
  curator_client_close (client);
}

TEST (test_failed_delete_with_namespace)
{
  guaranteed_delete (fixture, "aisa", "/aisa/framework/delete");
}

/* testGuaranteedDeleteOnNonExistentNode: deleting a missing node is no failure. */
TEST (test_guaranteed_delete_on_non_existent_node)
{
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
TEST (test_session_survives)
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
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_SUSPENDED, 1, LONG_MS));
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
  assert_int_equal (curator_client_get_session_id (client), session);
  assert_int_equal (state_log_count (log, CURATOR_CONNECTION_STATE_LOST), 0);
  assert_true (curator_lock_is_owned_by_current_thread (lock));
  assert_released (lock);
  curator_client_close (client);
  zk_ensemble_stop (ensemble);
}

SUITE ("Curator's framework tests", fixture_start, fixture_stop)
