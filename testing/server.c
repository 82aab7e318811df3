#include "keeper.h"
#include "support/zk_server.h"
#include "testing-private.h"

struct _CuratorTestServer
{
  ZkServer *zk;
  gboolean serves;
};

static void
start (gpointer data)
{
  CuratorTestServer *server = data;
  server->zk = zk_server_start (TESTING_TICK_MS, NULL);
}

CuratorTestServer *
curator_test_server_new (GError **error)
{
  if (!testing_check_machine (error))
    return NULL;
  CuratorTestServer *server = g_new0 (CuratorTestServer, 1);
  keeper_run (start, server);
  if (server->zk == NULL) {
    testing_fail (error, "The ZooKeeper server did not start; its log is on standard error");
    g_clear_pointer (&server, g_free);
  }
  return server;
}

const char *
curator_test_server_get_connect_string (const CuratorTestServer *server)
{
  g_return_val_if_fail (server != NULL, NULL);
  return zk_server_address (server->zk);
}

static void
kill_it (gpointer data)
{
  zk_server_kill (((CuratorTestServer *) data)->zk);
}

void
curator_test_server_kill (CuratorTestServer *server)
{
  g_return_if_fail (server != NULL);
  keeper_run (kill_it, server);
}

static void
restart (gpointer data)
{
  CuratorTestServer *server = data;
  server->serves = zk_server_restart (server->zk);
}

gboolean
curator_test_server_restart (CuratorTestServer *server, GError **error)
{
  g_return_val_if_fail (server != NULL, FALSE);
  server->serves = FALSE;
  keeper_run (restart, server);
  if (!server->serves) {
    testing_fail (error, "The ZooKeeper server did not start again; its log is on standard error");
  }
  return server->serves;
}

static void
freeze (gpointer data)
{
  zk_server_freeze (((CuratorTestServer *) data)->zk);
}

void
curator_test_server_pause (CuratorTestServer *server)
{
  g_return_if_fail (server != NULL);
  keeper_run (freeze, server);
}

static void
thaw (gpointer data)
{
  zk_server_thaw (((CuratorTestServer *) data)->zk);
}

void
curator_test_server_resume (CuratorTestServer *server)
{
  g_return_if_fail (server != NULL);
  keeper_run (thaw, server);
}

static void
stop (gpointer data)
{
  zk_server_stop (((CuratorTestServer *) data)->zk);
}

void
curator_test_server_free (CuratorTestServer *server)
{
  if (server != NULL && keeper_is_here ()) {
    keeper_run (stop, server);
    g_free (server);
  }
}
