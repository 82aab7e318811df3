/* All reasons why there is no connection, side by side: each is told apart from the others, by
 * verbs that look and by a lock, and no command runs. */
#define SUITE_FIXTURE World *world
#include "cli.h"

#include "support/hosts.h"
#include "support/net.h"
#include "support/process.h"
#include "support/scratch.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_WORDS 2
#define CLOSED    "the server closed the connection"

typedef enum
{
  AT_CLOSED,
  AT_SILENT,
  AT_OFF,       /* its SYNs are dropped */
  AT_GREETER,   /* answers in another protocol */
  AT_CLOSER,    /* accepts, then closes */
  AT_FULL,      /* has all the connections that its maxClientCnxns allows */
  AT_NO_QUORUM, /* the last member of an ensemble */
  AT_SERVER,
  AT_WANTS_SASL,
  AT_NO_CHROOT,
  AT_TLS, /* wants a certificate */
  AT_EXPIRED,
  AT_UNKNOWN,
  N_PLACES
} Place;

/* Answers in a protocol of its own, but for the first connections, which it lets wait. A process,
 * which does so while the test stands still. */
typedef struct
{
  char *address;
  int fd;
  pid_t pid;
} Greeter;

typedef struct
{
  Fixture *fixture;
  ZkServer *wants_sasl;
  ZkServer *full;
  Hosts *away;  /* those without an answer of their own */
  RawZk *guest; /* its only one */
  ZkEnsemble *ensemble;
  char *directory;
  char *hosts[N_PLACES];
  Greeter *greeter;
  Cli *tls[2];
} World;

/* "%name" in a word is a file of the certificates. */
static const struct
{
  Place place;
  const char *words[MAX_WORDS];
  int code;
  const char *cause;       /* of this row only */
  const char *descriptors; /* of the process; NULL: as many as the test's */
} rows[] = {
  { AT_CLOSED, { NULL }, 69, ": connection refused" },
  { AT_UNKNOWN, { NULL }, 69, ": unknown host" },
  { AT_GREETER, { NULL }, 69, ": not a ZooKeeper server" },
  { AT_CLOSER, { NULL }, 69, ": closes the connection without an answer: is its maxClientCnxns" },
  { AT_FULL, { NULL }, 69, ": closes the connection without an answer: is its maxClientCnxns" },
  { AT_NO_QUORUM, { NULL }, 69, ": no quorum" },
  { AT_SILENT, { NULL }, 69, ": accepts connections and does not answer" },
  { AT_OFF, { NULL }, 69, ": no answer to a connect: is the machine off" },
  { AT_SERVER, { NULL }, 71, "more than 24 descriptors (ulimit -n", "24" },
  { AT_NO_CHROOT, { NULL }, 69, "the chroot /nowhere/at/all of the connect string does not exist" },
  { AT_SERVER, { "--auth-file=%nobody" }, 77, "the server refused the authentication" },
  { AT_WANTS_SASL, { NULL }, 77, "the server requires clients to authenticate" },
#if HAS_TLS
  { AT_CLOSED, { "--tls-ca=%ca.pem" }, 69, ": connection refused" },
  { AT_UNKNOWN, { "--tls-ca=%ca.pem" }, 69, ": unknown host" },
  { AT_SILENT, { "--tls-ca=%ca.pem" }, 69, ": accepts connections and does not answer" },
  { AT_TLS, { NULL }, 69, ": expects TLS" },
  { AT_SERVER, { "--tls-ca=%ca.pem" }, 76, ": TLS: " },
  { AT_TLS, { "--tls-ca=%ca.pem", "--tls-server-name=wrong.test" }, 76, "does not match" },
  { AT_TLS, { "--tls-ca=%foreign-ca.pem" }, 76, "issuer is unknown" },
  { AT_EXPIRED, { "--tls-ca=%ca.pem" }, 76, "chain uses expired certificate" },
  { AT_TLS, { "--tls-ca=%ca.pem" }, 76, "wants a certificate" },
  { AT_TLS, { "--tls-ca=%ca.pem", "--tls-crl=%crl-old.pem" }, 76, "was to be renewed by" },
  { AT_TLS, { "--tls-ca=%ca.pem", "--tls-crl=%crl-foreign.pem" }, 76, "is not signed by" },
#endif
};

static const char *const verbs[][4] = { { "-n", "/p" }, { "/p" }, { "who", "/p" }, { "doctor" } };

