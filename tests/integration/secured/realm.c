#include "realm.h"

#include "support/process.h"
#include "support/scratch.h"

gboolean
realm_run (const char *const *argv)
{
  int status = -1;
  g_autofree char *output = NULL;
  const gboolean good =
      g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL,
                    NULL, NULL, &output, NULL, &status, NULL)
      && status == 0;
  if (!good)
    print_error ("%s: %s\n", argv[0], output);
  return good;
}

static char *
file_of (Realm *realm, const char *name)
{
  return g_build_filename (realm->directory, name, NULL);
}

gboolean
realm_log_in (Realm *realm)
{
  g_autofree char *keytab = file_of (realm, "client.keytab");
  const char *const argv[] = { "kinit", "-k", "-t", keytab, "alice", NULL };
  return realm_run (argv);
}

int
realm_start_kdc (void **state)
{
  Realm *realm = g_new0 (Realm, 1);
  *state = realm;
  realm->directory = g_dir_make_tmp ("curator-realm-XXXXXX", NULL);
  g_autofree char *host = zk_server_new_host ();
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
  if (!realm_run (make))
    return -1;
  realm->kdc = process_spawn ((char *const *) argv, log);
  return realm->kdc != 0 && holds_within (realm_log_in (realm), LONG_MS) ? 0 : -1;
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
      "\n  useTicketCache=false keyTab=\"%s\"\n  principal=\"zookeeper/" REALM_SERVER_NAME
      "\";\n};\n",
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

int
realm_start (void **state)
{
  g_autofree char *host = zk_server_new_host ();
  return realm_start_kdc (state) == 0 && start_server (*state, host) ? 0 : -1;
}

int
realm_stop (void **state)
{
  Realm *realm = *state;

  if (realm->server != NULL) {
    raw_zk_close (realm->raw);
    zk_server_stop (realm->server);
  }
  process_kill (realm->kdc);
  scratch_remove (realm->directory);
  g_free (realm);
  return 0;
}
