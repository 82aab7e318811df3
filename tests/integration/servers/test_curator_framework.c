/* Curator's own tests of the framework and of its client, by their names, as far as locks depend on
 * them. integration/ported.md has the whole table. */
#include "integration/fixture.h"

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
