#include "secured.h"

#include "core/client-record.h"

#include <glib/gstdio.h>

/* The server's part of JAAS. */
static const char jaas[] = "Server {\n"
                           "  org.apache.zookeeper.server.auth.DigestLoginModule required\n"
                           "  user_" SASL_USER "=\"" SASL_PASSWORD "\";\n"
                           "};\n";

const char *
secured_file (Secured *secured, const char *name)
{
  g_autofree char *path = g_build_filename (secured->directory, name, NULL);
  return g_intern_string (path);
}

static gboolean
make_certificates (Secured *secured)
{
  const char *script = CURATOR_SOURCE_DIR "/tests/support/make_certificates";
  char *argv[] = { (char *) script, secured->directory, secured->host, NULL };
  int status = -1;
  g_autofree char *output = NULL;

  if (!g_spawn_sync (NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &output, NULL, &status, NULL)
      || status != 0)
    {
      print_error ("make_certificates: %s\n", output);
      return FALSE;
    }
  return TRUE;
}

static ZkServer *
start_server (Secured *secured)
{
  const char *login = secured_file (secured, "jaas.conf");
  g_autofree char *config = g_strdup_printf (
      "secureClientPort=%d\nsecureClientPortAddress=%s\n"
      "ssl.keyStore.location=%s\nssl.keyStore.type=PEM\n"
      "ssl.trustStore.location=%s\nssl.trustStore.type=PEM\n"
      "ssl.clientAuth=need\n"
      "authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider\n",
      secured->port, secured->host, secured_file (secured, "server.pem"),
      secured_file (secured, "ca.pem"));
  g_autofree char *option = g_strconcat ("-Djava.security.auth.login.config=", login, NULL);
  const char *const options[] = { option, NULL };
  const ZkServerSetup setup = { .tick_ms = LONG_SESSION_MS / 20,
                                .host = secured->host,
                                .config = config,
                                .netty = TRUE,
                                .java_options = options };

  g_file_set_contents (login, jaas, -1, NULL);
  return zk_server_start_as (&setup);
}

char *
secured_address (Secured *secured)
{
  return g_strdup_printf ("%s:%d", secured->host, secured->port);
}

int
secured_start (void **state)
{
  Secured *secured = g_new0 (Secured, 1);
  *state = secured;
  secured->directory = g_dir_make_tmp ("curator-tls-XXXXXX", NULL);
  secured->host = zk_server_new_host ();
  secured->port = zk_server_free_port (secured->host);
  if (!make_certificates (secured))
    return -1;
  secured->server = start_server (secured);
  if (secured->server == NULL)
    return -1;
  g_autofree char *address = secured_address (secured);
  secured->proxy = proxy_new_raw (address, "127.0.0.1");
  secured->raw = raw_zk_open (zk_server_address (secured->server));
  return secured->proxy != NULL && secured->raw != NULL ? 0 : -1;
}

int
secured_stop (void **state)
{
  Secured *secured = *state;
  GDir *dir = g_dir_open (secured->directory, 0, NULL);
  const char *name;

  raw_zk_close (secured->raw);
  proxy_free (secured->proxy);
  zk_server_stop (secured->server);
  while ((name = g_dir_read_name (dir)) != NULL)
    g_unlink (secured_file (secured, name));
  g_dir_close (dir);
  g_rmdir (secured->directory);
  g_free (secured->directory);
  g_free (secured->host);
  g_free (secured);
  return 0;
}

static char *clear_login;

int
secured_start_clear (void **state)
{
  const int fd = g_file_open_tmp ("curator-jaas-XXXXXX", &clear_login, NULL);
  g_autofree char *option = g_strconcat ("-Djava.security.auth.login.config=", clear_login, NULL);
  const char *const options[] = {
    option,
    "-Dzookeeper.authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
    NULL,
  };

  g_close (fd, NULL);
  return g_file_set_contents (clear_login, jaas, -1, NULL) ? fixture_start_with (state, options)
                                                           : -1;
}

int
secured_stop_clear (void **state)
{
  g_unlink (clear_login);
  g_clear_pointer (&clear_login, g_free);
  return fixture_stop (state);
}

int
secured_heal (void **state)
{
  Secured *secured = *state;
  zk_server_thaw (secured->server);
  proxy_set_mode (secured->proxy, PROXY_PASS);
  proxy_let_go (secured->proxy);
  return 0;
}

CuratorTls *
secured_tls (Secured *secured)
{
  g_autoptr (GError) error = NULL;
  CuratorTls *tls = curator_tls_new ();
  assert_ok (curator_tls_set_ca_file (tls, secured_file (secured, "ca.pem"), &error), &error);
  assert_ok (curator_tls_set_certificate_files (tls, secured_file (secured, "client.pem"),
                                                secured_file (secured, "client.key"), NULL, &error),
             &error);
  return tls;
}

CuratorClient *
secured_client (const char *servers, CuratorTls *tls)
{
  g_autoptr (GError) error = NULL;
  CuratorClient *client = client_new (servers);
  curator_client_set_session_timeout (client, LONG_SESSION_MS);
  curator_client_set_connection_timeout (client, LONG_SESSION_MS);
  if (tls != NULL)
    assert_ok (curator_client_set_tls (client, tls, &error), &error);
  return client;
}

/* Of a server; or that there is none, because no name has an address. */
static GError *
last_failure (CuratorClient *client)
{
  GError *error = client->ops->dup_failure (client->ops, 0);
  return error != NULL ? error : curator_client_dup_connection_error (client);
}

static gboolean
has_failed (CuratorClient *client, CuratorConnectError code)
{
  g_autoptr (GError) error = last_failure (client);
  return g_error_matches (error, CURATOR_CONNECT_ERROR, (int) code);
}

gboolean
secured_wait_failed (CuratorClient *client, CuratorConnectError code)
{
  return holds_within (has_failed (client, code), LONG_MS);
}

void
assert_refused (CuratorClient *client, CuratorConnectError code, const char *what)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (StateLog) log = state_log_new (client);

  assert_ok (curator_client_start (client, &error), &error);
  if (!secured_wait_failed (client, code))
    {
      g_autoptr (GError) last = last_failure (client);
      fail_msg ("%s: wanted %d, got %d: %s", what, (int) code, last != NULL ? last->code : -1,
                last != NULL ? last->message : "no failure");
    }
  g_autoptr (GError) last = last_failure (client);
  print_message ("%s: %s\n", what, last->message);
  curator_client_close (client);
  assert_int_equal (state_log_count (log, CURATOR_CONNECTION_STATE_CONNECTED), 0);
}
