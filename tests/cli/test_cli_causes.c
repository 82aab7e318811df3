/* All reasons why there is no connection, side by side: each is told apart from the others, by
 * verbs that look and by a lock, and no command runs. */
#define SUITE_FIXTURE World *world
#include "cli.h"

#include "support/hosts.h"
#include "support/net.h"
#include "support/process.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_WORDS 4
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

typedef struct
{
  Fixture *fixture;
  ZkServer *wants_sasl;
  ZkServer *full;
  Hosts *off;
  RawZk *guest; /* its only one */
  ZkEnsemble *ensemble;
  char *directory;
  char *hosts[N_PLACES];
  int silent_fd;
  int greeter_fds[2]; /* the second says nothing */
  GThread *greeter;
  gint stopped; /* atomic */
  pid_t pids[2];
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
  { AT_NO_CHROOT, { NULL }, 69, "the chroot /nowhere of the connect string does not exist" },
  { AT_SERVER, { "--auth-file=%nobody" }, 77, "the server refused the authentication" },
  { AT_WANTS_SASL, { NULL }, 77, "the server requires clients to authenticate" },
#if HAS_TLS
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

static gpointer
greet (gpointer data)
{
  World *world = data;

  while (!g_atomic_int_get (&world->stopped))
    {
      const int greeted = accept (world->greeter_fds[0], NULL, NULL);
      const int closed = accept (world->greeter_fds[1], NULL, NULL);
      if (greeted >= 0)
        {
          (void) !write (greeted, "SSH-2.0-test\r\n", 14);
          shutdown (greeted, SHUT_WR);
          wait_ms (50);
          close (greeted);
        }
      if (closed >= 0)
        close (closed);
      wait_ms (5);
    }
  return NULL;
}

static char *
unused_address (void)
{
  g_autofree char *host = zk_server_new_host ();
  return g_strdup_printf ("%s:%d", host, zk_server_free_port (host));
}

static gboolean
is_listening (gpointer address)
{
  const int fd = net_connect (address, CLI_MS);
  if (fd >= 0)
    close (fd);
  return fd >= 0;
}

static pid_t
serve_tls (World *world, Place place, const char *certificate)
{
  g_autofree char *openssl = g_find_program_in_path ("openssl");
  g_autofree char *pem = g_build_filename (world->directory, certificate, NULL);
  g_autofree char *ca = g_build_filename (world->directory, "ca.pem", NULL);
  g_autofree char *log = g_build_filename (world->directory, "s_server.log", NULL);
  char *address = g_strdup_printf ("127.0.0.1:%d", zk_server_free_port ("127.0.0.1"));
  const char *const argv[] = {
    openssl, "s_server", "-quiet",  "-accept", address,   "-cert", pem,
    "-key",  pem,        "-CAfile", ca,        "-Verify", "1",     NULL
  };

  world->hosts[place] = address;
  const pid_t pid = process_spawn ((char *const *) argv, log);
  return wait_until (is_listening, address, CLI_MS) ? pid : 0;
}

static gboolean
make_files (World *world)
{
  const char *const argv[] = { CURATOR_SOURCE_DIR "/tests/support/make_certificates",
                               world->directory, "127.0.0.1", NULL };
  g_autofree char *nobody = g_build_filename (world->directory, "nobody", NULL);
  int status = -1;

  return g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, NULL, &status,
                       NULL)
         && status == 0 && g_file_set_contents (nobody, "nosuchscheme:nobody\n", -1, NULL)
         && g_chmod (nobody, 0600) == 0;
}

static gboolean
has_no_quorum (gpointer address)
{
  g_autofree char *answer = four_letter (address, "srvr", 2000);
  return answer != NULL && strstr (answer, "not currently serving") != NULL;
}

static gboolean
leave_one_member (World *world)
{
  world->ensemble = zk_ensemble_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
  if (world->ensemble == NULL)
    return FALSE;
  zk_server_kill (zk_ensemble_server (world->ensemble, 0));
  zk_server_kill (zk_ensemble_server (world->ensemble, 1));
  world->hosts[AT_NO_QUORUM] =
      g_strdup (zk_server_address (zk_ensemble_server (world->ensemble, 2)));
  return wait_until (has_no_quorum, world->hosts[AT_NO_QUORUM], CLI_MS);
}

static gboolean
start_server_that_wants_sasl (World *world)
{
  const char *const options[] = {
    "-Dzookeeper.enforce.auth.enabled=true", "-Dzookeeper.enforce.auth.schemes=sasl",
    "-Dzookeeper.authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider", NULL
  };

  world->wants_sasl = zk_server_start (ZK_SERVER_DEFAULT_TICK_MS, options);
  if (world->wants_sasl == NULL)
    return FALSE;
  world->hosts[AT_WANTS_SASL] = g_strdup (zk_server_address (world->wants_sasl));
  return TRUE;
}

