/* Servers that cannot be used: how soon zkflock gives up, and the cause that it names. */
#include "cli.h"
#include "support/hosts.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define AT_ONCE_MS 300

static char *
unused_address (void)
{
  g_autofree char *host = zk_server_new_host ();
  return g_strdup_printf ("%s:%d", host, zk_server_free_port (host));
}

static void
assert_cause (Cli *cli, const char *address, const char *cause)
{
  g_autofree char *err = cli_stderr (cli);
  g_autofree char *text = g_strdup_printf ("%s: %s", address, cause);

  if (strstr (err, text) == NULL)
    print_error ("no \"%s\" in: %s\n", text, err);
  assert_non_null (strstr (err, text));
  assert_ptr_equal (strchr (err, '\n'), err + strlen (err) - 1);
}

/* A try against hosts that all refuse: the exit code at once, and the command does not run. The
 * least time of a few tries counts, because the machine may be busy. */
static void
check_at_once (const char *hosts, const char *address, const char *cause)
{
  gint64 least = G_MAXINT64;

  for (int i = 0; i < 5 && least >= AT_ONCE_MS; i++)
    {
      g_autofree char *mark = cli_new_file ();
      const gint64 before = wait_now_ms ();
      g_autoptr (Cli) cli =
          cli_zkflock (hosts, "-n", "-E", "0", "/p", CLI_COMMAND, "turn", mark, "0", NULL);
      assert_int_equal (cli_wait (cli, CLI_MS), 69);
      least = MIN (least, wait_now_ms () - before);
      assert_cause (cli, address, cause);
      assert_false (g_file_test (mark, G_FILE_TEST_EXISTS));
    }
  assert_in_range (least, 0, AT_ONCE_MS - 1);
}

TEST (a_try_ends_at_once_when_all_refuse)
{
  g_autofree char *one = unused_address ();
  g_autofree char *two = unused_address ();
  g_autofree char *both = g_strdup_printf ("%s,%s", one, two);

  check_at_once (one, one, "connection refused");
  check_at_once (both, one, "connection refused");
  check_at_once (both, two, "connection refused");
}

TEST (a_try_ends_at_once_without_a_host)
{
  check_at_once ("no-such-host.invalid:2181", "no-such-host.invalid:2181", "unknown host");
}

/* One of them serves: the try waits for it. */
TEST (a_try_uses_the_server_that_serves)
{
  g_autofree char *one = unused_address ();
  g_autofree char *both = g_strdup_printf ("%s,%s", one, fixture_server (fixture));
  g_autoptr (Cli) cli = cli_zkflock (both, "-n", "/some", CLI_COMMAND, "exit", "4", NULL);

  assert_int_equal (cli_wait (cli, CLI_MS), 4);
}

TEST (connect_timeout_bounds_the_wait)
{
  g_autofree char *address = unused_address ();
  const gint64 before = wait_now_ms ();
  g_autoptr (Cli) cli =
      cli_zkflock (address, "--connect-timeout", "1.5", "/p", CLI_COMMAND, "exit", "0", NULL);

  assert_int_equal (cli_wait (cli, CLI_MS), 69);
  assert_true (wait_now_ms () - before >= 1500);
  assert_cause (cli, address, "connection refused");
}

#if HAS_TLS
/* The same causes with TLS; only a server that is silent gets the whole connect timeout of a
 * try. */
static void
check_tls (const char *address, const char *cause, gboolean is_listening)
{
  g_autofree char *hosts = g_strdup_printf ("tls://%s", address);
  const gint64 before = wait_now_ms ();
  g_autoptr (Cli) try =
      cli_zkflock (hosts, "-n", "--connect-timeout", "2", "/p", CLI_COMMAND, "exit", "0", NULL);
  assert_int_equal (cli_wait (try, CLI_MS), 69);
  assert_true (!is_listening || wait_now_ms () - before >= 2000);
  assert_cause (try, address, cause);
  g_autoptr (Cli) who = cli_zkflock (hosts, "--connect-timeout", "2", "who", "/p", NULL);
  assert_int_equal (cli_wait (who, CLI_MS), 69);
  assert_cause (who, address, cause);
}

