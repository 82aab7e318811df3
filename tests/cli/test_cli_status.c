/* What programs learn of zkflock: --status-fd, --syslog, and the waiting for others. */
#include "cli.h"

#include "support/scratch.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* zkflock with descriptor 9 open for writing to the file. */
#define WITH_STATUS(fixture, file, ...)                                                            \
  CLI_WORDS ("/bin/sh", "-c", "exec \"$@\" 9>>\"$0\"", (file), ZKFLOCK, "-Z",                      \
             fixture_server (fixture), "--status-fd", "9", __VA_ARGS__)
#define start_with_status(...) cli_start_words (WITH_STATUS (__VA_ARGS__))
#define run_with_status(exit_code, ...)                                                            \
  g_free (cli_output ((exit_code), NULL, WITH_STATUS (__VA_ARGS__)))

/* The names of the events, in order, with a blank between two. */
static char *
events_of (const char *file)
{
  g_auto (GStrv) lines = cli_lines (file);
  GString *names = g_string_new (NULL);

  for (char **line = lines; *line != NULL; line++) {
    assert_true (g_str_has_prefix (*line, "{\"event\":\""));
    assert_true (g_str_has_suffix (*line, "}"));
    const char *name = *line + strlen ("{\"event\":\"");
    g_string_append_len (names, name, (gssize) strcspn (name, "\""));
    g_string_append_c (names, ' ');
  }
  return g_string_free (names, FALSE);
}

static void
assert_last (const char *file, const char *text)
{
  g_auto (GStrv) lines = cli_lines (file);
  const guint n = g_strv_length (lines);

  assert_true (n > 0);
  assert_true (g_str_has_prefix (lines[n - 1], "{\"event\":\"exit\""));
  if (strstr (lines[n - 1], text) == NULL)
    fail_msg ("%s is not in %s", text, lines[n - 1]);
}

TEST (events_in_order)
{
  LOG status = cli_new_file ();
  run_with_status (1, fixture, status, "/events", CLI_COMMAND, "exit", "1");
  g_autofree char *events = events_of (status);
  assert_string_equal (events, "waiting connected granted started ended released exit ");
  assert_last (status, "\"verdict\":\"command\",\"exit_code\":1,\"command\":{\"exit_code\":1}}");
  assert_true (cli_wait_text (status, "\"path\":\"/events\",\"node\":\"/events/_c_", 0));
  assert_true (cli_wait_text (status, "\"confirmed\":true", 0));
}

/* 1 again, and this time it is zkflock's. */
TEST (a_conflict_is_told_from_the_command)
{
  LOG status = cli_new_file ();
  G_GNUC_UNUSED g_autoptr (Cli) holder = cli_hold (fixture, "--label", "night \"shift\"", "/told");
  g_autoptr (Cli) rival = start_with_status (fixture, status, "-n", "/told", "true");

  cli_ends (rival, 1, "");
  assert_true (cli_wait_text (status, "\"path\":\"/told\",\"holder\":\"night \\\"shift\\\"\"", 0));
  assert_last (status, "\"verdict\":\"conflict\",\"exit_code\":1}");
  cli_fails (fixture, 1, "/told: not granted: held by night", "-w", "8", "--verbose", "/told",
             "true");
}

