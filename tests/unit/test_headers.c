/* The public headers as a program sees them: all together, beside ZooKeeper's own, with the types
 * that programs are already written against. That each compiles alone is checked by the build. */
#include <curator/curator.h>

#include <zookeeper/zookeeper.h>

#include "unit.h"

/* g_autoptr() must work with every type that is counted; all are NULL, so nothing is called. */
static void
test_autoptr_knows_every_type (void **state)
{
  g_autoptr (CuratorClient) client = NULL;
  g_autoptr (CuratorRetryPolicy) policy = NULL;
  g_autoptr (CuratorLock) lock = NULL;
  g_autoptr (CuratorLease) lease = NULL;
  g_autoptr (CuratorLockDriver) driver = NULL;
  g_autoptr (CuratorSemaphore) semaphore = NULL;
  g_autoptr (CuratorSharedCount) count = NULL;
  g_autoptr (CuratorRwLock) rw_lock = NULL;

  assert_null (client);
  assert_null (policy);
  assert_null (lock);
  assert_null (lease);
  assert_null (driver);
  assert_null (semaphore);
  assert_null (count);
  assert_null (rw_lock);
}

static void
test_constants (void **state)
{
  G_STATIC_ASSERT (sizeof (CURATOR_WAIT_FOREVER) == 8);
  assert_true (CURATOR_WAIT_FOREVER == -1);
  assert_int_equal (CURATOR_STATE_CONNECTED, 0);
  assert_int_equal (CURATOR_STATE_READ_ONLY, 4);
  assert_int_equal (CURATOR_LEASE_HELD, 0);
  assert_int_equal (CURATOR_LEASE_RELEASED, 3);
  assert_int_equal (CURATOR_CREATE_PERSISTENT, 0);
  assert_int_equal (CURATOR_CREATE_EPHEMERAL_SEQUENTIAL, 3);
}

/* The only public structs. Programs compiled long ago pass them, so they must not grow. */
static void
test_public_structs_keep_their_size (void **state)
{
  G_STATIC_ASSERT (sizeof (CuratorLockDriverFuncs) == 8 * sizeof (gpointer));
  G_STATIC_ASSERT (G_STRUCT_OFFSET (CuratorLockDriverFuncs, _reserved) == 3 * sizeof (gpointer));
  G_STATIC_ASSERT (G_STRUCT_OFFSET (CuratorPredicateResults, path_to_watch) == sizeof (gpointer));
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_autoptr_knows_every_type),
    cmocka_unit_test (test_constants),
    cmocka_unit_test (test_public_structs_keep_their_size),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
