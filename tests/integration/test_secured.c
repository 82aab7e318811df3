/* Connections with TLS to a real server: who is trusted, what is refused, and how it fails over. */
#include "secured.h"

static void
connect_and_lock (CuratorClient *client, const char *path)
{
  g_autoptr (GError) error = NULL;
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, path);
  assert_ok (curator_lock_acquire (lock, LONG_MS, NULL, &error), &error);
  assert_ok (curator_lock_release (lock, &error), &error);
}

static void
test_good_servers_are_trusted (void **state)
{
  Secured *secured = *state;
  g_autoptr (CuratorTls) tls = secured_tls (secured);
  g_autofree char *address = secured_address (secured);
  g_autofree char *name =
      g_strdup_printf ("localhost%s", strchr (proxy_address (secured->proxy), ':'));
  g_autoptr (CuratorClient) by_address = secured_client (address, tls);
  g_autoptr (CuratorClient) by_name = secured_client (name, tls);

  connect_and_lock (by_address, "/tls/good");
  connect_and_lock (by_name, "/tls/good");
  curator_tls_set_server_name (tls, "zk.test");
  g_autoptr (CuratorClient) by_other_name = secured_client (address, tls);
  connect_and_lock (by_other_name, "/tls/good");
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    secure_test (test_good_servers_are_trusted),
  };
  return cmocka_run_group_tests_name ("secured", tests, secured_start, secured_stop);
}
