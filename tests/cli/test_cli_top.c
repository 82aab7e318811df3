/* zkflock top in terminals of several sizes, driven by keys, with many locks and without a
 * server. */
#include "cli.h"

#include "cli/terminal.h"

#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#define MANY_LOCKS     2001
#define MANY_WAITERS   500
#define MANY_SETTLED_S 60
#define MANY_QUIET_S   3
#define UUID           "_c_00000000-0000-4000-8000-000000000000-lock-"

static void
assert_shows (Terminal *terminal, const char *text)
{
  if (!terminal_wait_text (terminal, text, CLI_MS))
    {
      g_autofree char *picture = terminal_get_picture (terminal);
      fail_msg ("the terminal does not show \"%s\":\n%s", text, picture);
    }
}

static void
assert_does_not_show (Terminal *terminal, const char *text)
{
  if (!terminal_wait_no_text (terminal, text, CLI_MS))
    {
      g_autofree char *picture = terminal_get_picture (terminal);
      fail_msg ("the terminal still shows \"%s\":\n%s", text, picture);
    }
}

/* No line has been longer than the terminal, and no row has left it. */
static void
assert_fits (Terminal *terminal)
{
  assert_int_equal (terminal_get_n_scrolled (terminal), 0);
}

static Terminal *
top_start (Fixture *fixture, const char *path, const char *interval, int columns, int rows)
{
  const char *const argv[] = { ZKFLOCK, "-Z",         fixture_server (fixture),
                               "top",   "--interval", interval,
                               path,    NULL };
  return terminal_start_sized ((char *const *) argv, columns, rows);
}

static void
plant (Fixture *fixture, const char *path, const char *label)
{
  g_autofree char *node = g_strconcat (path, "/" UUID, NULL);
  raw_zk_make_path (fixture->raw, path);
  assert_int_equal (raw_zk_create (fixture->raw, node, label, ZOO_PERSISTENT_SEQUENTIAL, NULL), 0);
}

/* "/sizes/lock-00" to "/sizes/lock-59", and one with three participants. */
static void
plant_sixty (Fixture *fixture)
{
  for (int i = 0; i < 60; i++)
    {
      g_autofree char *path = g_strdup_printf ("/sizes/lock-%02d", i);
      g_autofree char *label = g_strdup_printf ("job%d@host%d:%d", i, 59 - i, i);
      plant (fixture, path, label);
    }
  plant (fixture, "/sizes/queue", "first@host:1");
  plant (fixture, "/sizes/queue", "second@host:2");
  plant (fixture, "/sizes/queue",
         "a payload of more than one line: "
         "0123456789 0123456789 0123456789 0123456789 0123456789 END");
}

static void
drive (Fixture *fixture, int columns, int rows)
{
  g_autoptr (Terminal) terminal = top_start (fixture, "/sizes", "0.2", columns, rows);
  int status;

  print_message ("%d x %d\n", columns, rows);
  assert_shows (terminal, "61 locks");
  assert_shows (terminal, "lock-00");
  assert_shows (terminal, " of 61; ?");
  assert_fits (terminal);

  /* Help, and back. */
  terminal_type (terminal, "?");
  assert_shows (terminal, "zkflock top: keys");
  assert_shows (terminal, "/    ");
  assert_fits (terminal);
  terminal_type (terminal, "x");
  assert_does_not_show (terminal, "zkflock top: keys");

  /* The order. */
  terminal_type (terminal, "r");
  assert_shows (terminal, "by lock, reversed");
  assert_shows (terminal, "queue");
  assert_does_not_show (terminal, "lock-00");
  terminal_type (terminal, "rssss");
  assert_shows (terminal, "by waiting");
  assert_shows (terminal, "queue");
  terminal_type (terminal, "s");
  assert_does_not_show (terminal, "by waiting");

  /* The cursor leaves the first rows, and comes back. */
  terminal_type (terminal, "G");
  assert_shows (terminal, "queue");
  terminal_type (terminal, "gjjj");
  assert_shows (terminal, "lock-00");

  /* A filter by a path, and by the label of a holder. */
  terminal_type (terminal, "/LOCK-4\x7f"
                           "3");
  assert_shows (terminal, "filter: LOCK-3_  10 found");
  assert_does_not_show (terminal, "lock-00");
  terminal_type (terminal, "\r");
  assert_shows (terminal, "filter: LOCK-3  10 found");
  terminal_type (terminal, "/\x1b/host57:\r");
  assert_shows (terminal, "filter: host57:  1 found");
  assert_shows (terminal, "lock-02");

  /* Details of every waiter, one after the other. */
  terminal_type (terminal, "/\x1b"
                           "G\r");
  assert_shows (terminal, "/sizes/queue: mutex, 1 holds, 2 wait");
  assert_shows (terminal, "payload  first@host:1");
  assert_shows (terminal, "session  none: nobody owns it");
  terminal_type (terminal, "j");
  assert_shows (terminal, "payload  second@host:2");
  assert_shows (terminal, "0000000001");
  terminal_type (terminal, "\x1b[B");
  assert_does_not_show (terminal, "payload  second@host:2");
  assert_shows (terminal, rows > 10 ? "0123456789 END" : "payload  a payload of more than one ");
  assert_fits (terminal);
  terminal_type (terminal, "q");
  assert_shows (terminal, "61 locks");
  terminal_type (terminal, "q");
  assert_true (terminal_wait_end (terminal, CLI_MS, &status));
  assert_true (WIFEXITED (status) && WEXITSTATUS (status) == 0);
  assert_false (terminal_is_alternate (terminal));
}