G_GNUC_NORETURN static void
greet (int listener, int n_silent)
{
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  close_range (3, (guint) listener - 1, 0);
  close_range ((guint) listener + 1, ~0U, 0);
  for (int n = 0;;) {
    const int fd = accept (listener, NULL, NULL);
    if (fd >= 0 && n++ >= n_silent) {
      (void) !send (fd, "SSH-2.0-test\r\n", 14, MSG_NOSIGNAL);
      shutdown (fd, SHUT_WR);
      wait_ms (50);
      close (fd);
    }
    wait_ms (5);
  }
}

static Greeter *
greeter_new (int n_silent)
{
  Greeter *self = g_new0 (Greeter, 1);

  self->fd = cli_listen (&self->address);
  self->pid = fork ();
  if (self->pid == 0)
    greet (self->fd, n_silent);
  assert_true (self->pid > 0);
  return self;
}

static void
greeter_free (Greeter *self)
{
  process_kill (self->pid);
  close (self->fd);
  g_free (self->address);
  g_free (self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Greeter, greeter_free)

static gboolean
is_listening (const char *address)
{
  const int fd = net_connect (address, CLI_MS);
  if (fd >= 0)
    close (fd);
  return fd >= 0;
}

static Cli *
serve_tls (World *world, Place place, const char *certificate)
{
  g_autofree char *pem = g_build_filename (world->directory, certificate, NULL);
  g_autofree char *ca = g_build_filename (world->directory, "ca.pem", NULL);

  world->hosts[place] = g_strdup_printf ("127.0.0.1:%d", zk_server_free_port ("127.0.0.1"));
  Cli *server =
      cli_start ("/usr/bin/env", "openssl", "s_server", "-quiet", "-accept", world->hosts[place],
                 "-cert", pem, "-key", pem, "-CAfile", ca, "-Verify", "1");
  assert_soon (is_listening (world->hosts[place]));
  return server;
}

static void
make_files (World *world)
{
  g_autofree char *nobody = g_build_filename (world->directory, "nobody", NULL);
  g_autoptr (Cli) make = cli_start (CURATOR_SOURCE_DIR "/tests/support/make_certificates",
                                    world->directory, "127.0.0.1");

  cli_ends (make, 0, NULL);
  assert_true (g_file_set_contents (nobody, "nosuchscheme:nobody\n", -1, NULL));
  assert_int_equal (g_chmod (nobody, 0600), 0);
}

static gboolean
has_no_quorum (const char *address)
{
  g_autofree char *answer = four_letter (address, "srvr", 2000);
  return answer != NULL && strstr (answer, "not currently serving") != NULL;
}

static void
leave_one_member (World *world)
{
  world->ensemble = zk_ensemble_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
  assert_non_null (world->ensemble);
  zk_server_kill (zk_ensemble_server (world->ensemble, 0));
  zk_server_kill (zk_ensemble_server (world->ensemble, 1));
  world->hosts[AT_NO_QUORUM] =
      g_strdup (zk_server_address (zk_ensemble_server (world->ensemble, 2)));
  assert_soon (has_no_quorum (world->hosts[AT_NO_QUORUM]));
}

static ZkServer *
start_server (World *world, Place place, const char *const *options, const char *config)
{
  const ZkServerSetup setup = { .tick_ms = ZK_SERVER_DEFAULT_TICK_MS,
                                .java_options = options,
                                .config = config };
  ZkServer *server = zk_server_start_as (&setup);

  assert_non_null (server);
  world->hosts[place] = g_strdup (zk_server_address (server));
  return server;
}

static int
start (void **state)
{
  static const char *const wants_sasl[] = {
    "-Dzookeeper.enforce.auth.enabled=true", "-Dzookeeper.enforce.auth.schemes=sasl",
    "-Dzookeeper.authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider", NULL
  };
  static const struct
  {
    Place place;
    HostWay way;
  } ways[] = { { AT_SILENT, HOST_SILENT }, { AT_OFF, HOST_DROPS }, { AT_CLOSER, HOST_CLOSES } };
  World *world = g_new0 (World, 1);

  *state = world;
  world->directory = scratch_new ("curator-causes");
  make_files (world);
  if (fixture_start_slow ((void **) &world->fixture) != 0)
    return -1;
  leave_one_member (world);
  world->wants_sasl = start_server (world, AT_WANTS_SASL, wants_sasl, NULL);
  world->full = start_server (world, AT_FULL, NULL, "maxClientCnxns=1\n");
  world->guest = raw_zk_open (world->hosts[AT_FULL]);
  world->hosts[AT_CLOSED] = cli_unused_address ();
  world->hosts[AT_UNKNOWN] = g_strdup ("no-such-host.invalid:2181");
  world->hosts[AT_SERVER] = g_strdup (fixture_server (world->fixture));
  world->hosts[AT_NO_CHROOT] = g_strconcat (world->hosts[AT_SERVER], "/nowhere/at/all", NULL);
  world->away = hosts_new (world->hosts[AT_SERVER], G_N_ELEMENTS (ways), FALSE);
  for (guint i = 0; i < G_N_ELEMENTS (ways); i++) {
    hosts_set (world->away, i, ways[i].way);
    world->hosts[ways[i].place] = g_strdup (hosts_address (world->away, i));
  }
  world->greeter = greeter_new (0);
  world->hosts[AT_GREETER] = g_strdup (world->greeter->address);
  world->tls[0] = serve_tls (world, AT_TLS, "server.pem");
  world->tls[1] = serve_tls (world, AT_EXPIRED, "expired.pem");
  return 0;
}

static int
stop (void **state)
{
  World *world = *state;

  greeter_free (world->greeter);
  cli_free (world->tls[0]);
  cli_free (world->tls[1]);
  hosts_free (world->away);
  zk_ensemble_stop (world->ensemble);
  zk_server_stop (world->wants_sasl);
  raw_zk_close (world->guest);
  zk_server_stop (world->full);
  fixture_stop ((void **) &world->fixture);
  scratch_remove (world->directory);
  for (int i = 0; i < N_PLACES; i++)
    g_free (world->hosts[i]);
  g_free (world);
  return 0;
}

static Cli *
start_row (World *world, gsize row, const char *timeout, const char *const *verb)
{
  const gboolean has_command = verb[0][0] != 'w' && verb[0][0] != 'd';
  const char *prlimit = rows[row].descriptors != NULL ? "prlimit" : NULL;
  g_autofree char *nofile = g_strconcat ("--nofile=", rows[row].descriptors, NULL);
  g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func (g_free);

  for (int i = 0; i < MAX_WORDS; i++) {
    g_auto (GStrv) parts =
        g_strsplit (rows[row].words[i] != NULL ? rows[row].words[i] : "", "%", 2);
    g_ptr_array_add (words, rows[row].words[i] == NULL ? NULL
                            : parts[1] != NULL
                                ? g_strconcat (parts[0], world->directory, "/", parts[1], NULL)
                                : g_strdup (parts[0]));
  }
  return cli_start ("/usr/bin/env", prlimit, prlimit != NULL ? nofile : NULL, ZKFLOCK, "-Z",
                    world->hosts[rows[row].place], timeout, words->pdata[0], words->pdata[1],
                    verb[0], verb[1], has_command ? CLI_COMMAND : NULL, has_command ? "turn" : NULL,
                    has_command ? "LOG" : NULL, has_command ? "0" : NULL);
}

/* It says that cause and no other one, and has not run its command. FALSE after printing what is
 * wrong. */
static gboolean
check_row (gsize row, Cli *cli, const char *verb)
{
  const int code = cli_wait (cli, CLI_MS);
  g_autofree char *err = cli_stderr (cli);
  gboolean good = code == rows[row].code && cli_is_one_line (err)
                  && !g_file_test (cli->log, G_FILE_TEST_EXISTS);

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    good =
        good
        && (strstr (err, rows[i].cause) != NULL) == (strcmp (rows[i].cause, rows[row].cause) == 0);
  if (!good)
    print_error ("%s, \"%s\": exit code %d, not %d: %s\n", verb, rows[row].cause, code,
                 rows[row].code, err);
  cli_free (cli);
  return good;
}

TEST (every_cause_is_told_apart)
{
  Cli *clis[G_N_ELEMENTS (rows)][G_N_ELEMENTS (verbs)];
  gboolean good = TRUE;

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    for (gsize k = 0; k < G_N_ELEMENTS (verbs); k++)
      clis[i][k] = start_row (world, i, "--connect-timeout=24", verbs[k]);
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    for (gsize k = 0; k < G_N_ELEMENTS (verbs); k++)
      good = check_row (i, clis[i][k], verbs[k][0]) && good;
  assert_true (good);
}

/* The time limit of a wait would be reached long after this test has failed. */
TEST (a_try_ends_at_once)
{
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    const Place place = rows[i].place;
    if (rows[i].code == 76 || place == AT_CLOSED || place == AT_UNKNOWN || place == AT_GREETER
        || place == AT_NO_QUORUM)
      assert_true (check_row (i, start_row (world, i, "--connect-timeout=600", verbs[0]), "-n"));
  }
}

