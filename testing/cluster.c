#include "keeper.h"
#include "support/zk_server.h"
#include "testing-private.h"

struct _CuratorTestCluster
{
  ZkEnsemble *zk;
  int member; /* of the job */
  gboolean done;
};

static void
start (gpointer data)
{
  CuratorTestCluster *cluster = data;
  cluster->zk = zk_ensemble_start (TESTING_TICK_MS, NULL);
}

CuratorTestCluster *
curator_test_cluster_new (GError **error)
{
  if (!testing_check_machine (error))
    return NULL;
  CuratorTestCluster *cluster = g_new0 (CuratorTestCluster, 1);
  keeper_run (start, cluster);
  if (cluster->zk == NULL) {
    testing_fail (
        error, "The ZooKeeper servers did not form an ensemble; their logs are on standard error");
    g_clear_pointer (&cluster, g_free);
  }
  return cluster;
}

const char *
curator_test_cluster_get_connect_string (const CuratorTestCluster *cluster)
{
  g_return_val_if_fail (cluster != NULL, NULL);
  return zk_ensemble_connect_string (cluster->zk);
}

static gboolean
is_member (int i)
{
  return i >= 0 && i < TESTING_CLUSTER_COUNT;
}

const char *
curator_test_cluster_get_member (const CuratorTestCluster *cluster, int i)
{
  g_return_val_if_fail (cluster != NULL && is_member (i), NULL);
  return zk_server_address (zk_ensemble_server (cluster->zk, i));
}

int
curator_test_cluster_get_leader (CuratorTestCluster *cluster)
{
  g_return_val_if_fail (cluster != NULL, -1);
  return zk_ensemble_leader (cluster->zk);
}

static void
kill_member (gpointer data)
{
  CuratorTestCluster *cluster = data;
  zk_server_kill (zk_ensemble_server (cluster->zk, cluster->member));
}

void
curator_test_cluster_kill (CuratorTestCluster *cluster, int i)
{
  g_return_if_fail (cluster != NULL && is_member (i));
  cluster->member = i;
  keeper_run (kill_member, cluster);
}

static void
relaunch_member (gpointer data)
{
  CuratorTestCluster *cluster = data;
  ZkServer *server = zk_ensemble_server (cluster->zk, cluster->member);
  zk_server_kill (server);
  cluster->done = zk_server_relaunch (server);
}

gboolean
curator_test_cluster_restart (CuratorTestCluster *cluster, int i, GError **error)
{
  g_return_val_if_fail (cluster != NULL && is_member (i), FALSE);
  cluster->member = i;
  cluster->done = FALSE;
  keeper_run (relaunch_member, cluster);
  if (!cluster->done)
    testing_fail (error, "The ZooKeeper server could not be started again");
  return cluster->done;
}

gboolean
curator_test_cluster_wait (CuratorTestCluster *cluster, GError **error)
{
  g_return_val_if_fail (cluster != NULL, FALSE);
  const gboolean whole = zk_ensemble_wait_whole (cluster->zk, TESTING_START_MS);
  if (!whole)
    testing_fail (error, "The ZooKeeper servers are not all part of one ensemble after a minute");
  return whole;
}

static void
stop (gpointer data)
{
  zk_ensemble_stop (((CuratorTestCluster *) data)->zk);
}

void
curator_test_cluster_free (CuratorTestCluster *cluster)
{
  if (cluster != NULL && keeper_is_here ()) {
    keeper_run (stop, cluster);
    g_free (cluster);
  }
}