TEST (keys_in_terminals_of_all_sizes)
{
  plant_sixty (fixture);
  drive (fixture, 80, 24);
  drive (fixture, 40, 10);
  drive (fixture, 200, 50);
}

TEST (the_window_is_resized)
{
  g_autoptr (Terminal) terminal = top_start (fixture, "/sizes", "30", 80, 24);

  assert_shows (terminal, "1 to 20 of 61");
  terminal_resize (terminal, 120, 40);
  assert_shows (terminal, "1 to 36 of 61");
  terminal_resize (terminal, 40, 10);
  assert_shows (terminal, "1 to 6 of 61");
  assert_fits (terminal);
}

/* Each in a terminal of its own: what is drawn while the window gets narrower does not fit it. */
TEST (narrow_terminals)
{
  static const struct
  {
    int columns;
    const char *footer;
  } rows[] = { { 24, "1 to 6 of 61; ? for help" }, { 23, "1-6/61; ?" }, { 20, "1-6/61; ?" } };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (Terminal) terminal = top_start (fixture, "/sizes", "30", rows[i].columns, 10);
      assert_shows (terminal, rows[i].footer);
      assert_fits (terminal);
    }
}

/* The address and the session are those of the process that holds. */
TEST (details_show_the_address)
{
  g_autoptr (Cli) holder = cli_hold (fixture, "/known/one", NULL);
  g_auto (GStrv) nodes = raw_zk_children (fixture->raw, "/known/one");
  g_autofree char *node = g_strconcat ("/known/one/", nodes[0], NULL);
  const gint64 session = raw_zk_owner (fixture->raw, node);
  g_autofree char *session_text = g_strdup_printf ("session  0x%" G_GINT64_MODIFIER "x", session);
  g_autofree char *node_text = g_strconcat ("node     ", nodes[0], NULL);
  g_autoptr (Terminal) terminal = top_start (fixture, "/known", "0.2", 80, 24);

  assert_shows (terminal, "/known/one");
  terminal_type (terminal, "\r");
  assert_shows (terminal, node_text);
  assert_shows (terminal, session_text);
  assert_shows (terminal, "address  127.");
  /* The lock goes while its details are shown. */
  cli_close_stdin (holder);
  assert_int_equal (cli_wait (holder, CLI_MS), 0);
  assert_shows (terminal, "/known/one: free");
}

/* Runs a verb to its end in a terminal of 80 columns. */
static Terminal *
view (Fixture *fixture, const char *verb, const char *path)
{
  const char *const argv[] = { ZKFLOCK, "-Z", fixture_server (fixture), verb, path, NULL };
  Terminal *terminal = terminal_start ((char *const *) argv);
  int status;

  assert_true (terminal_wait_end (terminal, CLI_MS, &status));
  assert_true (WIFEXITED (status) && WEXITSTATUS (status) == 0);
  return terminal;
}

