/* zkflock top in terminals of several sizes, driven by keys, with many locks and without a
 * server. */
#include "cli.h"

#include "cli/terminal.h"

#include <string.h>

#define MANY_LOCKS     2001
#define MANY_WAITERS   500
#define MANY_SETTLED_S 60
#define MANY_QUIET_S   3
#define UUID           "_c_00000000-0000-4000-8000-000000000000-lock-"

/* No line has been longer than the terminal, and no row has left it. */
static void
assert_fits (Terminal *terminal)
{
  assert_int_equal (terminal->n_scrolled, 0);
}

#define top_start(fixture, path, interval, columns, rows)                                          \
  terminal_start_sized ((columns), (rows), ZKFLOCK, "-Z", fixture_server (fixture), "top",         \
                        "--interval", (interval), (path))

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
  for (int i = 0; i < 60; i++) {
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

/* What is typed, and what is to be seen and what not. */
static const struct
{
  const char *keys;
  const char *shows[2];
  const char *hides;
} steps[] = {
  { "", { "61 locks", "lock-00" }, NULL },
  { "", { " of 61; ?" }, NULL },
  /* Help, and back. */
  { "?", { "zkflock top: keys", "/    " }, NULL },
  { "x", { NULL }, "zkflock top: keys" },
  /* The order. */
  { "r", { "by lock, reversed", "queue" }, "lock-00" },
  { "rssss", { "by waiting", "queue" }, NULL },
  { "s", { NULL }, "by waiting" },
  /* The cursor leaves the first rows, and comes back. */
  { "G", { "queue" }, NULL },
  { "gjjj", { "lock-00" }, NULL },
  { "            ", { "queue" }, "lock-00" },
  { "g", { "lock-00" }, NULL },
  { "\x1b[6~\x1b[B", { NULL }, "lock-00" },
  /* A filter by a path, and by the label of a holder. */
  { "/LOCK-4\x7f"
    "3",
    { "filter: LOCK-3_  10 found" },
    "lock-00" },
  { "\r", { "filter: LOCK-3  10 found" }, NULL },
  { "/\x1b/host57:\r", { "filter: host57:  1 found", "lock-02" }, NULL },
  /* Details of every waiter, one after the other. */
  { "/\x1b"
    "G\r",
    { "/sizes/queue: mutex, 1 holds, 2 wait", "payload  first@host:1" },
    NULL },
  { "", { "session  none: nobody owns it" }, NULL },
  { "j", { "payload  second@host:2", "0000000001" }, NULL },
  { "\x1b[B", { "payload  a payload of more than one " }, "payload  second@host:2" },
  { "q", { "61 locks" }, NULL },
};

static void
drive (Fixture *fixture, int columns, int rows)
{
  g_autoptr (Terminal) terminal = top_start (fixture, "/sizes", "0.2", columns, rows);

  print_message ("%d x %d\n", columns, rows);
  for (gsize i = 0; i < G_N_ELEMENTS (steps); i++) {
    terminal_type (terminal, steps[i].keys);
    for (int k = 0; k < 2 && steps[i].shows[k] != NULL; k++)
      terminal_shows (terminal, steps[i].shows[k]);
    if (steps[i].hides != NULL)
      terminal_hides (terminal, steps[i].hides);
    if (strcmp (steps[i].keys, "\x1b[B") == 0 && rows > 10)
      terminal_shows (terminal, "0123456789 END");
    assert_fits (terminal);
  }
  terminal_type (terminal, "q");
  terminal_ends (terminal, 0);
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

  terminal_shows (terminal, "1 to 20 of 61");
  terminal_resize (terminal, 120, 40);
  terminal_shows (terminal, "1 to 36 of 61");
  terminal_resize (terminal, 40, 10);
  terminal_shows (terminal, "1 to 6 of 61");
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

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autoptr (Terminal) terminal = top_start (fixture, "/sizes", "30", rows[i].columns, 10);
    terminal_shows (terminal, rows[i].footer);
    assert_fits (terminal);
  }
}

