/* Servers that cannot be used: how soon zkflock gives up, and the cause that it names. */
#include "cli.h"
#include "support/hosts.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void
assert_cause (Cli *cli, const char *address, const char *cause)
{
  g_autofree char *text = g_strdup_printf ("%s: %s", address, cause);
  cli_ends_with_line (cli, 69, text);
}

/* A try against hosts that all refuse: the exit code long before the time to connect is over, and
 * the command does not run. */
static void
check_at_once (const char *hosts, const char *address, const char *cause)
{
  g_autoptr (Cli) cli =
      cli_zkflock (hosts, "-n", "--connect-timeout", "600", "-E", "0", "/p", COMMAND ("turn"), "0");

  assert_cause (cli, address, cause);
  assert_false (g_file_test (cli->log, G_FILE_TEST_EXISTS));
}

TEST (a_try_ends_at_once_when_all_refuse)
{
  g_autofree char *one = cli_unused_address ();
  g_autofree char *two = cli_unused_address ();
  g_autofree char *both = g_strdup_printf ("%s,%s", one, two);
  g_autofree char *with_one = g_strdup_printf ("%s,%s", one, fixture_server (fixture));

  check_at_once (one, one, "connection refused");
  check_at_once (both, one, "connection refused");
  check_at_once (both, two, "connection refused");
  check_at_once ("no-such-host.invalid:2181", "no-such-host.invalid:2181", "unknown host");
  /* One of them serves: the try waits for it. */
  g_autoptr (Cli) cli = cli_zkflock (with_one, "-n", "/some", CLI_COMMAND, "exit", "4");
  cli_ends (cli, 4, NULL);
}

/* Who looks and who locks wait for so long, and a try does where a server says nothing. */
TEST (connect_timeout_bounds_the_wait)
{
  g_autofree char *refusing = cli_unused_address ();
  g_autofree char *silent = NULL;
  const int fd = cli_listen (&silent);
  const struct
  {
    const char *word;
    const char *scheme;
    const char *address;
    const char *cause;
  } rows[] = {
    { NULL, "", refusing, "connection refused" },
    { "who", "", refusing, "connection refused" },
    { "-n", "", silent, "accepts connections and does not answer" },
#if HAS_TLS
    { "who", "tls://", refusing, "connection refused" },
    { "-n", "tls://", silent, "accepts connections and does not answer" },
#endif
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autofree char *hosts = g_strconcat (rows[i].scheme, rows[i].address, NULL);
    const gint64 before = wait_now_ms ();
    g_autoptr (Cli) cli = cli_zkflock (hosts, rows[i].word, "--connect-timeout", "1.5", "/p",
                                       g_strcmp0 (rows[i].word, "who") == 0 ? NULL : "true");
    assert_cause (cli, rows[i].address, rows[i].cause);
    assert_true (wait_now_ms () - before >= 1500);
  }
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
  g_autoptr (Cli) one =
      cli_zkflock (hosts_address (hosts, 0), "-n", "--connect-timeout", "600", "/p", "true");
  g_autoptr (Cli) both = cli_zkflock (two, "-n", "--connect-timeout", "600", "/p", "true");
  /* Only a try is over at once: others wait for the back end. */
  g_autoptr (Cli) waits =
      cli_zkflock (hosts_address (hosts, 0), "--connect-timeout", "600", "/p", "true");

  assert_cause (one, hosts_address (hosts, 0), "closes the connection without an answer");
  cli_ends (both, 69, NULL);
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

  while (!g_atomic_int_get (&dripper->stopped)) {
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
  g_autoptr (Cli) cli =
      cli_zkflock (dripper.address, "-n", "--connect-timeout", "16", "/p", "true");
  g_autoptr (Cli) doctor = cli_zkflock (both, "doctor", "/p");

  assert_cause (cli, dripper.address, "not a ZooKeeper server");
  assert_in_range (cli_wait (doctor, CLI_MS), 0, 1);
  g_atomic_int_set (&dripper.stopped, TRUE);
  g_thread_join (dripper.thread);
  close (dripper.listener);
  g_free (dripper.address);
}

/* Connected, but the server does not answer in time: nobody knows whether the lock is held. */
TEST (an_unanswered_wait_is_no_conflict)
{
  proxy_arm (fixture->proxy, PROXY_CREATE2, 1, 1, PROXY_HOLE_BEFORE_REPLY);
  g_autoptr (Cli) cli = cli_zkflock (fixture_proxy (fixture), "--session-timeout", "40", "-w", "10",
                                     "-E", "9", "/unanswered", COMMAND ("turn"), "0");
  cli_ends (cli, 69, "acquiring /unanswered: ");
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_false (g_file_test (cli->log, G_FILE_TEST_EXISTS));
}

SUITE ("connect", fixture_start_slow, fixture_stop)