static gboolean
start_full_server (World *world)
{
  const ZkServerSetup setup = { .tick_ms = ZK_SERVER_DEFAULT_TICK_MS,
                                .config = "maxClientCnxns=1\n" };

  world->full = zk_server_start_as (&setup);
  world->guest = world->full != NULL ? raw_zk_open (zk_server_address (world->full)) : NULL;
  if (world->guest == NULL)
    return FALSE;
  world->hosts[AT_FULL] = g_strdup (zk_server_address (world->full));
  return TRUE;
}

static int
start (void **state)
{
  World *world = g_new0 (World, 1);

  *state = world;
  world->directory = g_dir_make_tmp ("curator-causes-XXXXXX", NULL);
  if (!make_files (world) || fixture_start ((void **) &world->fixture) != 0
      || !leave_one_member (world) || !start_server_that_wants_sasl (world)
      || !start_full_server (world))
    return -1;
  world->hosts[AT_CLOSED] = unused_address ();
  world->hosts[AT_UNKNOWN] = g_strdup ("no-such-host.invalid:2181");
  world->hosts[AT_SERVER] = g_strdup (fixture_server (world->fixture));
  world->hosts[AT_NO_CHROOT] = g_strconcat (world->hosts[AT_SERVER], "/nowhere", NULL);
  world->silent_fd = cli_listen (&world->hosts[AT_SILENT]);
  world->off = hosts_new (world->hosts[AT_SERVER], 1, FALSE);
  hosts_set (world->off, 0, HOST_DROPS);
  world->hosts[AT_OFF] = g_strdup (hosts_address (world->off, 0));
  world->greeter_fds[0] = cli_listen (&world->hosts[AT_GREETER]);
  world->greeter_fds[1] = cli_listen (&world->hosts[AT_CLOSER]);
  world->pids[0] = serve_tls (world, AT_TLS, "server.pem");
  world->pids[1] = serve_tls (world, AT_EXPIRED, "expired.pem");
  world->greeter = g_thread_new ("greet", greet, world);
  return world->pids[0] != 0 && world->pids[1] != 0 ? 0 : -1;
}

static int
stop (void **state)
{
  World *world = *state;
  GDir *dir = g_dir_open (world->directory, 0, NULL);
  const char *name;

  g_atomic_int_set (&world->stopped, TRUE);
  g_thread_join (world->greeter);
  process_kill (world->pids[0]);
  process_kill (world->pids[1]);
  close (world->silent_fd);
  hosts_free (world->off);
  close (world->greeter_fds[0]);
  close (world->greeter_fds[1]);
  zk_ensemble_stop (world->ensemble);
  zk_server_stop (world->wants_sasl);
  raw_zk_close (world->guest);
  zk_server_stop (world->full);
  fixture_stop ((void **) &world->fixture);
  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *file = g_build_filename (world->directory, name, NULL);
      g_unlink (file);
    }
  g_dir_close (dir);
  g_rmdir (world->directory);
  g_free (world->directory);
  for (int i = 0; i < N_PLACES; i++)
    g_free (world->hosts[i]);
  g_free (world);
  return 0;
}

static Cli *
start_row (World *world, gsize row, const char *timeout, const char *const *verb, const char *mark)
{
  const char *const usual[] = { ZKFLOCK, "-Z", world->hosts[rows[row].place], timeout };
  const char *const command[] = { CLI_COMMAND, "turn", mark, "0", NULL };
  const gboolean has_command = verb[0][0] != 'w' && verb[0][0] != 'd';
  g_autoptr (GPtrArray) argv = g_ptr_array_new_with_free_func (g_free);

  if (rows[row].descriptors != NULL)
    {
      g_ptr_array_add (argv, g_find_program_in_path ("prlimit"));
      g_ptr_array_add (argv, g_strconcat ("--nofile=", rows[row].descriptors, NULL));
    }
  for (gsize i = 0; i < G_N_ELEMENTS (usual); i++)
    g_ptr_array_add (argv, g_strdup (usual[i]));
  for (int i = 0; i < MAX_WORDS && rows[row].words[i] != NULL; i++)
    {
      g_auto (GStrv) parts = g_strsplit (rows[row].words[i], "%", 2);
      g_ptr_array_add (argv, parts[1] != NULL
                                 ? g_strconcat (parts[0], world->directory, "/", parts[1], NULL)
                                 : g_strdup (parts[0]));
    }
  for (int i = 0; verb[i] != NULL; i++)
    g_ptr_array_add (argv, g_strdup (verb[i]));
  for (int i = 0; has_command && command[i] != NULL; i++)
    g_ptr_array_add (argv, g_strdup (command[i]));
  g_ptr_array_add (argv, NULL);
  return cli_start_strv ((char *const *) argv->pdata);
}

