/* Curator's own tests of InterProcessMutex, by their names: TestInterProcessMutexBase and
 * TestInterProcessMutex. integration/ported.md lists all of Curator's tests, also those that are
 * not ported. */
#include "integration/fixture.h"
#include "support/held_lease.h"

#include <curator/lock_internals.h>

#include <string.h>

#define LOCK_PATH "/locks/our-lock"

/* testContainerCleanup: ten threads lock once each; the base path is deleted. */
TEST (test_container_cleanup)
{
  enum
  {
    N = 10
  };
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/container/our-lock");
  Contender *contenders[N];
  for (int i = 0; i < N; i++)
    {
      contenders[i] = contender_start (lock, LONG_MS, NULL);
      contender_tell_release (contenders[i]);
    }
  for (int i = 0; i < N; i++)
    {
      contender_join (contenders[i]);
      assert_true (contenders[i]->acquired);
      assert_true (contenders[i]->released);
      contender_free (contenders[i]);
    }
  assert_true (raw_zk_wait_gone (fixture->raw, "/container", LONG_MS));
}

typedef struct
{
  CuratorLock *lock;
  int inside; /* how many threads are between acquire and release */
  int violations;
  int failures;
} Shared;

static void
enter (Shared *shared, int depth)
{
  if (!curator_lock_acquire (shared->lock, 60000, NULL, NULL))
    {
      g_atomic_int_inc (&shared->failures);
      return;
    }
  if (depth == 0 && g_atomic_int_add (&shared->inside, 1) != 0)
    g_atomic_int_inc (&shared->violations);
  wait_ms (1);
  if (depth < 3)
    enter (shared, depth + 1);
  if (!curator_lock_is_acquired_in_this_process (shared->lock))
    g_atomic_int_inc (&shared->failures);
  if (depth == 0)
    g_atomic_int_add (&shared->inside, -1);
  if (!curator_lock_release (shared->lock, CURATOR_WAIT_DEFAULT, NULL, NULL))
    g_atomic_int_inc (&shared->failures);
}

static void *
enter_often (void *data)
{
  for (int i = 0; i < 5; i++)
    enter (data, 0);
  return NULL;
}

/* testReentrantSingleLock: ten threads share one object; one at a time holds. */
TEST (test_reentrant_single_lock)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, LOCK_PATH);
  Shared shared = { .lock = lock };
  pthread_t threads[10];
  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    pthread_create (&threads[i], NULL, enter_often, &shared);
  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    pthread_join (threads[i], NULL);
  assert_int_equal (shared.violations, 0);
  assert_int_equal (shared.failures, 0);
  assert_no_residue (fixture, LOCK_PATH, 3000);
}

/* testReentrant2Threads: the second thread must not be granted while the first is nested. */
TEST (test_reentrant_2_threads)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, LOCK_PATH);
  assert_acquired (lock);
  g_autoptr (Contender) other = contender_start (lock, 60000, NULL);
  assert_children (fixture, LOCK_PATH, 2, LONG_MS);
  for (int i = 0; i < 2; i++)
    assert_acquired (lock);
  for (int i = 0; i < 2; i++)
    {
      assert_released (lock);
      wait_ms (50);
      assert_false (contender_has_returned (other));
    }
  assert_released (lock);
  contender_assert_granted (other);
}

/* The driver of Java's test: it overrides createsTheLock, with protection and without a number. */
static void
make_persistent (CuratorLockDriver *driver, CuratorNodeRequest *request, gpointer user_data)
{
  curator_node_request_set_protected (request, TRUE);
  curator_node_request_set_mode (request, CURATOR_CREATE_MODE_PERSISTENT);
}

/* StandardLockInternalsDriver.getsTheLock, which takes for granted that it finds its own node. */
static void
decide_as_java (CuratorLockDriver *driver, const char *const *children, gsize n_children,
                const char *own, guint max_leases, CuratorPredicateResults *results,
                gpointer user_data)
{
  gsize index = 0;
  while (index < n_children && strcmp (children[index], own) != 0)
    index++;
  if (index == n_children)
    {
      g_atomic_int_inc ((int *) user_data);
      return;
    }
  results->gets_the_lock = index < (gsize) max_leases;
  results->path_to_watch = results->gets_the_lock ? NULL : children[index - (gsize) max_leases];
}

/* testPersistentLock: the node outlives the session that created it, and the release deletes it. */
TEST (test_persistent_lock)
{
  g_autoptr (GError) error = NULL;
  int missed = 0;
  const CuratorLockDriverFuncs funcs = { .creates_the_lock = make_persistent,
                                         .gets_the_lock = decide_as_java };
  g_autoptr (CuratorLockDriver) driver = curator_lock_driver_new (&funcs, &missed, NULL);
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorClient) direct = client_connect (fixture_server (fixture));
  g_autoptr (StateLog) log = state_log_new (client);
  g_autoptr (CuratorLock) lock =
      curator_mutex_new_with_driver (client, "/persistent", "lock-", 1, driver, &error);
  assert_ok (lock != NULL, &error);
  g_autoptr (CuratorLock) other =
      curator_mutex_new_with_driver (direct, "/persistent", "lock-", 1, driver, &error);
  assert_ok (other != NULL, &error);
  assert_ok (curator_lock_acquire (lock, 10000, NULL, &error), &error);
  assert_true (curator_lock_is_acquired_in_this_process (lock));
  g_autofree char *node = g_strdup (curator_lease_get_node_path (held_lease (lock)));
  assert_int_equal (raw_zk_owner (fixture->raw, node), 0);
  assert_not_acquired (other, 300, CURATOR_ERROR_TIMED_OUT);
  fixture_expire (fixture);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
  assert_true (raw_zk_exists (fixture->raw, node));
  assert_not_acquired (other, 300, CURATOR_ERROR_TIMED_OUT);
  assert_released (lock);
  assert_true (raw_zk_wait_gone (fixture->raw, node, 3000));
  assert_acquired (other);
  assert_released (other);
  assert_int_equal (missed, 0);
  curator_client_close (client);
}

SUITE ("Curator's mutex tests", fixture_start_with_reaper, fixture_stop)