/* A server that closes with a request unread resets the connection. */
static gboolean
has_cause (const GError *error, const char *cause)
{
  return strstr (error->message, cause) != NULL
         || (strcmp (cause, CLOSED) == 0
             && strstr (error->message, "Connection reset by peer") != NULL);
}

static gboolean
is_told (CuratorClient *client, int code, const char *cause, GError **error)
{
  g_clear_error (error);
  *error = curator_client_dup_connection_error (client);
  return g_error_matches (*error, CURATOR_CONNECT_ERROR, code) && has_cause (*error, cause);
}

/* What the library says of the same places: the address, the true cause, and its kind. */
TEST (the_library_tells_the_same_causes)
{
  static const struct
  {
    Place place;
    int code; /* of CURATOR_CONNECT_ERROR; -1: AUTH_FAILED */
    const char *cause;
  } causes[] = {
    { AT_CLOSED, CURATOR_CONNECT_ERROR_CONNECT, "Connection refused" },
    { AT_UNKNOWN, CURATOR_CONNECT_ERROR_RESOLVE, "the name cannot be resolved" },
    { AT_CLOSER, CURATOR_CONNECT_ERROR_CONNECT, CLOSED },
    { AT_FULL, CURATOR_CONNECT_ERROR_CONNECT, CLOSED },
    { AT_SILENT, CURATOR_CONNECT_ERROR_HANDSHAKE_TIMED_OUT, "no answer" },
    { AT_OFF, CURATOR_CONNECT_ERROR_HANDSHAKE_TIMED_OUT, "no answer" },
    { AT_NO_QUORUM, CURATOR_CONNECT_ERROR_CONNECT, CLOSED },
    { AT_WANTS_SASL, -1, "requires clients to authenticate" },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (causes); i++) {
    const char *hosts = world->hosts[causes[i].place];
    g_autoptr (CuratorClient) client = client_new (hosts);
    g_autoptr (GError) error = NULL;
    assert_ok (curator_client_start (client, &error), &error);
    if (causes[i].code < 0) {
      g_autoptr (CuratorLock) lock = mutex_new (client, "/p");
      assert_false (curator_lock_acquire (lock, LONG_MS, NULL, &error));
      assert_true (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_AUTH_FAILED));
    } else {
      assert_soon (is_told (client, causes[i].code, causes[i].cause, &error));
    }
    assert_non_null (strstr (error->message, hosts));
    assert_true (has_cause (error, causes[i].cause));
    curator_client_close (client);
  }
}

