/* Before the login: bytes of somebody in between. */
#include "meddler.h"
#include "realm.h"
#include "secured.h"

/* A login by GSSAPI has four answers: the ConnectResponse, two tokens of the server, an empty one. */
#define N_ANSWERS 4

static CuratorClient *
kerberos_client (const char *server)
{
  g_autoptr (GError) error = NULL;
  CuratorClient *client = secured_client (server, NULL);
  assert_ok (curator_client_set_sasl_gssapi (client, NULL, REALM_SERVER_NAME, &error), &error);
  return client;
}

static void
test_unchanged_login (void **state)
{
  Realm *realm = *state;
  g_autoptr (Meddler) meddler = meddler_new (zk_server_address (realm->server), N_ANSWERS, 0);
  g_autoptr (CuratorClient) client = kerberos_client (meddler_address (meddler));

  assert_true (realm_log_in (realm));
  client_start (client);
  assert_int_equal (meddler_count (meddler), 1);
  curator_client_close (client);
}

static void
test_added_bytes (void **state)
{
  Realm *realm = *state;
  /* The client reads at most 64 KB at once, with an answer of 20 to 24 bytes in front. */
  const gsize sizes[] = { 1, 41, 65471, 65512, 65516, 65536, 200000 };

  assert_true (realm_log_in (realm));
  for (int after = 1; after <= N_ANSWERS; after++)
    {
      for (gsize i = 0; i < G_N_ELEMENTS (sizes); i++)
        {
          g_autoptr (Meddler) meddler =
              meddler_new (zk_server_address (realm->server), after, sizes[i]);
          g_autoptr (CuratorClient) client = kerberos_client (meddler_address (meddler));
          g_autofree char *what = g_strdup_printf ("%zu bytes after answer %d", sizes[i], after);
          assert_refused (client, CURATOR_CONNECT_ERROR_CONNECT, what);
          assert_true (meddler_count (meddler) > 0);
        }
    }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_unchanged_login),
    cmocka_unit_test (test_added_bytes),
  };
  return cmocka_run_group_tests_name ("impostor", tests, realm_start, realm_stop);
}
