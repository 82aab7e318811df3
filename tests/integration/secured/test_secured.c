/* Connections with TLS and SASL to a real server: who is trusted, what is refused, how they fail
 * over, and what other processes on the machine can do. */
#include "secured.h"

#include "realm.h"
#include "support/held_lease.h"
#include "support/metronome.h"
#include "support/net.h"
#include "support/process.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_BURST    200
#define N_CHILDREN 8000
#define N_FDS      1500
#define STRANGER   65534 /* a user */

static void
lock_once (CuratorClient *client, const char *path)
{
  g_autoptr (CuratorLock) lock = mutex_new (client, path);
  assert_acquired (lock);
  assert_released (lock);
}

TEST (test_good_servers_are_trusted)
{
  g_autoptr (CuratorTls) tls = secured_tls (secured);
  g_autoptr (CuratorClient) by_address = secured_client (secured->address, tls);
  g_autoptr (CuratorClient) by_name = secured_client (secured->proxied, tls);

  curator_tls_set_server_name (tls, "zk.test");
  g_autoptr (CuratorClient) by_other_name = secured_client (secured->address, tls);
  curator_tls_set_server_name (tls, "zk.test.");
  g_autoptr (CuratorClient) by_other_name_with_dot = secured_client (secured->address, tls);
  curator_tls_set_server_name (tls, "wrong.test");
  curator_tls_set_verify (tls, FALSE);
  g_autoptr (CuratorClient) unverified = secured_client (secured->address, tls);
  CuratorClient *clients[] = { by_address, by_name, by_other_name, by_other_name_with_dot,
                               unverified };
  for (gsize i = 0; i < G_N_ELEMENTS (clients); i++) {
    client_start (clients[i]);
    lock_once (clients[i], "/tls/good");
    g_autofree char *server = curator_client_dup_server (clients[i]);
    assert_string_equal (server, i == 1 ? secured->proxied : secured->address);
  }
}

TEST (test_every_kind_of_key_is_trusted)
{
  static const char *const kinds[] = { "rsa", "rsa-pss", "ed25519", "ed448" };

  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++) {
    g_autoptr (CuratorTls) tls = secured_tls (secured);
    g_autoptr (GError) error = NULL;
    g_autofree char *certificate = g_strconcat (kinds[i], "-client.pem", NULL);
    g_autofree char *key = g_strconcat (kinds[i], "-client.key", NULL);
    assert_ok (curator_tls_set_certificate_files (tls, secured_file (secured, certificate),
                                                  secured_file (secured, key), NULL, &error),
               &error);
    g_autoptr (CuratorClient) client = secured_client (secured->address, tls);
    client_start (client);
    lock_once (client, "/tls/keys");
  }
}

static void
refuse (const char *servers, CuratorTls *tls, CuratorConnectError code, const char *what)
{
  g_autoptr (CuratorClient) client = secured_client (servers, tls);
  assert_refused (client, code, what);
}

TEST (test_bad_servers_are_refused)
{
  g_autoptr (CuratorTls) tls = secured_tls (secured);
  g_autoptr (GError) error = NULL;
  g_autofree char *closed =
      g_strdup_printf ("%s:%d", secured->host, zk_server_free_port (secured->host));

  refuse (closed, tls, CURATOR_CONNECT_ERROR_CONNECT, "no server");
  refuse ("no-such-host.invalid", tls, CURATOR_CONNECT_ERROR_RESOLVE, "unknown name");
  refuse (zk_server_address (secured->server), tls, CURATOR_CONNECT_ERROR_TLS, "port without TLS");
  curator_tls_set_server_name (tls, "wrong.test");
  refuse (secured->address, tls, CURATOR_CONNECT_ERROR_CERTIFICATE_REFUSED, "wrong name");
  curator_tls_set_server_name (tls, NULL);
  assert_ok (curator_tls_set_ca_file (tls, secured_file (secured, "foreign-ca.pem"), &error),
             &error);
  refuse (secured->address, tls, CURATOR_CONNECT_ERROR_CERTIFICATE_REFUSED, "unknown CA");
}

TEST (test_weak_certificates_are_refused)
{
  const char *const weak[] = { "expired.pem", "short.pem", "cn-only.pem" };
  g_autoptr (CuratorTls) tls = secured_tls (secured);

  curator_tls_set_server_name (tls, "zk.test");
  for (gsize i = 0; i < G_N_ELEMENTS (weak); i++) {
    g_autofree char *address = NULL;
    const pid_t pid =
        secured_start_other (secured, weak[i], "-cipher", "DEFAULT@SECLEVEL=0", &address);
    refuse (address, tls, CURATOR_CONNECT_ERROR_CERTIFICATE_REFUSED, weak[i]);
    process_kill (pid);
  }
}