/* Mistakes that need no server: nothing is connected, and one line says what is meant. */
TEST (mistakes_in_connect_strings)
{
  static const struct
  {
    const char *hosts;
    const char *cause;
  } mistakes[] = {
    { "a:1/x,b:1/x", "the chroot stands once, behind the last server" },
    { "a:1/x,b:1", "the chroot stands once, behind the last server" },
    { "a:1/x,[::1]:1/x", "the chroot stands once, behind the last server" },
    { "a:1/x,b:1,c:1/x", "the chroot stands once, behind the last server" },
    { "tls://a:1/x,tls://b:1/x", "the chroot stands once, behind the last server" },
    { "a:1;b:1", "servers are separated by commas" },
    { "a:1 b:1", "servers are separated by commas" },
    { "a:1\tb:1", "servers are separated by commas" },
    { "a:1|b:1", "servers are separated by commas" },
    { "a;b", "servers are separated by commas" },
    { "a b", "servers are separated by commas" },
    { "::1:2181", "write an IPv6 address as [address]:port" },
    { "[::1:2181", "the closing bracket is missing" },
    { "[a]:1", "the brackets do not contain an IPv6 address" },
    { "a:0", "the port must be a number" },
    { "a:x", "the port must be a number" },
    { "a:", "the port is missing" },
    { "http://a:1", "no scheme but tls:// is known" },
    { "a:1,", "a server is missing" },
    { ",a:1", "a server is missing" },
    { "a:1,,b:1", "a server is missing" },
    { "1.2.3:1", "neither a name nor an address" },
    { "-a:1", "neither a name nor an address" },
    { "tls://a:1,b:1", "before every server or before none" },
    { "a:1,tls://b:1", "before every server or before none" },
    { "a:1/x//y", "one of its parts is empty" },
    { "a:1/../y", "one of its parts is relative" },
    { "\xef\xbb\xbf"
      "a:1",
      "\\xef\\xbb\\xbf" },
    { "a\xe2\x80\x8b:1", "\\xe2\\x80\\x8b" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (mistakes); i++) {
    g_autoptr (CuratorClient) client = curator_client_new (mistakes[i].hosts, NULL);
    g_autoptr (GError) error = NULL;
    cli_fails_with_line (mistakes[i].hosts, 64, mistakes[i].cause, "-n", "/p", "true");
    assert_false (curator_client_start (client, &error));
    assert_true (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT));
    cli_shows (error->message, "%s", mistakes[i].cause);
  }
}