/* FALSE after printing what is wrong. */
static gboolean
check_row (gsize row, Cli *cli, const char *verb)
{
  const int code = cli_wait (cli, CLI_MS);
  g_autofree char *err = cli_stderr (cli);
  gboolean good = code == rows[row].code && strchr (err, '\n') == err + strlen (err) - 1;

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    good =
        good
        && (strstr (err, rows[i].cause) != NULL) == (strcmp (rows[i].cause, rows[row].cause) == 0);
  if (!good)
    {
      print_error ("%s, \"%s\": exit code %d, not %d: %s\n", verb, rows[row].cause, code,
                   rows[row].code, err);
    }
  return good;
}

TEST (every_cause_is_told_apart)
{
  Cli *clis[G_N_ELEMENTS (rows)][G_N_ELEMENTS (verbs)];
  g_autofree char *mark = cli_new_file ();
  gboolean good = TRUE;

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    for (gsize k = 0; k < G_N_ELEMENTS (verbs); k++)
      clis[i][k] = start_row (world, i, "--connect-timeout=8", verbs[k], mark);
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      for (gsize k = 0; k < G_N_ELEMENTS (verbs); k++)
        {
          good = check_row (i, clis[i][k], verbs[k][0]) && good;
          cli_free (clis[i][k]);
        }
    }
  assert_true (good);
  assert_false (g_file_test (mark, G_FILE_TEST_EXISTS));
}

/* The time limit of a wait would be reached long after this test has failed. */
TEST (a_try_ends_at_once)
{
  static const Place places[] = { AT_CLOSED, AT_UNKNOWN, AT_GREETER, AT_NO_QUORUM };
  g_autofree char *mark = cli_new_file ();

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      gboolean is_refusal = rows[i].code == 76;
      for (gsize k = 0; k < G_N_ELEMENTS (places); k++)
        is_refusal = is_refusal || rows[i].place == places[k];
      if (is_refusal)
        {
          g_autoptr (Cli) cli = start_row (world, i, "--connect-timeout=600", verbs[0], mark);
          assert_true (check_row (i, cli, "-n"));
        }
    }
  assert_false (g_file_test (mark, G_FILE_TEST_EXISTS));
}

/* A server that closes with a request unread resets the connection. */
static gboolean
has_cause (const GError *error, const char *cause)
{
  return strstr (error->message, cause) != NULL
         || (strcmp (cause, CLOSED) == 0
             && strstr (error->message, "Connection reset by peer") != NULL);
}

typedef struct
{
  CuratorClient *client;
  int code;
  const char *cause;
  const char *hosts;
} Told;

static gboolean
is_so_told (gpointer data)
{
  const Told *told = data;
  g_autoptr (GError) error = curator_client_dup_connection_error (told->client);
  return g_error_matches (error, CURATOR_CONNECT_ERROR, told->code)
         && has_cause (error, told->cause);
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
  for (gsize i = 0; i < G_N_ELEMENTS (causes); i++)
    {
      const char *hosts = world->hosts[causes[i].place];
      g_autoptr (CuratorClient) client = client_new (hosts);
      g_autoptr (GError) error = NULL;
      assert_ok (curator_client_start (client, &error), &error);
      if (causes[i].code < 0)
        {
          g_autoptr (CuratorLock) lock = mutex_new (client, "/p");
          assert_false (curator_lock_acquire (lock, LONG_MS, NULL, &error));
          assert_true (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_AUTH_FAILED));
        }
      else
        {
          Told told = { client, causes[i].code, causes[i].cause, hosts };
          if (!wait_until (is_so_told, &told, CLI_MS))
            {
              error = curator_client_dup_connection_error (client);
              fail_msg ("%s: %s", causes[i].cause, error != NULL ? error->message : "connected");
            }
          error = curator_client_dup_connection_error (client);
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

  for (gsize i = 0; i < G_N_ELEMENTS (mistakes); i++)
    {
      g_autoptr (CuratorClient) client = curator_client_new (mistakes[i].hosts, NULL);
      g_autoptr (GError) error = NULL;
      g_autoptr (Cli) cli = cli_zkflock (mistakes[i].hosts, "-n", "/p", "true", NULL);
      assert_false (curator_client_start (client, &error));
      assert_true (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT));
      const int code = cli_wait (cli, CLI_MS);
      g_autofree char *err = cli_stderr (cli);
      if (strstr (error->message, mistakes[i].cause) == NULL || code != 64
          || strstr (err, mistakes[i].cause) == NULL)
        fail_msg ("%s: %d: %s; %s", mistakes[i].hosts, code, error->message, err);
    }
}