TEST (verdicts)
{
  static const struct
  {
    int code;
    const char *words[5];
    const char *last;
  } rows[] = {
    { 137,
      { "/verdict", CLI_COMMAND, "signal", "9" },
      "\"verdict\":\"command\",\"exit_code\":137,\"command\":{\"signal\":9}}" },
    { 127, { "/verdict", "/no/such/command" }, "\"verdict\":\"not started\",\"exit_code\":127}" },
    { 75, /* TERM comes so long before KILL that zkflock may be late */
      { "--max-hold=20", "--kill-after=4", "/verdict", "sleep", "600" },
      "\"verdict\":\"maximum\",\"exit_code\":75,\"command\":{\"signal\":15}}" },
    { 69,
      { "-Z", "localhost:1", "-n", "/verdict", "true" },
      "\"verdict\":\"unreachable\",\"exit_code\":69}" },
    { 64, { "/a//b", "true" }, "\"verdict\":\"usage\",\"exit_code\":64}" },
    { 64, { "/verdict", CLI_COMMAND, "exit", "64" }, "\"verdict\":\"command\"" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    LOG status = cli_new_file ();
    const char *const *words = rows[i].words;
    run_with_status (rows[i].code, fixture, status, words[0], words[1], words[2], words[3],
                     words[4]);
    assert_last (status, rows[i].last);
  }
}

/* A session that ends under the command. */
TEST (a_loss_is_reported)
{
  LOG status = cli_new_file ();
  g_autoptr (Cli) cli =
      start_with_status (fixture, status, "-Z", fixture_proxy (fixture), "--session-timeout", "20",
                         "--kill-after=4", "/loss", COMMAND ("beat"));

  cli_beats (cli, 2);
  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  cli_ends (cli, 75, NULL);
  g_autofree char *events = events_of (status);
  assert_true (g_str_has_prefix (events, "waiting connected granted started "));
  cli_shows (events, " suspect term ");
  assert_true (g_str_has_suffix (events, " ended lost exit "));
  assert_true (cli_wait_text (status, "\"reason\":\"loss\"", 0));
  assert_last (status, "\"verdict\":\"lost\",\"exit_code\":75,\"command\":{\"signal\":15}}");
}

/* Whatever is done about doubt, and whatever the command makes of TERM. */
TEST (events_come_before_what_they_announce)
{
  static const char *const reactions[] = { "continue", "pause", "kill" };
  static const char *const modes[] = { "beat", "stubborn" };
  Cli *clis[6];
  char *files[6];

  for (int i = 0; i < 6; i++) {
    g_autofree char *reaction = g_strconcat ("--on-suspend=", reactions[i / 2], NULL);
    g_autofree char *path = g_strdup_printf ("/before/%d", i);
    files[i] = cli_new_file ();
    clis[i] = start_with_status (fixture, files[i], "-Z", fixture_proxy (fixture), reaction,
                                 "--session-timeout", "20", "--kill-after=4", path,
                                 COMMAND (modes[i % 2]));
  }
  for (int i = 0; i < 6; i++)
    cli_beats (clis[i], 4);
  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  for (int i = 0; i < 6; i++) {
    cli_ends (clis[i], 75, NULL);
    g_autofree char *events = events_of (files[i]);
    cli_shows (events,
               i % 2 == 0 ? " started suspect term ended " : " started suspect term kill ended ");
    cli_free (clis[i]);
    cli_delete_file (&files[i]);
  }
}

/* Neither the command nor a child of it can write there, or keep a reader waiting. */
TEST (the_command_does_not_inherit_it)
{
  LOG status = cli_new_file ();
  g_autoptr (Cli) cli = start_with_status (fixture, status, "/inherit", COMMAND ("show"));

  cli_ends (cli, 0, NULL);
  g_auto (GStrv) lines = cli_lines (cli->log);
  for (char **line = lines; *line != NULL; line++)
    if (g_str_has_prefix (*line, "FD "))
      assert_in_range (g_ascii_strtoll (*line + 3, NULL, 10), 0, 2);
  assert_true (cli_wait_lines (cli->log, "FD ", 3, 0));
}

TEST (a_descriptor_to_read)
{
  g_autoptr (Cli) to_read =
      cli_start ("/bin/sh", "-c", "exec \"$@\" 9</dev/null", "sh", ZKFLOCK, "-Z",
                 fixture_server (fixture), "--status-fd", "9", "/bad", "true");
  cli_ends (to_read, 64, NULL);
}

/* A reader that has gone, and one that never reads, change nothing. */
TEST (a_reader_that_does_not_read)
{
  g_autoptr (Cli) gone = cli_start (
      "/bin/sh", "-c", "{ \"$@\"; echo $? >&2; } 9>&1 >/dev/null | :", "sh", ZKFLOCK, "-Z",
      fixture_server (fixture), "--status-fd", "9", "/gone", CLI_COMMAND, "exit", "5");
  cli_ends (gone, 0, NULL);
  assert_true (cli_wait_lines (gone->err, "5", 1, 0));

  /* A fifo that this test opens and never reads. */
  LOG fifo = cli_new_file ();
  assert_int_equal (mkfifo (fifo, 0600), 0);
  const int end = open (fifo, O_RDWR | O_CLOEXEC | O_NONBLOCK);
  char block[4096] = { 0 };
  while (write (end, block, sizeof block) > 0) {
  }
  run_with_status (5, fixture, fifo, "/stuck", CLI_COMMAND, "exit", "5");
  close (end);
}

TEST (wait_until_free)
{
  cli_exits (fixture, 0, "wait", "/free");
  g_autoptr (Cli) holder = cli_hold (fixture, "--label", "me", "-N", "2", "/free");
  cli_fails (fixture, 1, "/free: still held by me", "wait", "-n", "/free");
  cli_exits (fixture, 9, "wait", "-w", "2", "-E", "9", "/free");

  g_autoptr (Cli) waiter = cli_zkflock (fixture_server (fixture), "wait", "/free");
  assert_int_equal (cli_wait (waiter, 500), -1);
  cli_close_stdin (holder);
  cli_ends (waiter, 0, NULL);
  cli_exits (fixture, 64, "wait");
  cli_exits (fixture, 64, "wait", "--json", "/free");
  cli_exits (fixture, 69, "-Z", "localhost:1", "--connect-timeout", "1", "wait", "/free");
}

TEST (revoke_waits_for_the_release)
{
  G_GNUC_UNUSED g_autoptr (Cli) polite =
      cli_zkflock (fixture_server (fixture), "--revocable", "/back", COMMAND ("polite"), "0");
  cli_beats (polite, 1);
  cli_exits (fixture, 0, "revoke", "--wait", "50", "/back");
  assert_true (cli_wait_lines (polite->log, "GOT", 1, 0));
  cli_exits (fixture, 0, "wait", "-n", "/back");

  G_GNUC_UNUSED g_autoptr (Cli) stubborn =
      cli_zkflock (fixture_server (fixture), "--revocable", "/kept", COMMAND ("stubborn"));
  cli_beats (stubborn, 2);
  cli_exits (fixture, 0, "revoke", "/kept");
  cli_exits (fixture, 1, "revoke", "-w", "2", "/kept");
}

#define UNSHARE "exec unshare --mount --map-root-user "

/* In a /dev of its own, whose /dev/log is ours. */
TEST (messages_go_to_syslog)
{
  static const char script[] =
      UNSHARE "/bin/sh -c '"
              "set -e; dev=$1; shift; touch \"$dev/null\"; mount --bind /dev/null \"$dev/null\"\n"
              "mount --rbind \"$dev\" /dev; set +e; \"$@\"; echo $? >&2' sh \"$@\"";
  g_autoptr (Cli) probe = cli_start ("/bin/sh", "-c", UNSHARE "mount -t tmpfs x /mnt");

  if (cli_wait (probe, CLI_MS) != 0)
    skip (); /* no mount namespace */
  char *folder = scratch_new ("syslog");
  g_autofree char *name = g_build_filename (folder, "log", NULL);
  const int fd = cli_listen_to_datagrams (name);
  g_autoptr (GString) told = g_string_new (NULL);
  G_GNUC_UNUSED g_autoptr (Cli) holder = cli_hold (fixture, "--label", "the day shift", "/log");
  g_autoptr (Cli) quiet = cli_start ("/bin/sh", "-c", script, "sh", folder, ZKFLOCK, "-Z",
                                     fixture_server (fixture), "--syslog", "-n", "/log", "true");
  cli_ends (quiet, 0, NULL);
  g_autofree char *err = cli_stderr (quiet);
  assert_string_equal (err, "1\n"); /* the exit code, and nothing else */
  g_autoptr (Cli) failing = cli_start ("/bin/sh", "-c", script, "sh", folder, ZKFLOCK, "-Z",
                                       fixture_server (fixture), "--syslog", "-s", "/log", "true");
  cli_ends (failing, 0, NULL);
  assert_true (cli_wait_lines (failing->err, "64", 1, 0));
  cli_hear (fd, told, CLI_MS);
  cli_shows (told->str, "/log: not granted: held by the day shift");
  cli_shows (told->str, "it is used as a mutex");
  close (fd);
  scratch_remove (folder);
}

/* Adds the lines of the text, which is freed, each behind what prints it. */
static void
append_output (GString *all, const char *of, char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (char **line = lines; *line != NULL; line++)
    if (**line != '\0')
      g_string_append_printf (all, "%s %s\n", of, *line);
  g_free (text);
}

/* A mutex that somebody waits for, with a child that is a node of another library and has no owner,
 * and a semaphore. */
static void
append_views (Fixture *fixture, GString *all, const char *status)
{
  G_GNUC_UNUSED g_autoptr (Cli) holder = cli_hold (fixture, "/fields/one");
  G_GNUC_UNUSED g_autoptr (Cli) waiter = cli_zkflock (fixture_server (fixture), "/fields/one");
  assert_true (raw_zk_wait_children (fixture->raw, "/fields/one", 2, CLI_MS));
  assert_int_equal (raw_zk_create (fixture->raw, "/fields/one/x__lock__0000000009", "", 0, NULL),
                    0);
  G_GNUC_UNUSED g_autoptr (Cli) semaphore = cli_hold (fixture, "-N", "2", "/fields/three");
  append_output (all, "who", cli_run (fixture, 0, "who", "--json", "/fields/one"));
  append_output (all, "who", cli_run (fixture, 0, "tree", "--json", "/fields"));
  append_output (all, "who", cli_run (fixture, 0, "top", "--json", "--iterations", "1", "/fields"));
  append_output (all, "doctor", cli_run (fixture, 1, "doctor", "--json", "/fields"));
  run_with_status (1, fixture, status, "-n", "/fields/one", "true");
}

/* A hold that nobody confirms for a while, and whose node is then deleted. In a long session an
 * answer can come late. */
static void
meet_doubt_and_loss (Fixture *fixture, const char *status)
{
  g_autoptr (Cli) cli =
      start_with_status (fixture, status, "-Z", fixture_proxy (fixture), "--session-timeout", "40",
                         "/fields/two", COMMAND ("stubborn"));

  cli_beats (cli, 2);
  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  assert_true (cli_wait_text (status, "\"event\":\"suspect\"", CLI_MS));
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_true (cli_wait_text (status, "\"event\":\"held\"", CLI_MS));
  assert_int_equal (raw_zk_delete_tree (fixture->raw, "/fields/two"), 0);
  cli_ends (cli, 75, NULL);
}

static void
drain (int fd, GString *text)
{
  char block[4096];

  for (gssize n; (n = read (fd, block, sizeof block)) > 0;)
    g_string_append_len (text, block, n);
}

static gboolean
is_drained (int fd, GString *text, const char *end)
{
  drain (fd, text);
  return strstr (text->str, end) != NULL;
}

/* A reader that comes back late. The paths are so many that no event fits behind the first. */
static char *
meet_a_late_reader (Fixture *fixture)
{
  char line_feeds[4096];
  g_autofree char *name = g_strnfill (800, 'x');
  g_autoptr (GPtrArray) words = g_ptr_array_new ();
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  const char *const first[] = { ZKFLOCK, "-Z", fixture_server (fixture), "--status-fd=3" };
  const char *const last[] = { "/late/path", COMMAND ("polite"), "0" };
  GString *text = g_string_new (NULL);
  int ends[2];

  assert_int_equal (pipe2 (ends, O_CLOEXEC | O_NONBLOCK), 0);
  memset (line_feeds, '\n', sizeof line_feeds);
  while (write (ends[1], line_feeds, sizeof line_feeds) > 0) {
  }
  assert_int_equal (fcntl (ends[1], F_SETFL, 0), 0);
  for (gsize i = 0; i < G_N_ELEMENTS (first); i++)
    g_ptr_array_add (words, (gpointer) first[i]);
  for (int i = 0; i < 187; i++) {
    g_ptr_array_add (paths, g_strdup_printf ("--multi=/late/%d%s", i, name));
    g_ptr_array_add (words, paths->pdata[i]);
  }
  for (gsize i = 0; i < G_N_ELEMENTS (last); i++)
    g_ptr_array_add (words, (gpointer) last[i]);
  g_autoptr (Cli) cli = cli_start_with (ends[1], 3, (const char *const *) words->pdata, words->len);
  cli_beats (cli, 2);
  assert_soon (is_drained (ends[0], text, "\"event\":\"dropped\""));
  kill (cli->pid, SIGTERM);
  assert_soon (is_drained (ends[0], text, "\"event\":\"exit\""));
  cli_ends (cli, 0, NULL);
  close (ends[0]);
  close (ends[1]);
  return g_string_free (text, FALSE);
}

/* docs/zkflock.md has every field that is written, with its type, and no others. */
TEST (the_table_of_fields)
{
  g_autoptr (GString) all = g_string_new (NULL);
  LOG status = cli_new_file ();
  char *events = NULL;
  g_autoptr (Cli) cli =
      start_with_status (fixture, status, "/fields/zero", CLI_COMMAND, "exit", "1");

  cli_ends (cli, 1, NULL);
  run_with_status (0, fixture, status, "/fields/zero", "/bin/sh", "-c", "sleep 600 & exit 0");
  append_views (fixture, all, status);
  meet_doubt_and_loss (fixture, status);
  assert_true (g_file_get_contents (status, &events, NULL, NULL));
  append_output (all, "status", events);
  append_output (all, "status", meet_a_late_reader (fixture));
  LOG output = cli_write_file (all->str, -1, 0600);
  g_autoptr (Cli) check = cli_start (CURATOR_SOURCE_DIR "/tests/cli/check_fields",
                                     CURATOR_SOURCE_DIR "/docs/zkflock.md", output);
  const int code = cli_wait (check, CLI_MS);
  g_autofree char *said = cli_stdout (check);
  g_autofree char *err = cli_stderr (check);
  if (code != 0)
    fail_msg ("%s%s", said, err);
}

SUITE ("status", fixture_start_slow, fixture_stop)
