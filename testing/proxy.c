#include "support/proxy.h"

#include "support/expire.h"
#include "support/net.h"
#include "testing-private.h"

#include <unistd.h>

struct _CuratorTestProxy
{
  Proxy *wire;
  char *server;
  pid_t owner; /* a child of fork() has neither the threads nor the locks */
};

static gboolean
is_here (const CuratorTestProxy *proxy)
{
  return proxy != NULL && proxy->owner == getpid ();
}

CuratorTestProxy *
curator_test_proxy_new (const char *server, GError **error)
{
  struct sockaddr_in name;
  g_return_val_if_fail (server != NULL, NULL);
  if (!net_parse (server, &name)) {
    testing_fail (error,
                  "A proxy needs the address of one server on this machine, as 127.0.0.1:2181");
    return NULL;
  }
  Proxy *wire = proxy_new (server);
  if (wire == NULL) {
    testing_fail (error, "The proxy found no free port");
    return NULL;
  }
  CuratorTestProxy *proxy = g_new0 (CuratorTestProxy, 1);
  proxy->wire = wire;
  proxy->server = g_strdup (server);
  proxy->owner = getpid ();
  return proxy;
}

const char *
curator_test_proxy_get_connect_string (const CuratorTestProxy *proxy)
{
  g_return_val_if_fail (proxy != NULL, NULL);
  return proxy_address (proxy->wire);
}

void
curator_test_proxy_cut (CuratorTestProxy *proxy)
{
  g_return_if_fail (is_here (proxy));
  proxy_cut (proxy->wire);
}

void
curator_test_proxy_refuse (CuratorTestProxy *proxy)
{
  g_return_if_fail (is_here (proxy));
  proxy_set_mode (proxy->wire, PROXY_REFUSE);
}

void
curator_test_proxy_stall (CuratorTestProxy *proxy)
{
  g_return_if_fail (is_here (proxy));
  proxy_set_mode (proxy->wire, PROXY_HOLE);
}

void
curator_test_proxy_delay (CuratorTestProxy *proxy, int to_server_ms, int to_client_ms)
{
  g_return_if_fail (is_here (proxy) && to_server_ms >= 0 && to_client_ms >= 0);
  proxy_set_delay (proxy->wire, to_server_ms, to_client_ms);
}

void
curator_test_proxy_restore (CuratorTestProxy *proxy)
{
  g_return_if_fail (is_here (proxy));
  proxy_set_delay (proxy->wire, 0, 0);
  proxy_set_mode (proxy->wire, PROXY_PASS);
}

gboolean
curator_test_expire_session (CuratorTestProxy *proxy, gint64 session_id, GError **error)
{
  guint8 password[16];
  g_return_val_if_fail (is_here (proxy), FALSE);
  const gboolean known = session_id == 0 ? proxy_last_session (proxy->wire, &session_id, password)
                                         : proxy_password_of (proxy->wire, session_id, password);
  if (!known) {
    testing_fail (error, "No such session has come through the proxy");
    return FALSE;
  }
  if (!expire_session (proxy->server, session_id, password, TESTING_EXPIRE_MS)) {
    testing_fail (error, "The server did not end the session");
    return FALSE;
  }
  return TRUE;
}

void
curator_test_proxy_free (CuratorTestProxy *proxy)
{
  if (is_here (proxy)) {
    proxy_free (proxy->wire);
    g_free (proxy->server);
    g_free (proxy);
  }
}
