/* Before the login: bytes of somebody in between, and a server that knows no secret. */
#define SUITE_FIXTURE Realm *realm
#define SUITE_SETUP   NULL
#include "meddler.h"
#include "realm.h"
#include "secured.h"
#include "support/net.h"

/* A login by GSSAPI has four answers: the ConnectResponse, two tokens of the server, an empty
 * one. */
#define N_ANSWERS 4

static CuratorClient *
kerberos_client (const char *server)
{
  g_autoptr (GError) error = NULL;
  CuratorClient *client = secured_client (server, NULL);
  assert_ok (curator_client_set_sasl_gssapi (client, NULL, REALM_SERVER_NAME, &error), &error);
  return client;
}

TEST (test_unchanged_login)
{
  g_autoptr (Meddler) meddler = meddler_new (zk_server_address (realm->server), N_ANSWERS, 0);
  g_autoptr (CuratorClient) client = kerberos_client (meddler_address (meddler));

  assert_true (realm_log_in (realm));
  client_start (client);
  assert_int_equal (meddler_count (meddler), 1);
  curator_client_close (client);
}

TEST (test_added_bytes)
{
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

/* What a server may say to a connect request, whether or not it makes sense. */
static GByteArray *
connect_response (gint64 session, gint32 timeout_ms, gint32 password_length, int read_only)
{
  static const guint8 password[64];
  GByteArray *body = g_byte_array_new ();
  GByteArray *frame = g_byte_array_new ();
  const guint8 flag = (guint8) read_only;

  net_put_int32 (body, 0);
  net_put_int32 (body, timeout_ms);
  net_put_int64 (body, session);
  net_put_buffer (body, password, password_length);
  if (read_only >= 0)
    g_byte_array_append (body, &flag, 1);
  net_put_buffer (frame, body->data, (gint32) body->len);
  g_byte_array_unref (body);
  return frame;
}

static CuratorClient *
digest_client (const char *server)
{
  g_autoptr (GError) error = NULL;
  CuratorClient *client = secured_client (server, NULL);
  assert_ok (curator_client_set_sasl_digest (client, SASL_USER, SASL_PASSWORD, &error), &error);
  return client;
}

static void
assert_unmasked (GByteArray *response, gboolean by_kerberos, CuratorConnectError code,
                 const char *what)
{
  g_autoptr (Meddler) meddler = meddler_new_impostor (response);
  const char *address = meddler_address (meddler);
  g_autoptr (CuratorClient) client =
      by_kerberos ? kerberos_client (address) : digest_client (address);

  /* The time of a login that never ends. */
  curator_client_set_session_timeout (client, SESSION_MS);
  assert_refused (client, code, what);
  assert_true (meddler_count (meddler) > 0);
}

/* Neither password nor keytab: whatever it says, nobody is connected to it. */
TEST (test_server_without_secret)
{
  const gint64 sessions[] = { 0, 7, -1, G_MAXINT64, G_MININT64 };
  const gint32 timeouts[] = { 0, -1, 1, 10000, G_MAXINT32, G_MININT32 };

  assert_true (realm_log_in (realm));
  for (guint i = 0; i < G_N_ELEMENTS (sessions) * G_N_ELEMENTS (timeouts) * 2 * 3; i++)
    {
      const gboolean by_kerberos = i % 2 == 1;
      const int read_only = (int) (i / 2 % 3) - 1;
      const gint64 session = sessions[i / 6 % G_N_ELEMENTS (sessions)];
      const gint32 timeout_ms = timeouts[i / 6 / G_N_ELEMENTS (sessions)];
      const gboolean is_session = session != 0 && timeout_ms > 0 && read_only <= 0;
      if (is_session && by_kerberos && (session != 7 || timeout_ms != 10000))
        continue; /* each waits for the end of the login's time */
      g_autofree char *what =
          g_strdup_printf ("%s, session %" G_GINT64_FORMAT ", %d ms, read-only %d",
                           by_kerberos ? "Kerberos" : "a password", session, timeout_ms, read_only);
      assert_unmasked (connect_response (session, timeout_ms, 16, read_only), by_kerberos,
                       is_session ? CURATOR_CONNECT_ERROR_SASL : CURATOR_CONNECT_ERROR_CONNECT,
                       what);
    }
}

/* The same of a wrong size. */
TEST (test_server_of_another_protocol)
{
  assert_true (realm_log_in (realm));
  for (gint32 length = 0; length < 40; length++)
    {
      g_autofree char *what = g_strdup_printf ("a password of %d bytes", length);
      assert_unmasked (connect_response (7, 10000, length, 0), FALSE,
                       length == 16 ? CURATOR_CONNECT_ERROR_SASL : CURATOR_CONNECT_ERROR_CONNECT,
                       what);
    }
}

/* The server's own word that a session has ended comes before a login, and reaches libzookeeper. */
TEST (test_end_of_a_session)
{
  const char *server = zk_server_address (realm->server);
  Proxy *proxy = proxy_new (server);
  g_autoptr (CuratorClient) client = kerberos_client (proxy_address (proxy));
  g_autoptr (StateLog) log = state_log_new (client);
  gint64 ended = 0;

  assert_true (realm_log_in (realm));
  client_start (client);
  assert_true (expire_last_session (proxy, server, &ended));
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_LOST, 1, LONG_MS));
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
  assert_true (curator_client_get_session_id (client) != ended);
  curator_client_close (client);
  proxy_free (proxy);
}

SUITE ("impostor", realm_start, realm_stop)
