/* SASL by Kerberos with a real KDC: tickets, none, and a KDC that does not answer. */
#include "secured.h"

#include "support/process.h"

#include <glib/gstdio.h>
#include <signal.h>

#define SERVER_NAME "zk.test"

typedef struct
{
  char *directory;
  pid_t kdc;
  ZkServer *server;
  RawZk *raw;
} Realm;

static gboolean
run_program (const char *const *argv)
{
  int status = -1;
  g_autofree char *output = NULL;
  const gboolean good =
      g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL,
                    NULL, NULL, &output, NULL, &status, NULL)
      && status == 0;
  if (!good)
    {
      print_error ("%s: %s\n", argv[0], output);
    }
  return good;
}

static char *
file_of (Realm *realm, const char *name)
{
  return g_build_filename (realm->directory, name, NULL);
}

/* A new ticket of alice, and no ticket for a server. */
static gboolean
log_in (Realm *realm)
{
  g_autofree char *keytab = file_of (realm, "client.keytab");
  const char *const argv[] = { "kinit", "-k", "-t", keytab, "alice", NULL };
  return run_program (argv);
}

static gboolean
has_ticket (gpointer data)
{
  return log_in (data);
}

static gboolean
start_kdc (Realm *realm, const char *host)
{
  g_autofree char *address = g_strdup_printf ("%s:%d", host, zk_server_free_port (host));
  const char *const make[] = { CURATOR_SOURCE_DIR "/tests/support/make_realm", realm->directory,
                               address, NULL };
  const char *const argv[] = { "/usr/sbin/krb5kdc", "-n", NULL };
  g_autofree char *log = file_of (realm, "kdc.out");
  g_autofree char *config = file_of (realm, "krb5.conf");
  g_autofree char *profile = file_of (realm, "kdc.conf");
  g_autofree char *cache = file_of (realm, "tickets");

  /* Before any thread is started. */
  g_setenv ("KRB5_CONFIG", config, TRUE);
  g_setenv ("KRB5_KDC_PROFILE", profile, TRUE);
  g_setenv ("KRB5CCNAME", cache, TRUE);
  if (!run_program (make))
    {
      return FALSE;
    }
  realm->kdc = process_spawn ((char *const *) argv, log);
  return realm->kdc != 0 && wait_until (has_ticket, realm, LONG_MS);
}

static gboolean
start_server (Realm *realm, const char *host)
{
  g_autofree char *keytab = file_of (realm, "server.keytab");
  g_autofree char *krb5 = file_of (realm, "krb5.conf");
  g_autofree char *login = file_of (realm, "jaas.conf");
  g_autofree char *jaas = g_strdup_printf (
      "Server {\n  com.sun.security.auth.module.Krb5LoginModule required\n  useKeyTab=true "
      "storeKey=true"
      "\n  useTicketCache=false keyTab=\"%s\"\n  principal=\"zookeeper/" SERVER_NAME "\";\n};\n",
      keytab);
  g_autofree char *login_option = g_strconcat ("-Djava.security.auth.login.config=", login, NULL);
  g_autofree char *krb5_option = g_strconcat ("-Djava.security.krb5.conf=", krb5, NULL);
  const char *const options[] = { login_option, krb5_option, NULL };
  const ZkServerSetup setup = {
    .tick_ms = LONG_SESSION_MS / 20,
    .host = host,
    .config = "authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider\n"
              "kerberos.removeRealmFromPrincipal=true\nkerberos.removeHostFromPrincipal=true\n",
    .java_options = options
  };

  g_file_set_contents (login, jaas, -1, NULL);
  realm->server = zk_server_start_as (&setup);
  realm->raw = realm->server != NULL ? raw_zk_open (zk_server_address (realm->server)) : NULL;
  return realm->raw != NULL;
}

static int
start (void **state)
{
  Realm *realm = g_new0 (Realm, 1);
  g_autofree char *host = zk_server_new_host ();

  *state = realm;
  realm->directory = g_dir_make_tmp ("curator-realm-XXXXXX", NULL);
  return start_kdc (realm, host) && start_server (realm, host) ? 0 : -1;
}

static int
stop (void **state)
{
  Realm *realm = *state;
  GDir *dir = g_dir_open (realm->directory, 0, NULL);
  const char *name;

  raw_zk_close (realm->raw);
  zk_server_stop (realm->server);
  process_kill (realm->kdc);
  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = file_of (realm, name);
      g_unlink (path);
    }
  g_dir_close (dir);
  g_rmdir (realm->directory);
  g_free (realm->directory);
  g_free (realm);
  return 0;
}

static int
heal (void **state)
{
  Realm *realm = *state;
  kill (realm->kdc, SIGCONT);
  zk_server_thaw (realm->server);
  return 0;
}

static CuratorClient *
kerberos_client (Realm *realm, const char *server_name)
{
  g_autoptr (GError) error = NULL;
  CuratorClient *client = secured_client (zk_server_address (realm->server), NULL);
  assert_ok (curator_client_set_sasl_gssapi (client, NULL, server_name, &error), &error);
  return client;
}

/* The thread that waits for the KDC is the only one that waits. */
static void
test_silent_kdc (void **state)
{
  Realm *realm = *state;
  g_autoptr (CuratorClient) client = kerberos_client (realm, SERVER_NAME);

  assert_true (log_in (realm));
  kill (realm->kdc, SIGSTOP);
  curator_client_set_session_timeout (client, SESSION_MS);
  assert_refused (client, CURATOR_CONNECT_ERROR_SASL, "silent KDC");
}

static void
test_tickets (void **state)
{
  Realm *realm = *state;
  struct ACL entry = { ZOO_PERM_ALL, { (char *) "sasl", (char *) "alice" } };
  const struct ACL_vector acl = { 1, &entry };
  g_autoptr (CuratorClient) client = kerberos_client (realm, SERVER_NAME);
  g_autoptr (StateLog) log = state_log_new (client);
  g_autoptr (GError) error = NULL;

  assert_true (log_in (realm));
  client_start (client);
  raw_zk_make_path (realm->raw, "/kerberos");
  assert_int_equal (raw_zk_set_acl (realm->raw, "/kerberos", &acl), ZOK);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/kerberos");
  assert_ok (curator_lock_acquire (lock, LONG_MS, NULL, &error), &error);

  /* Authenticated again, the session goes on. */
  const gint64 session = curator_client_get_session_id (client);
  assert_true (zk_server_restart (realm->server));
  assert_true (state_log_wait (log, CURATOR_STATE_RECONNECTED, 1, LONG_MS));
  assert_int_equal (curator_client_get_session_id (client), session);
  assert_ok (curator_lock_release (lock, &error), &error);
}

static void
test_no_ticket (void **state)
{
  Realm *realm = *state;
  const char *const argv[] = { "kdestroy", NULL };
  g_autoptr (CuratorClient) without = kerberos_client (realm, SERVER_NAME);
  g_autoptr (CuratorClient) unknown = kerberos_client (realm, "other.test");

  assert_true (log_in (realm));
  assert_refused (unknown, CURATOR_CONNECT_ERROR_SASL, "unknown server");
  assert_true (run_program (argv));
  assert_refused (without, CURATOR_CONNECT_ERROR_SASL, "no ticket");
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup (test_silent_kdc, heal),
    cmocka_unit_test_setup (test_tickets, heal),
    cmocka_unit_test_setup (test_no_ticket, heal),
  };
  return cmocka_run_group_tests_name ("secured_kerberos", tests, start, stop);
}