TEST (test_revoked_certificates_are_refused)
{
  g_autoptr (CuratorTls) tls = secured_tls (secured);
  g_autoptr (GError) error = NULL;

  assert_false (curator_tls_set_crl_file (tls, secured_file (secured, "ca.pem"), &error));
  assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
  assert_ok (curator_tls_set_crl_file (tls, secured_file (secured, "crl.pem"), &error), &error);
  refuse (secured->address, tls, CURATOR_CONNECT_ERROR_CERTIFICATE_REFUSED, "revoked");
  assert_ok (curator_tls_set_crl_file (tls, secured_file (secured, "crl-empty.pem"), &error),
             &error);
  g_autoptr (CuratorClient) client = secured_client (secured->address, tls);
  client_start (client);
  assert_ok (curator_tls_set_crl_file (tls, NULL, &error), &error);
  g_autoptr (CuratorClient) unchecked = secured_client (secured->address, tls);
  client_start (unchecked);
}

static gboolean
are_named (CuratorClient *client, const char *const *servers)
{
  g_autoptr (GError) error = curator_client_dup_connection_error (client);
  gboolean all = error != NULL;

  for (; all && *servers != NULL; servers++) {
    g_autofree char *failure = g_strconcat (*servers, ": ", NULL);
    /* Behind the connect string. */
    all = strstr (strchr (error->message, '('), failure) != NULL;
  }
  return all;
}

/* Whichever failed last, all servers are named, and a refusal decides. */
TEST (test_every_server_is_named)
{
  g_autoptr (CuratorTls) tls = secured_tls (secured);
  g_autofree char *closed =
      g_strdup_printf ("%s:%d", secured->host, zk_server_free_port (secured->host));
  const char *const servers[] = { closed, "no-such-host.invalid:2281", secured->address, NULL };
  g_autofree char *joined = g_strjoinv (",", (char **) servers);
  g_autoptr (GError) error = NULL;

  curator_tls_set_server_name (tls, "wrong.test");
  g_autoptr (CuratorClient) client = secured_client (joined, tls);
  assert_ok (curator_client_start (client, &error), &error);
  assert_soon (are_named (client, servers));
  g_autoptr (GError) cause = curator_client_dup_connection_error (client);
  print_message ("%s\n", cause->message);
  assert_error (&cause, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_CERTIFICATE_REFUSED);
}

TEST (test_bad_clients_are_refused)
{
  g_autofree char *with_scheme = g_strconcat ("tls://", secured->address, "/app", NULL);
  g_autoptr (CuratorTls) tls = curator_tls_new ();
  g_autoptr (GError) error = NULL;

  refuse (with_scheme, NULL, CURATOR_CONNECT_ERROR_CERTIFICATE_REFUSED, "the system's CAs");
  assert_ok (curator_tls_set_ca_file (tls, secured_file (secured, "ca.pem"), &error), &error);
  refuse (secured->address, tls, CURATOR_CONNECT_ERROR_CLIENT_CERTIFICATE, "no client certificate");
  assert_ok (curator_tls_set_certificate_files (tls, secured_file (secured, "foreign.pem"),
                                                secured_file (secured, "foreign.key"), NULL,
                                                &error),
             &error);
  refuse (secured->address, tls, CURATOR_CONNECT_ERROR_CLIENT_CERTIFICATE,
          "foreign client certificate");
}

static void
assert_bad_files (CuratorTls *tls, const char *certificate, const char *key, const char *password)
{
  g_autoptr (GError) error = NULL;
  assert_false (curator_tls_set_certificate_files (tls, certificate, key, password, &error));
  print_message ("%s\n", error->message);
  assert_null (strstr (error->message, KEY_PASSWORD));
  assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
}