TEST (causes_with_tls)
{
  g_autofree char *refusing = unused_address ();
  g_autofree char *silent = NULL;
  const int fd = cli_listen (&silent);

  check_tls (refusing, "connection refused", FALSE);
  check_tls (silent, "accepts connections and does not answer", TRUE);
  check_tls ("no-such-host.invalid:2281", "unknown host", FALSE);
  close (fd);
}
#else
TEST (a_build_without_tls_refuses_it)
{
  g_autofree char *address = unused_address ();
  g_autofree char *scheme = g_strdup_printf ("--hosts=tls://%s", address);
  const char *const words[] = { scheme, "--tls-ca=/etc/ssl/certs/ca-certificates.crt",
                                "--tls-cert=/some.pem", "--tls-server-name=one" };

  for (gsize i = 0; i < G_N_ELEMENTS (words); i++)
    {
      g_autoptr (Cli) cli = cli_zkflock (address, words[i], "/p", CLI_COMMAND, "exit", "0", NULL);
      assert_int_equal (cli_wait (cli, CLI_MS), 64);
      g_autofree char *err = cli_stderr (cli);
      assert_string_equal (err, "zkflock: /p: curator was built without TLS\n");
    }
}
#endif

TEST (views_name_the_cause)
{
  g_autofree char *address = unused_address ();
  const gint64 before = wait_now_ms ();
  g_autoptr (Cli) cli = cli_zkflock (address, "who", "--connect-timeout", "1", "/p", NULL);

  assert_int_equal (cli_wait (cli, CLI_MS), 69);
  assert_true (wait_now_ms () - before >= 1000);
  assert_cause (cli, address, "connection refused");
}

TEST (a_silent_server_is_named)
{
  g_autofree char *address = NULL;
  const int fd = cli_listen (&address);
  g_autoptr (Cli) cli =
      cli_zkflock (address, "-n", "--connect-timeout", "4", "/p", CLI_COMMAND, "exit", "0", NULL);

  assert_int_equal (cli_wait (cli, CLI_MS), 69);
  assert_cause (cli, address, "accepts connections and does not answer");
  close (fd);
}

/* As a balancer without a back end. */
TEST (a_try_ends_at_once_when_all_close)
{
  g_autoptr (Hosts) hosts = hosts_new (fixture_server (fixture), 3, FALSE);
  g_autofree char *two =
      g_strdup_printf ("%s,%s", hosts_address (hosts, 1), hosts_address (hosts, 2));

  for (guint i = 0; i < 3; i++)
    hosts_set (hosts, i, i < 2 ? HOST_CLOSES : HOST_REFUSES);
  g_autoptr (Cli) one = cli_zkflock (hosts_address (hosts, 0), "-n", "--connect-timeout", "600",
                                     "/p", CLI_COMMAND, "exit", "0", NULL);
  g_autoptr (Cli) both =
      cli_zkflock (two, "-n", "--connect-timeout", "600", "/p", CLI_COMMAND, "exit", "0", NULL);
  /* Only a try is over at once: others wait for the back end. */
  g_autoptr (Cli) waits = cli_zkflock (hosts_address (hosts, 0), "--connect-timeout", "600", "/p",
                                       CLI_COMMAND, "exit", "0", NULL);

  assert_int_equal (cli_wait (one, CLI_MS), 69);
  assert_cause (one, hosts_address (hosts, 0), "closes the connection without an answer");
  assert_int_equal (cli_wait (both, CLI_MS), 69);
  assert_int_equal (cli_wait (waits, 0), -1);
}

/* A server that answers words with a byte again and again, and no end, and closes other
 * connections. */
typedef struct
{
  char *address;
  int listener;
  GThread *thread;
  gint stopped; /* atomic */
} Dripper;

