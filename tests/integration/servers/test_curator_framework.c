/* Curator's own tests of the framework and of its client, by their names, as far as locks depend on
 * them. integration/ported.md has the whole table. */
#include "integration/taking.h"

#define N_CLIENTS 8

/* TestFrameworkEdges.testProtectedCreateNodeDeletion: the answer is lost and nothing is retried;
 * the node is removed in the background, with and without a namespace. */
TEST (test_protected_create_node_deletion)
{
  static const char *const namespaces[] = { "", "nsnode" };
  for (gsize i = 0; i < G_N_ELEMENTS (namespaces); i++) {
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
    assert_no_residue (fixture, path, LONG_MS);
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
  assert_true (contender_wait (contender, LONG_MS / 2));
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
  g_autoptr (ZkEnsemble) ensemble = zk_ensemble_start (LONG_SESSION_MS / 20, NULL);
  assert_non_null (ensemble);
  g_autoptr (CuratorClient) client = client_new (zk_ensemble_connect_string (ensemble));
  curator_client_set_session_timeout (client, LONG_SESSION_MS);
  g_autoptr (StateLog) log = state_log_new (client);
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/framework/cluster");
  assert_acquired (lock);
  gint64 session = curator_client_get_session_id (client);
  FourLetterPackets packets;
  int connected = -1;
  for (int i = 0; i < 3; i++) {
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
}

/* TestInterProcessSemaphoreCluster.testCluster: clients of an ensemble take turns; without a quorum
 * no client is granted, with two of three servers they continue. */
typedef struct
{
  CuratorClient *client;
  CuratorSemaphore *semaphore;
  int *turns; /* of all clients */
  int *stop;
  int unexpected;
} Worker;

static void *
take_turns (void *data)
{
  Worker *worker = data;
  while (!g_atomic_int_get (worker->stop)) {
    g_autoptr (GError) error = NULL;
    g_autoptr (CuratorLease) lease =
        curator_semaphore_acquire (worker->semaphore, 500, NULL, &error);
    if (lease != NULL) {
      g_atomic_int_inc (worker->turns);
      wait_ms (5);
      /* Without a quorum, a release that is not confirmed in time is no failure. */
      worker->unexpected +=
          !curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, &error)
          && !g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_RELEASE_PENDING);
    } else {
      worker->unexpected +=
          !g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT)
          && !g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_NO_ANSWER)
          && !g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_CONNECTION_LOST);
    }
  }
  return NULL;
}

TEST (test_cluster)
{
  g_autoptr (ZkEnsemble) ensemble = zk_ensemble_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
  int turns = 0;
  int stop = 0;
  Worker workers[N_CLIENTS];
  pthread_t threads[N_CLIENTS];
  assert_non_null (ensemble);
  for (int i = 0; i < N_CLIENTS; i++) {
    CuratorClient *client = client_connect (zk_ensemble_connect_string (ensemble));
    workers[i] =
        (Worker){ client, semaphore_new (client, "/cluster/semaphore", 1), &turns, &stop, 0 };
    pthread_create (&threads[i], NULL, take_turns, &workers[i]);
  }
  assert_counter (&turns, 100, LONG_MS);

  const int leader = zk_ensemble_leader (ensemble);
  assert_true (leader >= 0);
  zk_server_kill (zk_ensemble_server (ensemble, leader));
  zk_server_kill (zk_ensemble_server (ensemble, (leader + 1) % 3));
  for (int i = 0; i < N_CLIENTS; i++)
    assert_soon (!curator_client_block_until_connected (workers[i].client, 0, NULL, NULL));
  const int before = g_atomic_int_get (&turns);
  wait_ms (1500);
  assert_int_equal (g_atomic_int_get (&turns), before);

  assert_true (zk_server_relaunch (zk_ensemble_server (ensemble, leader)));
  assert_counter (&turns, before + 50, 2 * LONG_MS);
  g_atomic_int_set (&stop, 1);
  for (int i = 0; i < N_CLIENTS; i++) {
    pthread_join (threads[i], NULL);
    assert_int_equal (workers[i].unexpected, 0);
    curator_semaphore_unref (workers[i].semaphore);
    curator_client_unref (workers[i].client);
  }
}

SUITE ("Curator's framework tests", fixture_start, fixture_stop)
