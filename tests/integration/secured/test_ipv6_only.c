/* On a host with IPv6 only a client is granted a lock, however it connects. */
#include "secured.h"

#include "support/ipv6_only.h"

static gboolean has_network;

static int
start (void **state)
{
  has_network = ipv6_only_enter ();
  return has_network ? secured_start_with (state, "clientPortAddress=::\n") : 0;
}

static int
stop (void **state)
{
  return has_network ? secured_stop (state) : 0;
}

TEST (test_every_way_to_connect)
{
  if (!has_network)
    skip ();
  const char *port = strrchr (zk_server_address (secured->server), ':');
  g_autofree char *clear = g_strconcat ("[::1]", port, NULL);

  ipv6_only_begin ();
  for (int with_tls = 0; with_tls <= 1; with_tls++) {
    for (int with_sasl = 0; with_sasl <= 1; with_sasl++) {
      g_autoptr (GError) error = NULL;
      g_autoptr (CuratorClient) client =
          with_tls ? secured_tls_client (secured, secured->address) : secured_client (clear, NULL);
      if (with_sasl)
        assert_ok (curator_client_set_sasl_digest (client, SASL_USER, SASL_PASSWORD, &error),
                   &error);
      client_start (client);
      g_autoptr (CuratorLock) lock = mutex_new (client, "/ipv6");
      assert_ok (curator_lock_acquire (lock, LONG_MS, NULL, &error), &error);
      assert_ok (curator_lock_release (lock, LONG_MS, NULL, &error), &error);
    }
  }
}

SUITE ("ipv6_only", start, stop)
