/* SASL DIGEST-MD5, alone and inside TLS. */
#include "secured_login.h"

#include "secured.h"

static CuratorClient *
login (Secured *secured, gboolean with_tls, const char *password)
{
  g_autoptr (CuratorTls) tls = with_tls ? secured_tls (secured) : NULL;
  g_autofree char *secure = secured_address (secured);
  g_autoptr (GError) error = NULL;
  CuratorClient *client =
      secured_client (with_tls ? secure : zk_server_address (secured->server), tls);
  assert_ok (curator_client_set_sasl_digest (client, SASL_USER, password, &error), &error);
  return client;
}

/* A node that only the user may change. */
static void
assert_logged_in (Secured *secured, CuratorClient *client, const char *path)
{
  struct ACL entry = { ZOO_PERM_ALL, { (char *) "sasl", (char *) SASL_USER } };
  const struct ACL_vector acl = { 1, &entry };
  raw_zk_make_path (secured->raw, path);
  assert_int_equal (raw_zk_set_acl (secured->raw, path, &acl), ZOK);
  g_autoptr (CuratorLock) lock = mutex_new (client, path);
  assert_acquired (lock);
  assert_released (lock);
}

void
test_login_by_digest (void **state)
{
  Secured *secured = *state;
  g_autoptr (CuratorClient) in_tls = login (secured, TRUE, SASL_PASSWORD);
  g_autoptr (CuratorClient) alone = login (secured, FALSE, SASL_PASSWORD);

  client_start (in_tls);
  assert_logged_in (secured, in_tls, "/sasl/tls");
  client_start (alone);
  assert_logged_in (secured, alone, "/sasl/alone");
}

void
test_login_is_repeated (void **state)
{
  Secured *secured = *state;
  g_autoptr (CuratorClient) client = login (secured, TRUE, SASL_PASSWORD);
  g_autoptr (StateLog) log = state_log_new (client);

  client_start (client);
  const gint64 session = curator_client_get_session_id (client);
  assert_true (zk_server_restart (secured->server));
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
  assert_int_equal (curator_client_get_session_id (client), session);
  assert_logged_in (secured, client, "/sasl/again");
}

void
test_wrong_password (void **state)
{
  Secured *secured = *state;

  for (int with_tls = 0; with_tls <= 1; with_tls++)
    {
      g_autoptr (CuratorClient) client = login (secured, with_tls, "not the password");
      g_autoptr (StateLog) log = state_log_new (client);
      g_autoptr (GError) error = NULL;
      assert_ok (curator_client_start (client, &error), &error);
      assert_false (curator_client_block_until_connected (client, LONG_MS, NULL, &error));
      assert_curator_error (&error, CURATOR_ERROR_AUTH_FAILED);
      assert_true (secured_wait_failed (client, CURATOR_CONNECT_ERROR_SASL));
      assert_int_equal (state_log_count (log, CURATOR_CONNECTION_STATE_CONNECTED), 0);
      curator_client_close (client);
    }
}