static void
assert_row (Terminal *terminal, int i, const char *start, const char *end)
{
  g_autofree char *row = terminal_get_row (terminal, i);

  if (!g_str_has_prefix (row, start) || !g_str_has_suffix (row, end))
    fail_msg ("row %d: \"%s\", not \"%s ... %s\"", i, row, start, end);
}

TEST (who_and_tree_fit_80_columns)
{
  const char *long_path =
      "/wide/a/path/that/is/much/too/long/for/its/column/at/all/and/goes/on/nightly";

  plant (fixture, long_path, "billing@a-host-with-quite-a-long-name.example.org:4711");
  plant (fixture, "/wide/short", "deploy@db1:88");
  plant (fixture, "/wide/short", "deploy@db2:89");
  g_autoptr (Terminal) tree = view (fixture, "tree", "/wide");
  assert_row (tree, 0, "PATH ", " KIND        WAITING  HELD BY");
  assert_row (tree, 1, "…", "…");
  assert_row (tree, 2, "/wide/short ", " mutex             1  deploy@db1:88");
  g_autofree char *row = terminal_get_row (tree, 1);
  assert_int_equal (g_utf8_strlen (row, -1), TERMINAL_COLUMNS);
  assert_non_null (strstr (row, "/goes/on/nightly  mutex"));
  g_autoptr (Terminal) who = view (fixture, "who", "/wide/short");
  assert_row (who, 0, "/wide/short: mutex, 1 holds, 1 waits", "");
  assert_row (who, 1, "    #  KIND     AGE  LABEL ", " SESSION             NODE");
  assert_row (who, 2, "    *  mutex ", "…-0000000000");
  assert_row (who, 3, "    1  mutex ", "…-0000000001");
  assert_row (who, 4, "", "");
}

/* In a terminal, reap asks. */
TEST (reap_asks)
{
  const char *const argv[] = { ZKFLOCK, "-Z", fixture_server (fixture), "reap", "/asked", NULL };
  int status;

  plant (fixture, "/asked", "left behind");
  g_autoptr (Terminal) no = terminal_start ((char *const *) argv);
  assert_shows (no, "Delete this node? [y/N]");
  terminal_type (no, "\n");
  assert_true (terminal_wait_end (no, CLI_MS, &status));
  assert_int_equal (WEXITSTATUS (status), 1);
  assert_int_equal (raw_zk_count_children (fixture->raw, "/asked"), 1);
  g_autoptr (Terminal) yes = terminal_start ((char *const *) argv);
  assert_shows (yes, "Delete this node? [y/N]");
  terminal_type (yes, "y\n");
  assert_true (terminal_wait_end (yes, CLI_MS, &status));
  assert_int_equal (WEXITSTATUS (status), 0);
  assert_int_equal (raw_zk_count_children (fixture->raw, "/asked"), 0);
}

