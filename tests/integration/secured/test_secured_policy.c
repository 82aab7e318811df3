/* On a system whose policy allows TLS 1.3 only. GnuTLS reads the policy when the process starts:
 * the environment of the test names it. */
#include "secured.h"

#include "support/net.h"
#include "support/process.h"

#include <unistd.h>

static pid_t
start_peer (Secured *secured, const char *version, char **address)
{
  g_autofree char *openssl = g_find_program_in_path ("openssl");
  const char *pem = secured_file (secured, "server.pem");
  *address = g_strdup_printf ("%s:%d", secured->host, zk_server_free_port (secured->host));
  const char *const argv[] = { openssl, "s_server", "-quiet", "-accept", *address, version,
                               "-cert", pem,        "-key",   pem,       NULL };
  return process_spawn ((char *const *) argv, secured_file (secured, "s_server.log"));
}

static gboolean
listens (gpointer address)
{
  const int fd = net_connect (address, LONG_MS);
  if (fd >= 0)
    close (fd);
  return fd >= 0;
}

static void
assert_fails (Secured *secured, const char *version, CuratorConnectError code)
{
  g_autoptr (CuratorTls) tls = secured_tls (secured);
  g_autofree char *address = NULL;
  const pid_t peer = start_peer (secured, version, &address);
  g_autoptr (CuratorClient) client = secured_client (address, tls);

  assert_true (wait_until (listens, address, LONG_MS));
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
