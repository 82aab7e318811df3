/* Curator's own tests of semaphores, by their names: TestInterProcessSemaphore, and those of
 * TestInterProcessMutexBase that the semaphore mutex runs. */
#include "integration/taking.h"

#define PATH   "/test/semaphore"
#define LEASES PATH "/leases"
#define LOCKS  PATH "/locks"

typedef struct
{
  int inside;
  int peak;
  int failures;
} Tally;

typedef struct
{
  Tally *tally;
  CuratorSemaphore *semaphore;
  GRand *rand; /* random quantities up to max, or one lease at a time if NULL */
  int max;
  int rounds;
  int hold_ms;
} Client;

static void *
acquire_and_release (void *data)
{
  Client *client = data;
  for (int i = 0; i < client->rounds; i++)
    {
      const int n = client->rand != NULL ? g_rand_int_range (client->rand, 1, client->max + 1) : 1;
      g_autoptr (GPtrArray) leases =
          curator_semaphore_acquire_n (client->semaphore, n, 60000, NULL, NULL);
      if (leases == NULL)
        {
          g_atomic_int_inc (&client->tally->failures);
          return NULL;
        }
      const int inside = g_atomic_int_add (&client->tally->inside, n) + n;
      int peak = g_atomic_int_get (&client->tally->peak);
      while (inside > peak
             && !g_atomic_int_compare_and_exchange (&client->tally->peak, peak, inside))
        {
          peak = g_atomic_int_get (&client->tally->peak);
        }
      wait_ms (client->hold_ms);
      g_atomic_int_add (&client->tally->inside, -n);
      curator_semaphore_return_all (client->semaphore, leases, 0, NULL, NULL);
    }
  return NULL;
}

/* Ten clients, one thread each; returns the most leases held at a time. */
static int
run_clients (Fixture *fixture, int max, int rounds, int hold_ms, gboolean random)
{
  enum
  {
    N = 10
  };
  Tally tally = { 0 };
  CuratorClient *connections[N];
  Client clients[N];
  pthread_t threads[N];
  for (int i = 0; i < N; i++)
    {
      connections[i] = client_connect (fixture_server (fixture));
      clients[i] = (Client){ .tally = &tally, .max = max, .rounds = rounds, .hold_ms = hold_ms };
      clients[i].semaphore = semaphore_new (connections[i], PATH, max);
      clients[i].rand = random ? g_rand_new_with_seed ((guint32) i + 1) : NULL;
    }
  for (int i = 0; i < N; i++)
    pthread_create (&threads[i], NULL, acquire_and_release, &clients[i]);
  for (int i = 0; i < N; i++)
    {
      pthread_join (threads[i], NULL);
      curator_semaphore_unref (clients[i].semaphore);
      g_clear_pointer (&clients[i].rand, g_rand_free);
    }
  assert_no_residue (fixture, LEASES, 3000);
  assert_no_residue (fixture, LOCKS, 3000);
  for (int i = 0; i < N; i++)
    {
      curator_client_close (connections[i]);
      curator_client_unref (connections[i]);
    }
  assert_int_equal (tally.failures, 0);
  return tally.peak;
}

/* testMaxPerSession: ten clients, random quantities, never above the maximum. */
static void
test_max_per_session (void **state)
{
  assert_true (run_clients (*state, 5, 20, 2, TRUE) <= 5);
}

/* testRelease1AtATime: ten clients, five leases: five are held at a time, not more. */
static void
test_release_1_at_a_time (void **state)
{
  assert_int_equal (run_clients (*state, 5, 10, 30, FALSE), 5);
}

/* testReleaseInChunks: 100 threads and eleven leases. */
static void
test_release_in_chunks (void **state)
{
  Fixture *fixture = *state;
  Tally tally = { 0 };
  g_autoptr (CuratorClient) connection = client_connect (fixture_server (fixture));
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (connection, PATH, 11);
  Client client = { .tally = &tally, .semaphore = semaphore, .max = 11, .rounds = 1, .hold_ms = 2 };
  pthread_t threads[100];
  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    pthread_create (&threads[i], NULL, acquire_and_release, &client);
  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    pthread_join (threads[i], NULL);
  assert_int_equal (tally.failures, 0);
  assert_true (tally.peak <= 11);
}

/* testThreads: ten threads, one object, one lease. */
static void
test_threads (void **state)
{
  Fixture *fixture = *state;
  Tally tally = { 0 };
  g_autoptr (CuratorClient) connection = client_connect (fixture_server (fixture));
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (connection, PATH, 1);
  Client client = { .tally = &tally, .semaphore = semaphore, .max = 1, .rounds = 5, .hold_ms = 2 };
  pthread_t threads[10];
  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    pthread_create (&threads[i], NULL, acquire_and_release, &client);
  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    pthread_join (threads[i], NULL);
  assert_int_equal (tally.failures, 0);
  assert_int_equal (tally.peak, 1);
}

/* testSimple, testSimple2: a lease beyond the limit is refused, and granted after another is
 * closed. */