/* The server answers; no retry and no other server would help. */
TEST (a_lock_below_an_ephemeral_node)
{
  g_autoptr (CuratorClient) client = client_connect (world->hosts[AT_SERVER]);
  g_autoptr (CuratorLock) holder = curator_fixed_node_lock_new (client, "/ephemeral", NULL);
  g_autoptr (GError) error = NULL;

  assert_ok (curator_lock_acquire (holder, LONG_MS, NULL, &error), &error);
  static const char *const words[][2] = { { "-n", "/ephemeral/lock" },
                                          { "-s", "/ephemeral/a/b" },
                                          { "--leases=2", "/ephemeral/semaphore" } };
  for (gsize i = 0; i < G_N_ELEMENTS (words); i++)
    {
      g_autoptr (Cli) cli =
          cli_zkflock (world->hosts[AT_SERVER], words[i][0], words[i][1], "true", NULL);
      const int code = cli_wait (cli, CLI_MS);
      g_autofree char *err = cli_stderr (cli);
      if (code != 64 || strstr (err, "is ephemeral, so it can have no children") == NULL)
        fail_msg ("%s: %d: %s", words[i][1], code, err);
    }
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

  for (gsize i = 0; i < G_N_ELEMENTS (words); i++)
    {
      g_autoptr (Cli) cli =
          cli_zkflock (hosts, words[i], "--label", data, "/payload", "true", NULL);
      const gboolean is_empty = g_str_equal (words[i], "--revocable");
      const int code = cli_wait (cli, CLI_MS);
      g_autofree char *err = cli_stderr (cli);
      if (code != (is_empty ? 0 : 69)
          || (!is_empty && (strstr (err, cause) == NULL || strstr (err, hosts) == NULL)))
        fail_msg ("%s: %d: %s", words[i], code, err);
    }
  g_autoptr (CuratorClient) client = client_new (hosts);
  curator_client_set_default_data (client, data, 2000);
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/payload");
  assert_false (curator_lock_acquire (lock, CURATOR_WAIT_FOREVER, NULL, &error));
  assert_non_null (strstr (error->message, cause));
  assert_curator_error (&error, CURATOR_ERROR_LIMIT_EXCEEDED);
  curator_client_close (client);
}

#if HAS_TLS
typedef struct
{
  int fd;
  gint stopped; /* atomic */
} LateGreeter;

/* The first connection gets no answer, each further one what is no TLS. */
static gpointer
greet_late (gpointer data)
{
  LateGreeter *greeter = data;
  int first = -1;

  while (!g_atomic_int_get (&greeter->stopped))
    {
      const int fd = accept (greeter->fd, NULL, NULL);
      if (fd >= 0 && first < 0)
        {
          first = fd;
        }
      else if (fd >= 0)
        {
          (void) !write (fd, "SSH-2.0-test\r\n", 14);
          close (fd);
        }
      wait_ms (5);
    }
  close (first);
  return NULL;
}

/* The client waits for its own handshake still; who asks once more sees why there will be none. */
TEST (the_code_is_of_the_cause_that_is_told)
{
  g_autofree char *ca = g_strconcat ("--tls-ca=", world->directory, "/ca.pem", NULL);
  static const char *const words[][2] = { { "-n", "/p" }, { "who", "/p" } };

  for (gsize i = 0; i < G_N_ELEMENTS (words); i++)
    {
      g_autofree char *address = NULL;
      LateGreeter greeter = { .fd = cli_listen (&address) };
      GThread *thread = g_thread_new ("greet late", greet_late, &greeter);
      g_autoptr (Cli) cli =
          cli_zkflock (address, ca, "--session-timeout=120", "--connect-timeout=2", words[i][0],
                       words[i][1], i == 0 ? "true" : NULL, NULL);
      const int code = cli_wait (cli, CLI_MS);
      g_autofree char *err = cli_stderr (cli);
      g_atomic_int_set (&greeter.stopped, TRUE);
      g_thread_join (thread);
      close (greeter.fd);
      if (code != 76 || strstr (err, ": TLS: ") == NULL || strstr (err, address) == NULL)
        fail_msg ("%s: %d: %s", words[i][0], code, err);
    }
}
#endif

SUITE ("causes", start, stop)
