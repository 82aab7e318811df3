/* Includes all public headers together with ZooKeeper's own. Compiling is the test. The build
 * checks that each header compiles alone, too. */
#include <curator/curator.h>
#include <curator/lock_internals.h>
#include <curator/zookeeper.h>

void headers_use_every_type (void);

/* g_autoptr() must work with every type that is counted. */
void
headers_use_every_type (void)
{
  g_autoptr (CuratorClient) client = NULL;
  G_GNUC_UNUSED g_autoptr (CuratorRetryPolicy) policy = NULL;
  G_GNUC_UNUSED g_autoptr (CuratorLock) lock = NULL;
  G_GNUC_UNUSED g_autoptr (CuratorLease) lease = NULL;
  G_GNUC_UNUSED g_autoptr (CuratorLockDriver) driver = NULL;
  G_GNUC_UNUSED g_autoptr (CuratorSemaphore) semaphore = NULL;
  G_GNUC_UNUSED g_autoptr (CuratorSharedCount) count = NULL;
  G_GNUC_UNUSED g_autoptr (CuratorRwLock) rw_lock = NULL;
  G_GNUC_UNUSED g_autoptr (CuratorInspection) inspection = NULL;

  curator_client_set_acl (client, &ZOO_OPEN_ACL_UNSAFE);
}

/* Programs are compiled against these numbers and sizes: append, never insert. */
G_STATIC_ASSERT (sizeof (CURATOR_WAIT_FOREVER) == 8 && CURATOR_WAIT_FOREVER == G_MAXINT64);
G_STATIC_ASSERT (sizeof (CURATOR_WAIT_DEFAULT) == 8 && CURATOR_WAIT_DEFAULT == G_MININT64);
G_STATIC_ASSERT (CURATOR_CONNECTION_STATE_CONNECTED == 0
                 && CURATOR_CONNECTION_STATE_READ_ONLY == 4);
G_STATIC_ASSERT (CURATOR_LEASE_STATE_HELD == 0 && CURATOR_LEASE_STATE_RELEASED == 3);
G_STATIC_ASSERT (CURATOR_LOST_REASON_NONE == 0 && CURATOR_LOST_REASON_MAX_HOLD == 5);
G_STATIC_ASSERT (CURATOR_CREATE_MODE_PERSISTENT == 0
                 && CURATOR_CREATE_MODE_EPHEMERAL_SEQUENTIAL == 3);

/* The only public structs. */
G_STATIC_ASSERT (sizeof (CuratorLockDriverFuncs) == 8 * sizeof (gpointer));
G_STATIC_ASSERT (G_STRUCT_OFFSET (CuratorLockDriverFuncs, _reserved) == 3 * sizeof (gpointer));
G_STATIC_ASSERT (sizeof (CuratorPredicateResults) == 2 * sizeof (gpointer));
G_STATIC_ASSERT (G_STRUCT_OFFSET (CuratorPredicateResults, path_to_watch) == sizeof (gpointer));