static void
test_simple (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, PATH, 3);
  g_autoptr (GPtrArray) leases = curator_semaphore_acquire_n (semaphore, 3, LONG_MS, NULL, &error);
  assert_ok (leases != NULL, &error);
  assert_null (curator_semaphore_acquire (semaphore, 1000, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_TIMED_OUT);
  assert_ok (curator_lease_release (g_ptr_array_index (leases, 0), 0, NULL, &error), &error);
  g_autoptr (CuratorLease) again = curator_semaphore_acquire (semaphore, LONG_MS, NULL, &error);
  assert_ok (again != NULL, &error);
  assert_ok (curator_lease_release (again, 0, NULL, &error), &error);
  curator_semaphore_return_all (semaphore, leases, 0, NULL, NULL);
}

/* testGetParticipantNodes */
static void
test_get_participant_nodes (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, PATH, 10);
  for (int n = 1; n <= 10; n += 3)
    {
      g_autoptr (GPtrArray) leases =
          curator_semaphore_acquire_n (semaphore, n, LONG_MS, NULL, &error);
      assert_ok (leases != NULL, &error);
      g_auto (GStrv) nodes = curator_semaphore_get_participant_nodes (semaphore, 0, NULL, &error);
      assert_ok (nodes != NULL, &error);
      assert_int_equal (g_strv_length (nodes), n);
      curator_semaphore_return_all (semaphore, leases, 0, NULL, NULL);
    }
}

/* testThreadedLeaseIncrease: the count is raised from 1 to 2, and the second acquire returns. */
static void
test_threaded_lease_increase (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorSharedCount) count =
      curator_shared_count_new (client, "/test/count", 1, &error);
  assert_ok (count != NULL && curator_shared_count_start (count, 0, NULL, &error), &error);
  g_autoptr (CuratorSemaphore) semaphore =
      curator_semaphore_new_with_shared_count (client, PATH, count, &error);
  assert_ok (semaphore != NULL, &error);
  g_autoptr (Taking) first = taking_of (semaphore, 1);
  g_autoptr (Taking) second = taking_start (semaphore, 1, 60000, NULL);
  taking_assert_waits (second);
  assert_ok (curator_shared_count_set (count, 2, 0, NULL, &error), &error);
  taking_assert_granted (second);
  taking_give_back (first);
  taking_give_back (second);
}

/* testClientClose: closing the client frees its lease. */
static void
test_client_close (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (CuratorClient) one = client_connect (fixture_server (fixture));
  g_autoptr (CuratorClient) two = client_connect (fixture_server (fixture));
  g_autoptr (CuratorSemaphore) first = semaphore_new (one, PATH, 1);
  g_autoptr (CuratorSemaphore) second = semaphore_new (two, PATH, 1);
  g_autoptr (Taking) held = taking_of (first, 1);
  curator_client_close (one);
  assert_lease_state (taking_lease (held, 0), CURATOR_LEASE_LOST, 2000);
  g_autoptr (Taking) next = taking_of (second, 1);
  taking_give_back (next);
}

/* testNoOrphanedNodes: the waiter's node is deleted by another client; the waiter recovers and
 * leaves nothing. */
static void
test_no_orphaned_nodes (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, PATH, 1);
  g_autoptr (Taking) held = taking_of (semaphore, 1);
  g_autoptr (Taking) waiter = taking_start (semaphore, 1, 60000, NULL);
  assert_children (fixture, LEASES, 2, LONG_MS);
  g_auto (GStrv) names = raw_zk_children (fixture->raw, LEASES);
  g_autofree char *path = g_strconcat (LEASES "/", names[1], NULL);
  assert_int_equal (raw_zk_delete (fixture->raw, path), ZOK);
  taking_give_back (held);
  taking_assert_granted (waiter);
  assert_children (fixture, LEASES, 1, 3000);
  taking_give_back (waiter);
  assert_no_residue (fixture, LEASES, 3000);
}

/* testInterruptAcquire: a cancelled waiter leaves only the holder's node; the next waiter is
 * granted. */
static void
test_interrupt_acquire (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, PATH, 1);
  g_autoptr (Taking) held = taking_of (semaphore, 1);
  g_autoptr (Taking) waiter = taking_start (semaphore, 1, CURATOR_WAIT_FOREVER, cancellable);
  assert_children (fixture, LEASES, 2, LONG_MS);
  g_cancellable_cancel (cancellable);
  assert_true (taking_wait (waiter, 2000));
  assert_error (&waiter->error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  assert_children (fixture, LEASES, 1, 3000);
  taking_give_back (held);
  g_autoptr (Taking) next = taking_of (semaphore, 1);
  taking_give_back (next);
}

/* testAcquireAfterLostServer: the server stops after one client has created its node and before it
 * has listed; after the restart all acquire. */