TEST (test_files_are_checked)
{
  g_autoptr (CuratorTls) tls = curator_tls_new ();
  g_autoptr (GError) error = NULL;
  const char *certificate = secured_file (secured, "client.pem");
  const char *encrypted = secured_file (secured, "client-encrypted.key");
  const int open_to_others[] = { 0644, 0604, 0602, 0620, 0622 };

  assert_bad_files (tls, certificate, encrypted, "wrong");
  assert_bad_files (tls, certificate, encrypted, NULL);
  assert_ok (curator_tls_set_certificate_files (tls, certificate, encrypted, KEY_PASSWORD, &error),
             &error);
  assert_ok (
      curator_tls_set_pkcs12 (tls, secured_file (secured, "client.p12"), KEY_PASSWORD, &error),
      &error);
  assert_bad_files (tls, certificate, secured_file (secured, "foreign.key"), NULL);
  assert_bad_files (tls, certificate, "/no/such/file", NULL);
  const char *key = secured_file (secured, "client.key");
  assert_bad_files (tls, secured_file (secured, "expired-client.pem"), key, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (open_to_others); i++) {
    g_chmod (key, open_to_others[i]);
    assert_bad_files (tls, certificate, key, NULL);
  }
  g_chmod (key, 0600);
  if (geteuid () == 0) {
    assert_int_equal (chown (key, STRANGER, (gid_t) -1), 0);
    assert_bad_files (tls, certificate, key, NULL);
    assert_int_equal (chown (key, 0, (gid_t) -1), 0);
  }
  assert_bad_files (tls, certificate, secured->directory, NULL);
  assert_false (curator_tls_set_ca_file (tls, key, &error));
  assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
  assert_false (
      curator_tls_set_pkcs12 (tls, secured_file (secured, "client.p12"), "wrong", &error));
  assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);

  /* The certificate of the PKCS#12 file is still the one that was set last. */
  assert_ok (curator_tls_set_ca_file (tls, secured_file (secured, "ca.pem"), &error), &error);
  g_autoptr (CuratorClient) client = secured_client (secured->address, tls);
  client_start (client);
}

/* Whichever is tried first, the good one is found. */
TEST (test_one_good_server_is_found)
{
  g_autofree char *servers =
      g_strdup_printf ("%s,%s:%d,no-such-host.invalid:2281,%s", zk_server_address (secured->server),
                       secured->host, zk_server_free_port (secured->host), secured->address);

  for (int i = 0; i < 4; i++) {
    g_autoptr (CuratorClient) client = secured_tls_client (secured, servers);
    client_start (client);
  }
}

TEST (test_silent_handshake)
{
  g_autofree char *both = g_strconcat (secured->proxied, ",", secured->address, NULL);
  g_autoptr (CuratorClient) alone = secured_tls_client (secured, secured->proxied);
  g_autoptr (CuratorClient) refused = secured_tls_client (secured, secured->proxied);
  g_autoptr (CuratorClient) lucky = secured_tls_client (secured, both);
  g_autoptr (GError) error = NULL;

  proxy_set_mode (secured->proxy, PROXY_HOLE);
  curator_client_set_session_timeout (refused, SESSION_MS);
  curator_client_set_session_timeout (lucky, LONG_SESSION_MS / 2);
  assert_refused (refused, CURATOR_CONNECT_ERROR_HANDSHAKE_TIMED_OUT, "silent server");
  client_start (lucky);
  assert_ok (curator_client_start (alone, &error), &error);
  wait_ms (50); /* the handshake hangs, or has not begun */
  curator_client_close (alone);
}

/* By SASL DIGEST-MD5, alone or inside TLS. */
static CuratorClient *
digest_client (Secured *secured, gboolean with_tls, const char *password)
{
  g_autoptr (GError) error = NULL;
  CuratorClient *client = with_tls ? secured_tls_client (secured, secured->address)
                                   : secured_client (zk_server_address (secured->server), NULL);
  assert_ok (curator_client_set_sasl_digest (client, SASL_USER, password, &error), &error);
  return client;
}

/* The session goes on behind a restart, and so does the hold: on a node that only the user may
 * change. */
TEST (test_hold_survives_a_restart)
{
  struct ACL entry = { ZOO_PERM_ALL, { (char *) "sasl", (char *) SASL_USER } };
  const struct ACL_vector acl = { 1, &entry };

  for (int with_tls = 0; with_tls <= 1; with_tls++) {
    g_autoptr (CuratorClient) client = digest_client (secured, with_tls, SASL_PASSWORD);
    g_autoptr (StateLog) log = state_log_new (client);
    g_autofree char *path = g_strdup_printf ("/sasl/%d", with_tls);
    client_start (client);
    raw_zk_make_path (secured->raw, path);
    assert_int_equal (raw_zk_set_acl (secured->raw, path, &acl), ZOK);
    g_autoptr (CuratorLock) lock = mutex_new (client, path);
    assert_acquired (lock);
    CuratorLease *lease = held_lease (lock);
    const gint64 session = curator_lease_get_session_id (lease);
    assert_true (zk_server_restart (secured->server));
    assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
    assert_int_equal (curator_client_get_session_id (client), session);
    assert_int_not_equal (curator_lease_get_state (lease), CURATOR_LEASE_STATE_LOST);
    assert_released (lock);
    lock_once (client, path);
    curator_client_close (client);
    g_autofree char *states = state_log_to_string (log);
    assert_string_equal (states, "CONNECTED SUSPENDED RECONNECTED");
  }
}

