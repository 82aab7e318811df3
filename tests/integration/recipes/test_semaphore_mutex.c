/* The semaphore mutex: exclusive, not re-entrant, released by any thread. */
#include "integration/fixture.h"
#include "support/held_lease.h"

#include <string.h>

#define PATH   "/semmutex/lock"
#define LEASES PATH "/leases"
#define LOCKS  PATH "/locks"

static void
assert_all_gone (Fixture *fixture)
{
  assert_no_residue (fixture, LEASES, 3000);
  assert_no_residue (fixture, LOCKS, 3000);
}

typedef struct
{
  CuratorLock *lock;
  int *inside;
  int violations;
  int failures;
} Visitor;

static void *
come_and_go (void *data)
{
  Visitor *visitor = data;
  for (int i = 0; i < 25; i++)
    {
      g_autoptr (CuratorLease) lease =
          curator_lock_acquire_lease (visitor->lock, 60000, NULL, NULL);
      if (lease == NULL)
        {
          visitor->failures++;
          return NULL;
        }
      visitor->violations += g_atomic_int_add (visitor->inside, 1) != 0;
      g_usleep (500);
      g_atomic_int_add (visitor->inside, -1);
      visitor->failures += !curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL);
    }
  return NULL;
}

TEST (test_exclusive)
{
  int inside = 0;
  g_autoptr (CuratorClient) one = client_connect (fixture_server (fixture));
  g_autoptr (CuratorClient) two = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) first = semaphore_mutex_new (one, PATH);
  g_autoptr (CuratorLock) second = semaphore_mutex_new (two, PATH);
  Visitor visitors[8];
  pthread_t threads[8];
  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    {
      visitors[i] = (Visitor){ .lock = i % 2 == 0 ? first : second, .inside = &inside };
      pthread_create (&threads[i], NULL, come_and_go, &visitors[i]);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    {
      pthread_join (threads[i], NULL);
      assert_int_equal (visitors[i].violations, 0);
      assert_int_equal (visitors[i].failures, 0);
    }
  assert_all_gone (fixture);
}

static void *
release_lock (void *lock)
{
  return GINT_TO_POINTER (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL));
}

TEST (test_not_reentrant_and_released_by_any_thread)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = semaphore_mutex_new (client, PATH);
  assert_false (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_NOT_OWNER);
  assert_acquired (lock);
  CuratorLease *lease = held_lease (lock);
  assert_non_null (lease);
  assert_true (curator_lock_is_acquired_in_this_process (lock));
  assert_true (curator_lock_is_owned_by_current_thread (lock));
  assert_not_acquired (lock, 0, CURATOR_ERROR_TIMED_OUT);
  assert_not_acquired (lock, 1000, CURATOR_ERROR_TIMED_OUT);
  /* The failed tries have not replaced the hold. */
  assert_true (held_lease (lock) == lease);
  assert_children (fixture, LEASES, 1, 3000);
  pthread_t thread;
  void *released = NULL;
  pthread_create (&thread, NULL, release_lock, lock);
  pthread_join (thread, &released);
  assert_non_null (released);
  assert_false (curator_lock_is_acquired_in_this_process (lock));
  assert_null (curator_lock_dup_lease (lock));
  assert_false (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_NOT_OWNER);
  assert_all_gone (fixture);
}

/* TestInterProcessSemaphoreMutex: testLocker, testWithNamespace */
TEST (test_mutex_locker_with_namespace)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  assert_ok (curator_client_set_namespace (client, "spaced", &error), &error);
  client_start (client);
  g_autoptr (CuratorLock) lock = semaphore_mutex_new (client, PATH);
  {
    g_autoptr (CuratorLease) guard G_GNUC_UNUSED = lease_of (lock);
    assert_int_equal (raw_zk_count_children (fixture->raw, "/spaced" LEASES), 1);
    assert_true (g_str_has_prefix (curator_lease_get_node_path (guard), LEASES "/"));
  }
  assert_no_residue (fixture, "/spaced" LEASES, 3000);
}

SUITE ("semaphore mutex", fixture_start, fixture_stop)