static void
test_acquire_after_lost_server (void **state)
{
  Fixture *fixture = *state;
  enum
  {
    N = 10
  };
  Taking *takings[N];
  g_autoptr (CuratorClient) client = client_new (fixture_proxy (fixture));
  curator_client_set_session_timeout (client, 10000);
  client_start (client);
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, PATH, 1);
  raw_zk_make_path (fixture->raw, LEASES);
  raw_zk_make_path (fixture->raw, LOCKS);
  proxy_arm (fixture->proxy, PROXY_CREATE2, 2, 1, PROXY_HOLE_BEFORE_REPLY);
  for (int i = 0; i < N; i++)
    takings[i] = taking_start (semaphore, 1, 60000, NULL);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  assert_true (zk_server_restart (fixture->server));
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  for (int left = N; left > 0; left--)
    {
      Taking *granted = NULL;
      for (gint64 end = wait_now_ms () + LONG_MS; granted == NULL && wait_now_ms () < end;)
        {
          for (int i = 0; i < N && granted == NULL; i++)
            granted = takings[i] != NULL && taking_has_returned (takings[i]) ? takings[i] : NULL;
          wait_ms (2);
        }
      assert_non_null (granted);
      taking_assert_granted (granted);
      taking_give_back (granted);
      for (int i = 0; i < N; i++)
        takings[i] = takings[i] == granted ? NULL : takings[i];
      taking_free (granted);
    }
  assert_no_residue (fixture, LEASES, 3000);
  assert_no_residue (fixture, LOCKS, 3000);
}

static CuratorLock *
semaphore_mutex_new (CuratorClient *client)
{
  g_autoptr (GError) error = NULL;
  CuratorLock *lock = curator_semaphore_mutex_new (client, PATH, &error);
  assert_ok (lock != NULL, &error);
  return lock;
}

/* TestInterProcessSemaphoreMutex: testLocker, testWithNamespace */
static void
test_mutex_locker_with_namespace (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  assert_ok (curator_client_set_namespace (client, "spaced", &error), &error);
  client_start (client);
  g_autoptr (CuratorLock) lock = semaphore_mutex_new (client);
  {
    g_autoptr (CuratorLease) guard = curator_lock_acquire_lease (lock, LONG_MS, NULL, &error);
    assert_ok (guard != NULL, &error);
    assert_int_equal (raw_zk_count_children (fixture->raw, "/spaced" LEASES), 1);
    assert_true (g_str_has_prefix (curator_lease_get_node_path (guard), LEASES "/"));
  }
  assert_no_residue (fixture, "/spaced" LEASES, 3000);
}

/* TestInterProcessSemaphoreMutex: testKilledSession, test2Clients */
static void
test_mutex_killed_session (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (CuratorClient) direct = client_connect (fixture_server (fixture));
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorLock) first = semaphore_mutex_new (client);
  g_autoptr (CuratorLock) second = semaphore_mutex_new (direct);
  g_autoptr (Contender) holder = contender_start (first, LONG_MS, NULL);
  assert_true (contender_wait (holder, LONG_MS));
  g_autoptr (Contender) waiter = contender_start (second, 60000, NULL);
  assert_children (fixture, LEASES, 2, LONG_MS);
  fixture_expire (fixture);
  assert_true (contender_wait (waiter, 2 * SESSION_MS));
  assert_true (waiter->acquired);
  assert_true (waiter->token > holder->token);
}

/* TestInterProcessSemaphoreMutex: testWaitingProcessKilledServer */
static void
test_mutex_waiting_process_killed_server (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  curator_client_set_session_timeout (client, 10000);
  client_start (client);
  g_autoptr (CuratorLock) first = semaphore_mutex_new (client);
  g_autoptr (CuratorLock) second = semaphore_mutex_new (client);
  g_autoptr (Contender) holder = contender_start (first, LONG_MS, NULL);
  assert_true (contender_wait (holder, LONG_MS));
  g_autoptr (Contender) waiter = contender_start (second, 60000, NULL);
  assert_children (fixture, LEASES, 2, LONG_MS);
  assert_true (zk_server_restart (fixture->server));
  contender_join (holder);
  assert_true (contender_wait (waiter, LONG_MS));
  assert_true (waiter->acquired);
  contender_join (waiter);
  assert_no_residue (fixture, LEASES, 3000);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    heal_and_test (test_max_per_session),
    heal_and_test (test_release_1_at_a_time),
    heal_and_test (test_release_in_chunks),
    heal_and_test (test_threads),
    heal_and_test (test_simple),
    heal_and_test (test_get_participant_nodes),
    heal_and_test (test_threaded_lease_increase),
    heal_and_test (test_client_close),
    heal_and_test (test_no_orphaned_nodes),
    heal_and_test (test_interrupt_acquire),
    heal_and_test (test_acquire_after_lost_server),
    heal_and_test (test_mutex_locker_with_namespace),
    heal_and_test (test_mutex_killed_session),
    heal_and_test (test_mutex_waiting_process_killed_server),
  };
  return cmocka_run_group_tests_name ("Curator's semaphore tests", tests, fixture_start,
                                      fixture_stop);
}