/* The server answers; no retry and no other server would help. */
TEST (a_lock_below_an_ephemeral_node)
{
  g_autoptr (CuratorClient) client = client_connect_for (world->hosts[AT_SERVER], LONG_SESSION_MS);
  g_autoptr (CuratorLock) holder = curator_fixed_node_lock_new (client, "/ephemeral", NULL);
  g_autoptr (GError) error = NULL;

  assert_ok (curator_lock_acquire (holder, LONG_MS, NULL, &error), &error);
  static const char *const words[][2] = { { "-n", "/ephemeral/lock" },
                                          { "-s", "/ephemeral/a/b" },
                                          { "--leases=2", "/ephemeral/semaphore" } };
  for (gsize i = 0; i < G_N_ELEMENTS (words); i++)
    cli_fails (world->fixture, 64, "is ephemeral, so it can have no children", words[i][0],
               words[i][1], "true");
  assert_ok (curator_lock_release (holder, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
}

/* The connection is there, and the server closes it at each node that is to be created. */
TEST (a_payload_that_the_server_does_not_take)
{
  static const char *const options[] = { "-Djute.maxbuffer=1024", NULL };
  static const char *const cause = "at a payload of 2000 bytes: is its jute.maxbuffer less?";
  static const char *const words[] = { "-n", "--wait=600", "-s", "--revocable" };
  g_autoptr (ZkServer) server = zk_server_start (ZK_SERVER_DEFAULT_TICK_MS, options);
  g_autofree char *data = g_strnfill (2000, 'x');
  g_autoptr (GError) error = NULL;
  assert_non_null (server);
  const char *hosts = zk_server_address (server);

  for (gsize i = 0; i < G_N_ELEMENTS (words); i++) {
    const gboolean is_empty = g_str_equal (words[i], "--revocable");
    g_autoptr (Cli) cli = cli_zkflock (hosts, words[i], "--label", data, "/payload", "true");
    cli_ends (cli, is_empty ? 0 : 69, is_empty ? NULL : cause);
    if (!is_empty)
      cli_says (cli, hosts);
  }
  g_autoptr (CuratorClient) client = client_new (hosts);
  curator_client_set_default_data (client, data, 2000);
  curator_client_set_session_timeout (client, LONG_SESSION_MS);
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/payload");
  assert_false (curator_lock_acquire (lock, CURATOR_WAIT_FOREVER, NULL, &error));
  assert_non_null (strstr (error->message, cause));
  assert_curator_error (&error, CURATOR_ERROR_LIMIT_EXCEEDED);
  curator_client_close (client);
}

#if HAS_TLS
/* The client waits for its own handshake still; who asks once more sees why there will be none. */
TEST (the_code_is_of_the_cause_that_is_told)
{
  g_autofree char *ca = g_strconcat ("--tls-ca=", world->directory, "/ca.pem", NULL);
  static const char *const words[][2] = { { "-n", "/p" }, { "who", "/p" } };

  for (gsize i = 0; i < G_N_ELEMENTS (words); i++) {
    g_autoptr (Greeter) greeter = greeter_new (1);
    g_autoptr (Cli) cli =
        cli_zkflock (greeter->address, ca, "--session-timeout=120", "--connect-timeout=6",
                     words[i][0], words[i][1], i == 0 ? "true" : NULL);
    cli_ends (cli, 76, ": TLS: ");
    cli_says (cli, greeter->address);
  }
}
#endif

SUITE ("causes", start, stop)
