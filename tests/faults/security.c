#include "security.h"

#include "support/scratch.h"

#include <stdlib.h>
#include <string.h>

#define USER     "alice"
#define PASSWORD "correct horse battery staple"

static const char jaas[] = "Server {\n"
                           "  org.apache.zookeeper.server.auth.DigestLoginModule required\n"
                           "  user_" USER "=\"" PASSWORD "\";\n"
                           "};\n";

static const char *const words[] = { NULL, "tls", "sasl", "tls+sasl" };
static char *folder;

Security
security_usual (void)
{
  const char *wanted = g_getenv ("CURATOR_TEST_SECURED");
  for (Security security = SECURITY_TLS; wanted != NULL && security <= SECURITY_SASL; security++)
    if (strcmp (wanted, words[security]) == 0)
      return security;
  return SECURITY_NONE;
}

static void
remove_folder (void)
{
  scratch_remove (folder);
}

const char *
security_folder (void)
{
  if (folder != NULL)
    return folder;
  folder = scratch_new ("security");
  atexit (remove_folder);
  const char *const argv[] = { CURATOR_SOURCE_DIR "/tests/support/make_certificates", folder,
                               "127.0.0.1", NULL };
  g_autofree char *login = g_build_filename (folder, "jaas.conf", NULL);
  g_autofree char *output = NULL;
  int status = -1;

  if (!g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &output, NULL,
                     &status, NULL)
      || status != 0 || !g_file_set_contents (login, jaas, -1, NULL)) {
    g_printerr ("no certificates: %s\n", output != NULL ? output : "cannot run openssl");
    return NULL;
  }
  return folder;
}

Proxy *
security_proxy_new (ZkServer *server, Security security)
{
  g_autofree char *host = zk_server_new_host ();
  return security == SECURITY_TLS ? proxy_new_raw (zk_server_secure_address (server), host)
                                  : proxy_new (zk_server_address (server));
}

char *
security_connect_string (const char *hosts, Security security)
{
  if (security == SECURITY_NONE)
    return g_strdup (hosts);
  g_auto (GStrv) servers = g_strsplit (hosts, ",", -1);
  for (char **server = servers; *server != NULL && security != SECURITY_SASL; server++) {
    const char *secure = zk_server_find_secure_address (*server);
    if (secure != NULL) {
      g_free (*server);
      *server = g_strdup (secure);
    }
  }
  g_autofree char *joined = g_strjoinv (",", servers);
  return g_strdup_printf ("%s@%s@%s", words[security], security_folder (), joined);
}

static gboolean
set_tls (CuratorClient *client, const char *certificates, GError **error)
{
  g_autoptr (CuratorTls) tls = curator_tls_new ();
  g_autofree char *ca = g_build_filename (certificates, "ca.pem", NULL);
  g_autofree char *certificate = g_build_filename (certificates, "client.pem", NULL);
  g_autofree char *key = g_build_filename (certificates, "client.key", NULL);

  curator_tls_set_server_name (tls, "zk.test");
  return curator_tls_set_ca_file (tls, ca, error)
         && curator_tls_set_certificate_files (tls, certificate, key, NULL, error)
         && curator_client_set_tls (client, tls, error);
}

CuratorClient *
security_client_new (const char *connect_string, CuratorRetryPolicy *policy)
{
  g_auto (GStrv) parts = g_strsplit (connect_string, "@", 3);
  g_autoptr (GError) error = NULL;

  if (g_strv_length (parts) < 3)
    return curator_client_new (connect_string, policy);
  CuratorClient *client = curator_client_new (parts[2], policy);
  const gboolean fine = (strstr (parts[0], "tls") == NULL || set_tls (client, parts[1], &error))
                        && (strstr (parts[0], "sasl") == NULL
                            || curator_client_set_sasl_digest (client, USER, PASSWORD, &error));
  if (!fine)
    g_error ("%s", error->message);
  return client;
}

CuratorClient *
security_client_for (const char *connect_string, gint64 session_ms, int tick_ms)
{
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_forever (50);
  CuratorClient *client = security_client_new (connect_string, policy);
  curator_client_set_session_timeout (client, session_ms);
  curator_client_set_connection_timeout (client, session_ms);
  curator_client_set_server_tick (client, tick_ms);
  return client;
}
