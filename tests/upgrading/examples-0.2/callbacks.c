/* Functions of the program's whose arguments are of another type in 1.0. */
#include <curator/curator.h>
#include <curator/zookeeper.h>

static void
decide (CuratorLockDriver *driver, const char *const *children, gsize n_children, const char *ours,
        int max_leases, CuratorPredicateResults *results, gpointer user_data)
{
  results->gets_the_lock = n_children <= (gsize) max_leases;
}

static gboolean
sleep_longer_each_time (int retry_count, gint64 elapsed_ms, gint64 *sleep_ms, gpointer user_data)
{
  *sleep_ms = 100 * (retry_count + 1);
  return retry_count < 5;
}

CuratorRetryPolicy *callbacks (CuratorClient *client, CuratorLockDriver **driver);

CuratorRetryPolicy *
callbacks (CuratorClient *client, CuratorLockDriver **driver)
{
  static const CuratorLockDriverFuncs funcs = { .gets_the_lock = decide };
  *driver = curator_lock_driver_new (&funcs, NULL, NULL);
  curator_client_set_acl (client, &ZOO_CREATOR_ALL_ACL);
  CuratorRetryPolicy *policy =
      curator_retry_policy_new_custom (sleep_longer_each_time, NULL, NULL);
  gint64 sleep_ms;
  if (!curator_retry_policy_allow_retry (policy, 0, 0, &sleep_ms))
    g_debug ("no retry");
  return policy;
}