/* The address and the session are those of the process that holds. */
TEST (details_show_the_address)
{
  g_autoptr (Cli) holder = cli_hold (fixture, "/known/one");
  g_auto (GStrv) nodes = raw_zk_children (fixture->raw, "/known/one");
  g_autofree char *node = g_strconcat ("/known/one/", nodes[0], NULL);
  const gint64 session = raw_zk_owner (fixture->raw, node);
  g_autofree char *session_text = g_strdup_printf ("session  0x%" G_GINT64_MODIFIER "x", session);
  g_autofree char *node_text = g_strconcat ("node     ", nodes[0], NULL);
  g_autoptr (Terminal) terminal = top_start (fixture, "/known", "0.2", 80, 24);

  terminal_shows (terminal, "/known/one");
  terminal_type (terminal, "\r");
  terminal_shows (terminal, node_text);
  terminal_shows (terminal, session_text);
  terminal_shows (terminal, "address  127.");
  /* The lock goes while its details are shown. */
  cli_close_stdin (holder);
  cli_ends (holder, 0, NULL);
  terminal_shows (terminal, "/known/one: free");
}

/* Runs a verb to its end in a terminal of 80 columns. */
static Terminal *
view (Fixture *fixture, const char *verb, const char *path)
{
  Terminal *terminal = terminal_start (ZKFLOCK, "-Z", fixture_server (fixture), verb, path);
  terminal_ends (terminal, 0);
  return terminal;
}

TEST (who_and_tree_fit_80_columns)
{
  const char *long_path =
      "/wide/a/path/that/is/much/too/long/for/its/column/at/all/and/goes/on/nightly";

  plant (fixture, long_path, "billing@a-host-with-quite-a-long-name.example.org:4711");
  plant (fixture, "/wide/short", "deploy@db1:88");
  plant (fixture, "/wide/short", "deploy@db2:89");
  g_autoptr (Terminal) tree = view (fixture, "tree", "/wide");
  terminal_has_row (tree, 0, "PATH ", " KIND        WAITING  HELD BY");
  terminal_has_row (tree, 1, "…", "…");
  terminal_has_row (tree, 2, "/wide/short ", " mutex             1  deploy@db1:88");
  g_autofree char *row = terminal_get_row (tree, 1);
  assert_int_equal (g_utf8_strlen (row, -1), TERMINAL_COLUMNS);
  assert_non_null (strstr (row, "/goes/on/nightly  mutex"));
  g_autoptr (Terminal) who = view (fixture, "who", "/wide/short");
  terminal_has_row (who, 0, "/wide/short: mutex, 1 holds, 1 waits", "");
  terminal_has_row (who, 1, "    #  KIND     AGE  LABEL ", " SESSION             NODE");
  terminal_has_row (who, 2, "    *  mutex ", "…-0000000000");
  terminal_has_row (who, 3, "    1  mutex ", "…-0000000001");
  terminal_has_row (who, 4, "", "");
}

/* In a terminal, reap asks. */
TEST (reap_asks)
{
  static const struct
  {
    const char *answer;
    int code;
    int n_left;
  } rows[] = { { "\n", 1, 1 }, { "y\n", 0, 0 } };

  plant (fixture, "/asked", "left behind");
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autoptr (Terminal) terminal =
        terminal_start (ZKFLOCK, "-Z", fixture_server (fixture), "reap", "/asked");
    terminal_shows (terminal, "Delete this node? [y/N]");
    terminal_type (terminal, rows[i].answer);
    terminal_ends (terminal, rows[i].code);
    assert_int_equal (raw_zk_count_children (fixture->raw, "/asked"), rows[i].n_left);
  }
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

  terminal_look (terminal, ms);
  return four_letter_monitor (fixture_server (fixture), "zk_packets_received") - packets;
}

