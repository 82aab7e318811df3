/* At the limits of the server and of libzookeeper. Payloads: arguments/test_extremes. */
#include "integration/taking.h"

/* A list of more than 1 MiB, at which Java clients close their connection. */
TEST (test_p10_twenty_thousand_in_front)
{
  const char *path = "/limits/queue";
  const char *prefix = "_c_01234567-89ab-4def-8123-456789abcdef-lock-";
  enum
  {
    N = 20000
  };
  g_autoptr (GError) error = NULL;
  raw_zk_make_path (fixture->raw, path);
  assert_int_equal (raw_zk_create_many (fixture->raw, path, prefix, N), ZOK);
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  const int connections = proxy_accepted (fixture->proxy);
  g_autoptr (CuratorLock) lock = mutex_new (client, path);
  for (int i = 0; i < 3; i++)
    assert_not_acquired (lock, 8000, CURATOR_ERROR_TIMED_OUT);
  g_auto (GStrv) nodes = curator_lock_get_participant_nodes (lock, LONG_MS, NULL, &error);
  assert_ok (nodes != NULL, &error);
  assert_true (g_strv_length (nodes) >= N);
  assert_int_equal (proxy_accepted (fixture->proxy), connections);
  assert_children (fixture, path, N, LONG_MS);
  curator_client_close (client);
}

/* A third of the waiters is a semaphore's, which watches children. plant: what is in front of the
 * waiter. */
static Taking *
start_waiter (Fixture *fixture, CuratorClient *client, int i, char **plant)
{
  const gboolean is_semaphore = i % 3 == 0;
  g_autofree char *path = g_strdup_printf ("/little/%d", i);
  g_autofree char *folder = g_strconcat (path, is_semaphore ? "/leases" : "", NULL);
  g_autofree char *node = g_strconcat (folder, is_semaphore ? "/lease-" : "/lock-", NULL);

  raw_zk_make_path (fixture->raw, folder);
  assert_int_equal (raw_zk_create (fixture->raw, node, NULL, ZOO_EPHEMERAL_SEQUENTIAL, plant), ZOK);
  if (is_semaphore) {
    g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, path, 1);
    return taking_start (semaphore, 1, CURATOR_WAIT_FOREVER, NULL);
  }
  g_autoptr (CuratorLock) lock = mutex_new (client, path);
  return taking_start_lock (lock, CURATOR_WAIT_FOREVER, NULL);
}

/* This server takes less than the list of watches that libzookeeper sends at each reconnect. The
 * session and the places in the queues stay, also when it happens again. */
TEST (test_a_server_takes_less_than_the_list_of_watches)
{
  static const char *const options[] = { "-Djute.maxbuffer=4096", NULL };
  enum
  {
    N = 100
  };
  Taking *takings[N];
  char *plants[N];
  Fixture *little = NULL;
  assert_int_equal (fixture_start_with ((void **) &little, options), 0);
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (little));
  const gint64 session = curator_client_get_session_id (client);

  for (int i = 0; i < N; i++)
    takings[i] = start_waiter (little, client, i, &plants[i]);
  assert_soon (four_letter_watches_of_session (fixture_server (little), session) >= N);
  for (int cut = 0; cut < 3; cut++) {
    const int n_connections = proxy_accepted (little->proxy);
    proxy_cut (little->proxy);
    assert_soon (proxy_accepted (little->proxy) > n_connections);
    assert_soon (four_letter_watches_of_session (fixture_server (little), session) >= N);
    print_message ("%d connections\n", proxy_accepted (little->proxy) - n_connections);
  }
  for (int i = 0; i < N; i++) {
    assert_false (taking_has_returned (takings[i]));
    assert_int_equal (raw_zk_delete (little->raw, plants[i]), ZOK);
    taking_assert_granted (takings[i]);
    assert_int_equal (curator_lease_get_session_id (taking_lease (takings[i], 0)), session);
    taking_give_back (takings[i]);
    taking_free (takings[i]);
    g_free (plants[i]);
  }
  curator_client_close (client);
  fixture_stop ((void **) &little);
}

/* Set by zoo_set_debug_level(); declared in no header. */
extern ZooLogLevel logLevel;

/* ZOOKEEPER-4809: at its debug level libzookeeper reads freed memory. We must not turn that on. */
TEST (test_p36_debug_log_is_off)
{
  zoo_set_debug_level (ZOO_LOG_LEVEL_DEBUG);
  g_autoptr (CuratorClient) client G_GNUC_UNUSED = client_connect (fixture_server (fixture));
  assert_in_range (logLevel, ZOO_LOG_LEVEL_ERROR, ZOO_LOG_LEVEL_WARN);
}

SUITE ("limits", fixture_start_calm, fixture_stop)