TEST (test_wrong_password)
{
  for (int with_tls = 0; with_tls <= 1; with_tls++) {
    g_autoptr (CuratorClient) client = digest_client (secured, with_tls, "not the password");
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

static void
copy_client (Secured *secured, const char *name)
{
  g_autofree char *command = g_strdup_printf (
      "cd %s && cp %s.pem renewed.pem && cp %s.key renewed.key", secured->directory, name, name);
  assert_int_equal (system (command), 0);
}

/* The certificate is read again when a connection is made. */
TEST (test_renewed_certificate)
{
  g_autoptr (CuratorTls) tls = secured_tls (secured);
  g_autoptr (GError) error = NULL;

  copy_client (secured, "foreign");
  assert_ok (curator_tls_set_certificate_files (tls, secured_file (secured, "renewed.pem"),
                                                secured_file (secured, "renewed.key"), NULL,
                                                &error),
             &error);
  g_autoptr (CuratorClient) client = secured_client (secured->proxied, tls);
  assert_ok (curator_client_start (client, &error), &error);
  assert_true (secured_wait_failed (client, CURATOR_CONNECT_ERROR_CLIENT_CERTIFICATE));
  copy_client (secured, "client");
  assert_ok (curator_client_block_until_connected (client, LONG_MS, NULL, &error), &error);
}

static void
count_acquired (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer user_data)
{
  gint *n = user_data;
  if (lease != NULL) {
    curator_lease_unref (lease);
    g_atomic_int_inc (n);
  }
}

/* Many answers in few records, and one that is larger than any buffer. */
TEST (test_gathered_and_large_answers)
{
  g_autoptr (CuratorClient) client = secured_tls_client (secured, secured->address);
  g_autoptr (GError) error = NULL;
  gint n = 0;

  client_start (client);
  for (int i = 0; i < N_BURST; i++) {
    g_autofree char *path = g_strdup_printf ("/tls/burst/%d", i);
    g_autoptr (CuratorLock) lock = mutex_new (client, path);
    curator_lock_acquire_then (lock, LONG_MS, NULL, count_acquired, &n);
  }
  assert_true (holds_within (g_atomic_int_get (&n) == N_BURST, 2 * LONG_MS));

  raw_zk_make_path (secured->raw, "/tls/large");
  assert_int_equal (raw_zk_create_many (secured->raw, "/tls/large",
                                        "a-name-so-long-that-the-answer-is-larger-than-any-buffer-",
                                        N_CHILDREN),
                    ZOK);
  g_autoptr (CuratorInspection) found =
      curator_client_inspect (client, "/tls/large", CURATOR_WAIT_DEFAULT, NULL, &error);
  assert_ok (found != NULL, &error);
  assert_int_equal (g_strv_length ((char **) curator_inspection_get_foreign_children (found)),
                    N_CHILDREN);
}

TEST (test_many_descriptors)
{
  g_autoptr (CuratorClient) client = secured_tls_client (secured, secured->address);
  struct rlimit before;
  static int fds[N_FDS];

  getrlimit (RLIMIT_NOFILE, &before);
  const struct rlimit more = { MIN (before.rlim_max, 4096), before.rlim_max };
  assert_int_equal (setrlimit (RLIMIT_NOFILE, &more), 0);
  for (int i = 0; i < N_FDS; i++) {
    fds[i] = open ("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true (fds[i] >= 0);
  }
  client_start (client);
  lock_once (client, "/tls/descriptors");
  for (int i = 0; i < N_FDS; i++)
    close (fds[i]);
  setrlimit (RLIMIT_NOFILE, &before);
}

/* The loopback port of the only secured client: the process listens there, and on the proxy's. */
static char *
find_port (Secured *secured)
{
  const int proxy_port = atoi (strchr (proxy_address (secured->proxy), ':') + 1);

  for (int fd = 3; fd < 1024; fd++) {
    int listens = 0;
    struct sockaddr_in name = { 0 };
    socklen_t length = sizeof listens;
    socklen_t name_length = sizeof name;
    if (getsockopt (fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens != 0
        && getsockname (fd, (struct sockaddr *) &name, &name_length) == 0
        && name.sin_addr.s_addr == htonl (INADDR_LOOPBACK) && ntohs (name.sin_port) != proxy_port)
      return g_strdup_printf ("127.0.0.1:%d", ntohs (name.sin_port));
  }
  return NULL;
}

static void
assert_ended (int fd)
{
  guint8 answer;
  const gint64 start = wait_now_ms ();
  assert_int_equal (net_read (fd, &answer, 1, LONG_MS), 0);
  /* The server's side ends it; the read would end at LONG_MS. */
  assert_promised_ms (wait_now_ms () - start, LONG_MS - 1, start);
  close (fd);
}

/* Sends a ConnectRequest. */
static void
assert_turned_away (const char *port, gint64 session, guint8 fill)
{
  g_autoptr (GByteArray) frame = g_byte_array_new ();
  guint8 password[16];

  memset (password, fill, sizeof password);
  net_put_int32 (frame, 44);
  net_put_int32 (frame, 0);
  net_put_int64 (frame, 0);
  net_put_int32 (frame, LONG_SESSION_MS);
  net_put_int64 (frame, session);
  net_put_buffer (frame, password, sizeof password);
  const int fd = net_connect (port, LONG_MS);
  assert_true (fd >= 0);
  assert_int_equal (send (fd, frame->data, frame->len, MSG_NOSIGNAL), frame->len);
  assert_ended (fd);
}

TEST (test_strangers_are_turned_away)
{
  g_autoptr (CuratorClient) client = secured_tls_client (secured, secured->address);
  g_autoptr (StateLog) log = state_log_new (client);

  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/tls/strangers");
  assert_acquired (lock);
  g_autofree char *port = find_port (secured);
  assert_non_null (port);
  const int silent = net_connect (port, LONG_MS);
  assert_true (silent >= 0);
  for (guint8 fill = 0; fill < 40; fill++) {
    assert_turned_away (port, 0, fill);
    assert_turned_away (port, curator_client_get_session_id (client), fill);
  }
  assert_ended (silent);
  assert_int_equal (curator_lease_get_state (held_lease (lock)), CURATOR_LEASE_STATE_HELD);
  assert_int_equal (state_log_count (log, CURATOR_CONNECTION_STATE_SUSPENDED), 0);
  assert_released (lock);
}

/* What a stranger does with each connection. */
typedef enum
{
  FLOOD_LEAVES,
  FLOOD_STAYS, /* as many as its descriptors allow */
  FLOOD_TALKS,
  N_FLOODS
} Flood;

#define N_STAYING  800
#define N_FLOODERS 2
#define N_CUTS     3
#define FLOODED_MS 30000 /* a session */

/* In a child of fork (): system calls only. */
static void
flood (const struct sockaddr_in *port, Flood kind)
{
  static const guint8 nonsense[44] = { 0, 0, 0, 40 };
  static int staying[N_STAYING];
  const struct linger reset = { .l_onoff = 1 };

  for (guint n = 0;; n = (n + 1) % N_STAYING) {
    const int fd = socket (AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    (void) !connect (fd, (const struct sockaddr *) port, sizeof *port);
    setsockopt (fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    if (kind == FLOOD_TALKS)
      (void) !send (fd, nonsense, sizeof nonsense, MSG_NOSIGNAL);
    if (staying[n] > 0)
      close (staying[n]);
    staying[n] = kind == FLOOD_STAYS ? fd : 0;
    if (kind != FLOOD_STAYS)
      close (fd);
  }
}

static pid_t
start_flood (const char *port, Flood kind)
{
  const struct sockaddr_in name = { .sin_family = AF_INET,
                                    .sin_port = htons ((guint16) atoi (strchr (port, ':') + 1)),
                                    .sin_addr = { htonl (INADDR_LOOPBACK) } };
  const pid_t parent = getpid ();
  const pid_t pid = fork ();

  if (pid != 0)
    return pid;
  for (int fd = 3; fd < 4096; fd++)
    close (fd); /* no connection of the parent's stays open here */
  if (getppid () != parent || setgid (STRANGER) != 0 || setuid (STRANGER) != 0)
    _exit (1);
  prctl (PR_SET_PDEATHSIG, SIGKILL); /* setuid () clears it */
  flood (&name, kind);
  _exit (0);
}

/* Another user of the machine connects to the port as often as he can, while the session
 * reconnects. */
TEST (test_flood_of_another_user)
{
  g_autoptr (CuratorClient) client = secured_tls_client (secured, secured->proxied);
  g_autoptr (StateLog) log = state_log_new (client);
  int n = 0;

  if (geteuid () != 0)
    skip (); /* who cannot become another user */
  curator_client_set_session_timeout (client, FLOODED_MS);
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/tls/flood");
  assert_acquired (lock);
  const gint64 session = curator_client_get_session_id (client);
  g_autofree char *port = find_port (secured);
  for (Flood kind = 0; kind < N_FLOODS; kind++) {
    pid_t flooders[N_FLOODERS];
    for (int i = 0; i < N_FLOODERS; i++)
      flooders[i] = start_flood (port, kind);
    for (int i = 0; i < N_CUTS; i++) {
      const gint64 start = wait_now_ms ();
      proxy_cut (secured->proxy);
      assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, ++n, LONG_MS));
      print_message ("flood %d: connected again after %d ms\n", (int) kind,
                     (int) (wait_now_ms () - start));
    }
    for (int i = 0; i < N_FLOODERS; i++)
      process_kill (flooders[i]);
  }
  assert_int_equal (state_log_count (log, CURATOR_CONNECTION_STATE_LOST), 0);
  assert_int_equal (curator_client_get_session_id (client), session);
  assert_int_not_equal (curator_lease_get_state (held_lease (lock)), CURATOR_LEASE_STATE_LOST);
  assert_released (lock);
}

#define TOKEN_CERTIFICATE "pkcs11:token=curator;object=client;type=cert"
#define TOKEN_KEY         "pkcs11:token=curator;object=client;type=private?pin-value="

static char *token_directory;

/* SoftHSM reads its configuration once in a process. */
static int
secured_start_with_token (void **state)
{
  g_autofree char *config = NULL;

  token_directory = g_dir_make_tmp ("curator-token-XXXXXX", NULL);
  config = g_build_filename (token_directory, "softhsm2.conf", NULL);
  g_setenv ("SOFTHSM2_CONF", config, TRUE);
  if (secured_start (state) != 0)
    return -1;
  const char *const argv[] = { CURATOR_SOURCE_DIR "/tests/support/make_token", token_directory,
                               secured_file (*state, "client.pem"),
                               secured_file (*state, "client.key"), NULL };
  return realm_run (argv) ? 0 : -1;
}

static int
secured_stop_with_token (void **state)
{
  const char *const argv[] = { "rm", "-r", token_directory, NULL };
  realm_run (argv);
  g_free (token_directory);
  return secured_stop (state);
}

/* The private key stays on the token, and each connection signs with it. */
TEST (test_certificate_on_a_token)
{
  g_autoptr (CuratorTls) tls = curator_tls_new ();
  g_autoptr (GError) error = NULL;
  const struct
  {
    const char *certificate;
    const char *key;
  } bad[] = { { TOKEN_CERTIFICATE, TOKEN_KEY "4321" },
              { TOKEN_CERTIFICATE, "pkcs11:token=curator;object=client;type=private" },
              { "pkcs11:token=curator;object=none;type=cert", TOKEN_KEY "1234" },
              { "pkcs11:token=none;object=client;type=cert", TOKEN_KEY "1234" },
              { secured_file (secured, "client.pem"), secured_file (secured, "client.key") } };

  assert_ok (curator_tls_set_ca_file (tls, secured_file (secured, "ca.pem"), &error), &error);
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++) {
    assert_false (curator_tls_set_pkcs11 (tls, bad[i].certificate, bad[i].key, &error));
    assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
  }
  refuse (secured->address, tls, CURATOR_CONNECT_ERROR_CLIENT_CERTIFICATE, "nothing was set");
  assert_ok (curator_tls_set_pkcs11 (tls, TOKEN_CERTIFICATE, TOKEN_KEY "1234", &error), &error);
  for (int i = 0; i < 2; i++) {
    g_autoptr (CuratorClient) client = secured_client (secured->address, tls);
    client_start (client);
    lock_once (client, "/tls/token");
  }
}

PROMPT_SUITE ("secured", secured_start_with_token, secured_stop_with_token)