/* Locks that do not change are watched and not asked for; now and then a watch is confirmed. */
TEST (many_quiet_locks_cost_few_requests)
{
  for (int i = 0; i < MANY_LOCKS - 1; i++) {
    g_autofree char *path = g_strdup_printf ("/many/group-%02d/lock-%04d", i % 20, i);
    plant (fixture, path, "holder@host:1");
  }
  raw_zk_make_path (fixture->raw, "/many/crowd");
  assert_int_equal (raw_zk_create_many (fixture->raw, "/many/crowd", UUID, MANY_WAITERS + 1), 0);
  g_autoptr (Terminal) terminal = top_start (fixture, "/many", "1", 80, 24);
  terminal_shows (terminal, "2001 locks, 2001 held, 500 waiting");
  terminal_type (terminal, "g");
  terminal_shows (terminal, "1 to 20 of 2001");
  /* Looks that find no change set the watches. A second without requests may lie between two
   * looks. */
  assert_soon ((terminal_look (terminal, 200),
                four_letter_total_watches (fixture_server (fixture)) >= MANY_LOCKS));
  int quiet_s = 0;
  for (int i = 0; i < MANY_SETTLED_S && quiet_s < MANY_QUIET_S; i++)
    quiet_s = requests_in (fixture, terminal, 1000) > MANY_LOCKS / 2 ? 0 : quiet_s + 1;
  assert_int_equal (quiet_s, MANY_QUIET_S);
  const gint64 cpu = cpu_ms (terminal->pid);
  const gint64 start = wait_now_ms ();
  const gint64 sent = requests_in (fixture, terminal, 3000);
  const gint64 ms = wait_now_ms () - start;
  print_message ("%d locks: %.1f requests a second, %.1f %% of a core\n", MANY_LOCKS,
                 (double) sent * 1000 / (double) ms,
                 (double) (cpu_ms (terminal->pid) - cpu) * 100 / (double) ms);
  assert_in_range (sent, 1, (ms / 1000 + 1) * MANY_LOCKS / 2);

  terminal_type (terminal, "/crowd\r");
  terminal_shows (terminal, "filter: crowd  1 found");
  terminal_type (terminal, "\r");
  terminal_shows (terminal, "/many/crowd: mutex, 1 holds, 500 wait");
  terminal_type (terminal, "G");
  terminal_shows (terminal, "0000000500");
  assert_fits (terminal);
}

/* Each turn writes what fits, also where the terminal cannot be drawn on. */
TEST (a_dumb_terminal_gets_a_screenful)
{
  for (int i = 0; i < 40; i++) {
    g_autofree char *path = g_strdup_printf ("/dumb/lock-%02d", i);
    plant (fixture, path, "job@host:1");
  }
  g_autoptr (Terminal) terminal =
      terminal_start_sized (80, 12, "/usr/bin/env", "TERM=dumb", ZKFLOCK, "-Z",
                            fixture_server (fixture), "top", "--iterations", "1", "/dumb");
  terminal_ends (terminal, 0);
  terminal_shows (terminal, "40 locks");
  assert_fits (terminal);
}

/* The server is silent for a while, then dies and comes back. Keys work meanwhile. This test is the
 * last one, as the observer loses its connection. */
TEST (the_server_stops)
{
  g_autoptr (Terminal) terminal = top_start (fixture, "/sizes", "0.2", 80, 24);

  terminal_shows (terminal, "/sizes/lock-00");
  zk_server_freeze (fixture->server);
  terminal_shows (terminal, "no answer for");
  zk_server_thaw (fixture->server);
  terminal_hides (terminal, "no answer for");
  zk_server_kill (fixture->server);
  terminal_shows (terminal, "no answer for");
  terminal_type (terminal, "G");
  terminal_shows (terminal, "/sizes/queue");
  terminal_type (terminal, "?");
  terminal_shows (terminal, "zkflock top: keys");
  terminal_type (terminal, "?");
  assert_true (zk_server_relaunch (fixture->server));
  terminal_hides (terminal, "no answer for");
  terminal_shows (terminal, "/sizes/queue");
}

SUITE ("top", fixture_start, fixture_stop)
