/* SASL by Kerberos with a real KDC: tickets, none, and a KDC that does not answer. */
#define SUITE_FIXTURE Realm *realm
#define SUITE_SETUP   heal
#include "realm.h"
#include "secured.h"

#include <signal.h>

#define N_ATTEMPTS 5

static int
heal (void **state)
{
  Realm *realm = *state;
  kill (realm->kdc, SIGCONT);
  zk_server_thaw (realm->server);
  return realm_log_in (realm) ? 0 : -1;
}

static CuratorClient *
kerberos_client (const char *address, const char *server_name)
{
  g_autoptr (GError) error = NULL;
  CuratorClient *client = secured_client (address, NULL);
  assert_ok (curator_client_set_sasl_gssapi (client, NULL, server_name, &error), &error);
  return client;
}

/* Threads of this process with that name. */
static guint
count_threads (const char *name)
{
  g_autoptr (GDir) dir = g_dir_open ("/proc/self/task", 0, NULL);
  const char *task;
  guint n = 0;

  while ((task = g_dir_read_name (dir)) != NULL) {
    g_autofree char *path = g_build_filename ("/proc/self/task", task, "comm", NULL);
    g_autofree char *comm = NULL;
    n += g_file_get_contents (path, &comm, NULL, NULL) && g_str_equal (g_strchomp (comm), name);
  }
  return n;
}

/* The thread that waits for the KDC is the only one that waits, however often it is tried again. */
TEST (test_silent_kdc)
{
  Proxy *proxy = proxy_new (zk_server_address (realm->server));
  g_autoptr (CuratorClient) client = kerberos_client (proxy_address (proxy), REALM_SERVER_NAME);
  g_autoptr (StateLog) log = state_log_new (client);
  g_autoptr (GError) error = NULL;

  kill (realm->kdc, SIGSTOP);
  curator_client_set_session_timeout (client, SESSION_MS);
  assert_ok (curator_client_start (client, &error), &error);
  assert_soon (proxy_accepted (proxy) >= N_ATTEMPTS);
  assert_true (secured_wait_failed (client, CURATOR_CONNECT_ERROR_SASL));
  /* One that has answered may still be about to end. */
  assert_true (count_threads ("curator-job") <= 2);
  assert_soon (count_threads ("curator-job") > 0);
  curator_client_close (client);
  assert_int_equal (state_log_count (log, CURATOR_CONNECTION_STATE_CONNECTED), 0);
  proxy_free (proxy);
}

TEST (test_tickets)
{
  struct ACL entry = { ZOO_PERM_ALL, { (char *) "sasl", (char *) "alice" } };
  const struct ACL_vector acl = { 1, &entry };
  g_autoptr (CuratorClient) client =
      kerberos_client (zk_server_address (realm->server), REALM_SERVER_NAME);
  g_autoptr (StateLog) log = state_log_new (client);
  client_start (client);
  raw_zk_make_path (realm->raw, "/kerberos");
  assert_int_equal (raw_zk_set_acl (realm->raw, "/kerberos", &acl), ZOK);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/kerberos");
  assert_acquired (lock);

  /* Authenticated again, the session goes on. */
  const gint64 session = curator_client_get_session_id (client);
  assert_true (zk_server_restart (realm->server));
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
  assert_int_equal (curator_client_get_session_id (client), session);
  assert_released (lock);
}

/* The server's own word that a session has ended comes before a login, and reaches libzookeeper. */
TEST (test_end_of_a_session)
{
  const char *server = zk_server_address (realm->server);
  Proxy *proxy = proxy_new (server);
  g_autoptr (CuratorClient) client = kerberos_client (proxy_address (proxy), REALM_SERVER_NAME);
  g_autoptr (StateLog) log = state_log_new (client);
  gint64 ended = 0;

  client_start (client);
  assert_true (expire_last_session (proxy, server, &ended));
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_LOST, 1, LONG_MS));
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
  assert_true (curator_client_get_session_id (client) != ended);
  curator_client_close (client);
  proxy_free (proxy);
}

TEST (test_no_ticket)
{
  const char *const argv[] = { "kdestroy", NULL };
  g_autoptr (CuratorClient) without =
      kerberos_client (zk_server_address (realm->server), REALM_SERVER_NAME);
  g_autoptr (CuratorClient) unknown =
      kerberos_client (zk_server_address (realm->server), "other.test");

  assert_refused (unknown, CURATOR_CONNECT_ERROR_SASL, "unknown server");
  assert_true (realm_run (argv));
  assert_refused (without, CURATOR_CONNECT_ERROR_SASL, "no ticket");
}

SUITE ("secured_kerberos", realm_start, realm_stop)
