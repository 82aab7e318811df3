#include "secured.h"

#include "core/client-record.h"
#include "realm.h"
#include "support/process.h"
#include "support/scratch.h"

#include <glib/gstdio.h>
#include <string.h>

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

int
secured_start_with (void **state, const char *config)
{
  Secured *secured = g_new0 (Secured, 1);
  *state = secured;
  secured->directory = g_dir_make_tmp ("curator-tls-XXXXXX", NULL);
  secured->host = zk_server_new_host ();
  const char *const make[] = { CURATOR_SOURCE_DIR "/tests/support/make_certificates",
                               secured->directory, secured->host, NULL };
  const ZkServerSetup setup = { .tick_ms = LONG_SESSION_MS / 20,
                                .host = secured->host,
                                .config = config,
                                .security = secured->directory };
  if (!realm_run (make)
      || !g_file_set_contents (secured_file (secured, "jaas.conf"), jaas, -1, NULL))
    return -1;
  secured->server = zk_server_start_as (&setup);
  if (secured->server == NULL)
    return -1;
  secured->address = zk_server_secure_address (secured->server);
  secured->proxy = proxy_new_raw (secured->address, "127.0.0.1");
  secured->raw = raw_zk_open (zk_server_address (secured->server));
  if (secured->proxy == NULL || secured->raw == NULL)
    return -1;
  secured->proxied = g_strconcat ("localhost", strchr (proxy_address (secured->proxy), ':'), NULL);
  return 0;
}

int
secured_start (void **state)
{
  return secured_start_with (state, NULL);
}

int
secured_stop (void **state)
{
  Secured *secured = *state;

  raw_zk_close (secured->raw);
  proxy_free (secured->proxy);
  zk_server_stop (secured->server);
  scratch_remove (secured->directory);
  g_free (secured->host);
  g_free (secured->proxied);
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

CuratorClient *
secured_tls_client (Secured *secured, const char *servers)
{
  g_autoptr (CuratorTls) tls = secured_tls (secured);
  return secured_client (servers, tls);
}

pid_t
secured_start_other (Secured *secured, const char *certificate, const char *option,
                     const char *value, char **address)
{
  g_autofree char *openssl = g_find_program_in_path ("openssl");
  const char *pem = secured_file (secured, certificate);
  *address = g_strdup_printf ("%s:%d", secured->host, zk_server_free_port (secured->host));
  const char *const argv[] = { openssl, "s_server", "-quiet", "-accept", *address, "-cert",
                               pem,     "-key",     pem,      option,    value,    NULL };
  return process_spawn ((char *const *) argv, secured_file (secured, "s_server.log"));
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
  if (!secured_wait_failed (client, code)) {
    g_autoptr (GError) last = last_failure (client);
    fail_msg ("%s: wanted %d, got %d: %s", what, (int) code, last != NULL ? last->code : -1,
              last != NULL ? last->message : "no failure");
  }
  g_autoptr (GError) last = last_failure (client);
  print_message ("%s: %s\n", what, last->message);
  curator_client_close (client);
  assert_int_equal (state_log_count (log, CURATOR_CONNECTION_STATE_CONNECTED), 0);
}
