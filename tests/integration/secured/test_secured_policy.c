/* On a system whose policy allows TLS 1.3 only. GnuTLS reads the policy when the process starts:
 * the environment of the test names it. */
#include "secured.h"

#include "support/net.h"
#include "support/process.h"

#include <unistd.h>

static gboolean
listens (const char *address)
{
  const int fd = net_connect (address, LONG_MS);
  if (fd >= 0)
    close (fd);
  return fd >= 0;
}

static void
assert_fails (Secured *secured, const char *version, CuratorConnectError code)
{
  g_autofree char *address = NULL;
  const pid_t peer = secured_start_other (secured, "server.pem", version, NULL, &address);
  g_autoptr (CuratorClient) client = secured_tls_client (secured, address);

  assert_soon (listens (address));
  assert_refused (client, code, version);
  process_kill (peer);
}

TEST (test_what_is_switched_off_stays_off)
{
  assert_non_null (g_getenv ("GNUTLS_SYSTEM_PRIORITY_FILE"));
  assert_fails (secured, "-tls1_2", CURATOR_CONNECT_ERROR_TLS);
  /* The handshake is complete; then this server, which is no ZooKeeper, ends the connection. */
  assert_fails (secured, "-tls1_3", CURATOR_CONNECT_ERROR_CONNECT);
}

SUITE ("secured_policy", secured_start, secured_stop)