static gint64
cpu_ms (pid_t pid)
{
  g_autofree char *file = g_strdup_printf ("/proc/%d/stat", (int) pid);
  g_autofree char *text = NULL;
  long user = 0;
  long kernel = 0;

  assert_true (g_file_get_contents (file, &text, NULL, NULL));
  const int n = sscanf (strrchr (text, ')') + 1,
                        " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user, &kernel);
  assert_int_equal (n, 2);
  return (user + kernel) * 1000 / sysconf (_SC_CLK_TCK);
}

/* The requests that the server got in that time, of all clients. */
static gint64
requests_in (Fixture *fixture, Terminal *terminal, int ms)
{
  const gint64 packets = four_letter_monitor (fixture_server (fixture), "zk_packets_received");
  const gint64 start = wait_now_ms ();

  while (wait_now_ms () - start < ms)
    terminal_wait_text (terminal, "never there", 200);
  return four_letter_monitor (fixture_server (fixture), "zk_packets_received") - packets;
}

/* Locks that do not change are watched and not asked for; now and then a watch is confirmed. */
TEST (many_quiet_locks_cost_few_requests)
{
  for (int i = 0; i < MANY_LOCKS - 1; i++)
    {
      g_autofree char *path = g_strdup_printf ("/many/group-%02d/lock-%04d", i % 20, i);
      plant (fixture, path, "holder@host:1");
    }
  raw_zk_make_path (fixture->raw, "/many/crowd");
  assert_int_equal (raw_zk_create_many (fixture->raw, "/many/crowd", UUID, MANY_WAITERS + 1), 0);
  g_autoptr (Terminal) terminal = top_start (fixture, "/many", "1", 80, 24);
  assert_shows (terminal, "2001 locks, 2001 held, 500 waiting");
  terminal_type (terminal, "g");
  assert_shows (terminal, "1 to 20 of 2001");
  const pid_t pid = terminal_get_pid (terminal);
  /* Looks that find no change set the watches. A second without requests may lie between two
   * looks. */
  const gint64 begun = wait_now_ms ();
  while (four_letter_total_watches (fixture_server (fixture)) < MANY_LOCKS
         && wait_now_ms () - begun < CLI_MS)
    terminal_wait_text (terminal, "never there", 200);
  assert_true (four_letter_total_watches (fixture_server (fixture)) >= MANY_LOCKS);
  int quiet_s = 0;
  for (int i = 0; i < MANY_SETTLED_S && quiet_s < MANY_QUIET_S; i++)
    quiet_s = requests_in (fixture, terminal, 1000) > MANY_LOCKS / 2 ? 0 : quiet_s + 1;
  assert_int_equal (quiet_s, MANY_QUIET_S);
  const gint64 cpu = cpu_ms (pid);
  const gint64 start = wait_now_ms ();
  const gint64 sent = requests_in (fixture, terminal, 3000);
  const gint64 ms = wait_now_ms () - start;
  print_message ("%d locks: %.1f requests a second, %.1f %% of a core\n", MANY_LOCKS,
                 (double) sent * 1000 / (double) ms,
                 (double) (cpu_ms (pid) - cpu) * 100 / (double) ms);
  assert_in_range (sent, 1, (ms / 1000 + 1) * MANY_LOCKS / 2);

  terminal_type (terminal, "/crowd\r");
  assert_shows (terminal, "filter: crowd  1 found");
  terminal_type (terminal, "\r");
  assert_shows (terminal, "/many/crowd: mutex, 1 holds, 500 wait");
  terminal_type (terminal, "G");
  assert_shows (terminal, "0000000500");
  assert_fits (terminal);
}

/* Each turn writes what fits, also where the terminal cannot be drawn on. */
TEST (a_dumb_terminal_gets_a_screenful)
{
  const char *const argv[] = {
    "/usr/bin/env", "TERM=dumb",    ZKFLOCK, "-Z",    fixture_server (fixture),
    "top",          "--iterations", "1",     "/dumb", NULL
  };
  int status;

  for (int i = 0; i < 40; i++)
    {
      g_autofree char *path = g_strdup_printf ("/dumb/lock-%02d", i);
      plant (fixture, path, "job@host:1");
    }
  g_autoptr (Terminal) terminal = terminal_start_sized ((char *const *) argv, 80, 12);
  assert_shows (terminal, "40 locks");
  assert_true (terminal_wait_end (terminal, CLI_MS, &status));
  assert_shows (terminal, "40 locks");
  assert_fits (terminal);
}

/* The server dies under it and comes back; keys work meanwhile. Last, as the observer loses its
 * connection. */
TEST (the_server_stops)
{
  g_autoptr (Terminal) terminal = top_start (fixture, "/sizes", "0.2", 80, 24);

  assert_shows (terminal, "/sizes/lock-00");
  zk_server_kill (fixture->server);
  assert_shows (terminal, "no answer for");
  terminal_type (terminal, "G");
  assert_shows (terminal, "/sizes/queue");
  terminal_type (terminal, "?");
  assert_shows (terminal, "zkflock top: keys");
  terminal_type (terminal, "?");
  assert_true (zk_server_relaunch (fixture->server));
  assert_does_not_show (terminal, "no answer for");
  assert_shows (terminal, "/sizes/queue");
}

SUITE ("top", fixture_start, fixture_stop)