static gpointer
drip (gpointer data)
{
  Dripper *dripper = data;
  g_autoptr (GArray) fds = g_array_new (FALSE, FALSE, sizeof (int));

  while (!g_atomic_int_get (&dripper->stopped))
    {
      struct pollfd wanted = { .fd = dripper->listener, .events = POLLIN };
      const int fd = poll (&wanted, 1, 50) > 0 ? accept (dripper->listener, NULL, NULL) : -1;
      char first = 0;
      if (fd >= 0 && recv (fd, &first, 1, 0) == 1 && g_ascii_isalpha (first))
        g_array_append_val (fds, fd);
      else if (fd >= 0)
        close (fd);
      for (guint i = 0; i < fds->len; i++)
        (void) !send (g_array_index (fds, int, i), "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
  for (guint i = 0; i < fds->len; i++)
    close (g_array_index (fds, int, i));
  return NULL;
}

TEST (a_server_without_an_end_is_left)
{
  Dripper dripper = { 0 };
  dripper.listener = cli_listen (&dripper.address);
  dripper.thread = g_thread_new ("drip", drip, &dripper);
  g_autofree char *both = g_strdup_printf ("%s,%s", fixture_server (fixture), dripper.address);
  g_autoptr (Cli) cli = cli_zkflock (dripper.address, "-n", "--connect-timeout", "4", "/p",
                                     CLI_COMMAND, "exit", "0", NULL);
  g_autoptr (Cli) doctor = cli_zkflock (both, "doctor", "/p", NULL);

  assert_int_equal (cli_wait (cli, CLI_MS), 69);
  assert_cause (cli, dripper.address, "not a ZooKeeper server");
  assert_in_range (cli_wait (doctor, CLI_MS), 0, 1);
  g_atomic_int_set (&dripper.stopped, TRUE);
  g_thread_join (dripper.thread);
  close (dripper.listener);
  g_free (dripper.address);
}

TEST (a_missing_chroot_is_named)
{
  g_autofree char *mark = cli_new_file ();
  g_autofree char *hosts = g_strconcat (fixture_server (fixture), "/nowhere/at/all", NULL);
  g_autoptr (Cli) cli =
      cli_zkflock (hosts, "-n", "-E", "0", "/p", CLI_COMMAND, "turn", mark, "0", NULL);

  assert_int_equal (cli_wait (cli, CLI_MS), 69);
  g_autofree char *err = cli_stderr (cli);
  assert_string_equal (err,
                       "zkflock: /p: the chroot /nowhere/at/all of the connect string does not "
                       "exist: create it first\n");
  assert_false (g_file_test (mark, G_FILE_TEST_EXISTS));
  /* Not a free lock. */
  g_autoptr (Cli) who = cli_zkflock (hosts, "who", "/p", NULL);
  assert_int_equal (cli_wait (who, CLI_MS), 69);
  g_autofree char *who_err = cli_stderr (who);
  assert_string_equal (who_err, err);
}

/* Connected, but the server does not answer in time: nobody knows whether the lock is held. */
TEST (an_unanswered_wait_is_no_conflict)
{
  g_autofree char *mark = cli_new_file ();

  proxy_arm (fixture->proxy, PROXY_CREATE2, 1, 1, PROXY_HOLE_BEFORE_REPLY);
  g_autoptr (Cli) cli = cli_zkflock (fixture_proxy (fixture), "-w", "3", "-E", "9", "/unanswered",
                                     CLI_COMMAND, "turn", mark, "0", NULL);
  const int code = cli_wait (cli, CLI_MS);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  g_autofree char *err = cli_stderr (cli);
  assert_int_equal (code, 69);
  assert_non_null (strstr (err, "acquiring /unanswered: "));
  assert_false (g_file_test (mark, G_FILE_TEST_EXISTS));
}

TEST (usage_errors)
{
  g_free (cli_run (fixture, 64, "--connect-timeout", "0", "/p", "true", NULL));
  g_free (cli_run (fixture, 64, "--connect-timeout", "soon", "/p", "true", NULL));
}

SUITE ("connect", fixture_start, fixture_stop)
