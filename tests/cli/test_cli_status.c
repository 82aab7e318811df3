/* What programs learn of zkflock: --status-fd, --syslog, and the waiting for others. */
#include "cli.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* zkflock with descriptor 9 open for writing to the file. */
static Cli *start_with_status (Fixture *fixture, const char *file, ...) G_GNUC_NULL_TERMINATED;

static Cli *
start_with_status (Fixture *fixture, const char *file, ...)
{
  const char *const first[] = { "/bin/sh",
                                "-c",
                                "f=$1; shift; exec \"$@\" 9>\"$f\"",
                                "sh",
                                file,
                                ZKFLOCK,
                                "-Z",
                                fixture_server (fixture),
                                "--status-fd",
                                "9" };
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  va_list args;

  for (gsize i = 0; i < G_N_ELEMENTS (first); i++)
    g_ptr_array_add (argv, (gpointer) first[i]);
  va_start (args, file);
  do
    {
      g_ptr_array_add (argv, va_arg (args, char *));
    }
  while (g_ptr_array_index (argv, argv->len - 1) != NULL);
  va_end (args);
  return cli_start_strv ((char *const *) argv->pdata);
}

/* The names of the events, in order, with a blank between two. */
static char *
events_of (const char *file)
{
  g_auto (GStrv) lines = cli_lines (file);
  GString *names = g_string_new (NULL);

  for (char **line = lines; *line != NULL; line++)
    {
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
  g_autoptr (Cli) cli =
      start_with_status (fixture, status, "/events", CLI_COMMAND, "exit", "1", NULL);

  assert_int_equal (cli_wait (cli, CLI_MS), 1);
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
  G_GNUC_UNUSED g_autoptr (Cli) holder =
      cli_hold (fixture, "--label", "night \"shift\"", "/told", NULL);
  g_autoptr (Cli) rival = start_with_status (fixture, status, "-n", "/told", "true", NULL);

  assert_int_equal (cli_wait (rival, CLI_MS), 1);
  assert_true (cli_wait_text (status, "\"path\":\"/told\",\"holder\":\"night \\\"shift\\\"\"", 0));
  assert_last (status, "\"verdict\":\"conflict\",\"exit_code\":1}");
  g_autofree char *err = cli_stderr (rival);
  assert_string_equal (err, "");
  g_autoptr (Cli) verbose =
      cli_zkflock (fixture_server (fixture), "-w", "3", "--verbose", "/told", "true", NULL);
  assert_int_equal (cli_wait (verbose, CLI_MS), 1);
  assert_true (cli_wait_text (verbose->err, "/told: not granted: held by night", 0));
}

TEST (verdicts)
{
  const struct
  {
    const char *argv[6];
    int code;
    const char *last;
  } rows[] = {
    { { "/verdict", CLI_COMMAND, "signal", "9" },
      137,
      "\"verdict\":\"command\",\"exit_code\":137,\"command\":{\"signal\":9}}" },
    { { "/verdict", "/no/such/command" }, 127, "\"verdict\":\"not started\",\"exit_code\":127}" },
    { { "--max-hold=3", "/verdict", "sleep", "600" },
      75,
      "\"verdict\":\"maximum\",\"exit_code\":75,\"command\":{\"signal\":15}}" },
    { { "-Z", "localhost:1", "-n", "/verdict", "true" },
      69,
      "\"verdict\":\"unreachable\",\"exit_code\":69}" },
    { { "/a//b", "true" }, 64, "\"verdict\":\"usage\",\"exit_code\":64}" },
    { { "/verdict", CLI_COMMAND, "exit", "64" }, 64, "\"verdict\":\"command\"" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      LOG status = cli_new_file ();
      const char *const *argv = rows[i].argv;
      g_autoptr (Cli) cli =
          start_with_status (fixture, status, argv[0], argv[1], argv[2], argv[3], argv[4], NULL);
      assert_int_equal (cli_wait (cli, CLI_MS), rows[i].code);
      assert_last (status, rows[i].last);
    }
}

/* A session that ends under the command. */
TEST (a_loss_is_reported)
{
  LOG status = cli_new_file ();
  LOG beats = cli_new_file ();
  g_autoptr (Cli) cli =
      start_with_status (fixture, status, "-Z", fixture_proxy (fixture), "--session-timeout", "6",
                         "/loss", CLI_COMMAND, "beat", beats, NULL);

  assert_true (cli_wait_lines (beats, "BEAT", 2, CLI_MS));
  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  assert_int_equal (cli_wait (cli, CLI_MS), 75);
  g_autofree char *events = events_of (status);
  assert_true (g_str_has_prefix (events, "waiting connected granted started term "));
  assert_true (g_str_has_suffix (events, " ended lost exit "));
  assert_true (cli_wait_text (status, "\"reason\":\"loss\"", 0));
  assert_last (status, "\"verdict\":\"lost\",\"exit_code\":75,\"command\":{\"signal\":15}}");
}

/* Neither the command nor a child of it can write there, or keep a reader waiting. */
TEST (the_command_does_not_inherit_it)
{
  LOG status = cli_new_file ();
  LOG shown = cli_new_file ();
  g_autoptr (Cli) cli =
      start_with_status (fixture, status, "/inherit", CLI_COMMAND, "show", shown, NULL);

  assert_int_equal (cli_wait (cli, CLI_MS), 0);
  g_auto (GStrv) lines = cli_lines (shown);
  for (char **line = lines; *line != NULL; line++)
    if (g_str_has_prefix (*line, "FD "))
      assert_in_range (g_ascii_strtoll (*line + 3, NULL, 10), 0, 2);
  assert_true (cli_wait_lines (shown, "FD ", 3, 0));
}

TEST (bad_descriptors)
{
  g_free (cli_run (fixture, 64, "--status-fd", "77", "/bad", "true", NULL));
  g_free (cli_run (fixture, 64, "--status-fd", "-1", "/bad", "true", NULL));
  g_free (cli_run (fixture, 64, "--status-fd", "three", "/bad", "true", NULL));
  g_autoptr (Cli) to_read =
      cli_start ("/bin/sh", "-c", "exec \"$@\" 9</dev/null", "sh", ZKFLOCK, "-Z",
                 fixture_server (fixture), "--status-fd", "9", "/bad", "true", NULL);
  assert_int_equal (cli_wait (to_read, CLI_MS), 64);
}

/* A reader that has gone, and one that never reads, change nothing. */
TEST (a_reader_that_does_not_read)
{
  g_autoptr (Cli) gone = cli_start (
      "/bin/sh", "-c", "{ \"$@\"; echo $? >&2; } 9>&1 >/dev/null | :", "sh", ZKFLOCK, "-Z",
      fixture_server (fixture), "--status-fd", "9", "/gone", CLI_COMMAND, "exit", "5", NULL);
  assert_int_equal (cli_wait (gone, CLI_MS), 0);
  assert_true (cli_wait_lines (gone->err, "5", 1, 0));

  /* A fifo that this test opens and never reads. */
  LOG fifo = cli_new_file ();
  assert_int_equal (mkfifo (fifo, 0600), 0);
  const int end = open (fifo, O_RDWR | O_CLOEXEC | O_NONBLOCK);
  char block[4096] = { 0 };
  while (write (end, block, sizeof block) > 0)
    {
    }
  g_autoptr (Cli) full =
      start_with_status (fixture, fifo, "/stuck", CLI_COMMAND, "exit", "5", NULL);
  assert_int_equal (cli_wait (full, CLI_MS), 5);
  close (end);
}

TEST (wait_until_free)
{
  g_free (cli_run (fixture, 0, "wait", "/free", NULL));
  g_autoptr (Cli) holder = cli_hold (fixture, "--label", "me", "-N", "2", "/free", NULL);
  g_autoptr (Cli) look = cli_zkflock (fixture_server (fixture), "wait", "-n", "/free", NULL);
  assert_int_equal (cli_wait (look, CLI_MS), 1);
  assert_true (cli_wait_text (look->err, "/free: still held by me", 0));
  g_free (cli_run (fixture, 9, "wait", "-w", "2", "-E", "9", "/free", NULL));

  g_autoptr (Cli) waiter = cli_zkflock (fixture_server (fixture), "wait", "/free", NULL);
  assert_int_equal (cli_wait (waiter, 500), -1);
  cli_close_stdin (holder);
  assert_int_equal (cli_wait (waiter, CLI_MS), 0);
  g_free (cli_run (fixture, 64, "wait", NULL));
  g_free (cli_run (fixture, 64, "wait", "--json", "/free", NULL));
  g_free (
      cli_run (fixture, 69, "-Z", "localhost:1", "--connect-timeout", "1", "wait", "/free", NULL));
}

TEST (revoke_waits_for_the_release)
{
  LOG log = cli_new_file ();
  LOG beats = cli_new_file ();
  G_GNUC_UNUSED g_autoptr (Cli) polite = cli_zkflock (
      fixture_server (fixture), "--revocable", "/back", CLI_COMMAND, "polite", log, "0", NULL);
  assert_true (cli_wait_lines (log, "BEAT", 1, CLI_MS));
  g_free (cli_run (fixture, 0, "revoke", "--wait", "50", "/back", NULL));
  assert_true (cli_wait_lines (log, "GOT", 1, 0));
  g_free (cli_run (fixture, 0, "wait", "-n", "/back", NULL));

  G_GNUC_UNUSED g_autoptr (Cli) stubborn = cli_zkflock (
      fixture_server (fixture), "--revocable", "/kept", CLI_COMMAND, "stubborn", beats, NULL);
  assert_true (cli_wait_lines (beats, "BEAT", 2, CLI_MS));
  g_free (cli_run (fixture, 0, "revoke", "/kept", NULL));
  g_free (cli_run (fixture, 1, "revoke", "-w", "2", "/kept", NULL));
}

static int
listen_for_syslog (const char *file)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  const int fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

  g_strlcpy (address.sun_path, file, sizeof address.sun_path);
  return bind (fd, (struct sockaddr *) &address, sizeof address) == 0 ? fd : -1;
}

/* Whether that text arrives. */
static gboolean
receives (int fd, const char *text)
{
  char message[4096];
  gssize n;

  while ((n = recv (fd, message, sizeof message - 1, 0)) > 0)
    {
      message[n] = '\0';
      if (strstr (message, text) != NULL)
        return TRUE;
    }
  return FALSE;
}

#define UNSHARE "exec unshare --mount --map-root-user "

/* In a /dev of its own, whose /dev/log is ours. */
TEST (messages_go_to_syslog)
{
  static const char script[] =
      UNSHARE "/bin/sh -c '"
              "set -e; dev=$1; shift; touch \"$dev/null\"; mount --bind /dev/null \"$dev/null\"\n"
              "mount --rbind \"$dev\" /dev; set +e; \"$@\"; echo $? >&2' sh \"$@\"";
  g_autofree char *folder = g_dir_make_tmp ("syslog-XXXXXX", NULL);
  g_autofree char *name = g_build_filename (folder, "log", NULL);
  g_autoptr (Cli) probe = cli_start ("/bin/sh", "-c", UNSHARE "mount -t tmpfs x /mnt", NULL);

  if (cli_wait (probe, CLI_MS) != 0)
    {
      g_autofree char *why = cli_stderr (probe);
      print_message ("no mount namespace: %s", why);
      skip ();
    }
  const int fd = listen_for_syslog (name);
  assert_true (fd >= 0);
  G_GNUC_UNUSED g_autoptr (Cli) holder =
      cli_hold (fixture, "--label", "the day shift", "/log", NULL);
  g_autoptr (Cli) quiet =
      cli_start ("/bin/sh", "-c", script, "sh", folder, ZKFLOCK, "-Z", fixture_server (fixture),
                 "--syslog", "-n", "/log", "true", NULL);
  assert_int_equal (cli_wait (quiet, CLI_MS), 0);
  assert_true (cli_wait_lines (quiet->err, "1", 1, 0)); /* the exit code, and nothing else */
  g_auto (GStrv) lines = cli_lines (quiet->err);
  assert_int_equal (g_strv_length (lines), 1);
  assert_true (receives (fd, "/log: not granted: held by the day shift"));
  g_autoptr (Cli) failing =
      cli_start ("/bin/sh", "-c", script, "sh", folder, ZKFLOCK, "-Z", fixture_server (fixture),
                 "--syslog", "-s", "/log", "true", NULL);
  assert_int_equal (cli_wait (failing, CLI_MS), 0);
  assert_true (cli_wait_lines (failing->err, "64", 1, 0));
  assert_true (receives (fd, "it is used as a mutex"));
  close (fd);
  g_unlink (name);
  g_autofree char *null = g_build_filename (folder, "null", NULL);
  g_unlink (null);
  g_rmdir (folder);
}

/* Adds the lines of the text, each behind what prints it. */
static void
append_output (GString *all, const char *of, const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (char **line = lines; *line != NULL; line++)
    if (**line != '\0')
      g_string_append_printf (all, "%s %s\n", of, *line);
}

static void
append_status (GString *all, const char *file)
{
  g_autofree char *text = NULL;

  assert_true (g_file_get_contents (file, &text, NULL, NULL));
  append_output (all, "status", text);
}

/* A mutex that somebody waits for, with a child that is a node of another library and has no owner,
 * and a semaphore. */
static void
append_views (Fixture *fixture, GString *all)
{
  G_GNUC_UNUSED g_autoptr (Cli) holder = cli_hold (fixture, "/fields/one", NULL);
  G_GNUC_UNUSED g_autoptr (Cli) waiter =
      cli_zkflock (fixture_server (fixture), "/fields/one", NULL);
  assert_true (raw_zk_wait_children (fixture->raw, "/fields/one", 2, CLI_MS));
  assert_int_equal (raw_zk_create (fixture->raw, "/fields/one/x__lock__0000000009", "", 0, NULL),
                    0);
  G_GNUC_UNUSED g_autoptr (Cli) semaphore = cli_hold (fixture, "-N", "2", "/fields/three", NULL);
  g_autofree char *who = cli_run (fixture, 0, "who", "--json", "/fields/one", NULL);
  g_autofree char *tree = cli_run (fixture, 0, "tree", "--json", "/fields", NULL);
  g_autofree char *top =
      cli_run (fixture, 0, "top", "--json", "--iterations", "1", "/fields", NULL);
  g_autofree char *doctor = cli_run (fixture, 1, "doctor", "--json", "/fields", NULL);
  append_output (all, "who", who);
  append_output (all, "who", tree);
  append_output (all, "who", top);
  append_output (all, "doctor", doctor);
  LOG conflict = cli_new_file ();
  g_autoptr (Cli) rival = start_with_status (fixture, conflict, "-n", "/fields/one", "true", NULL);
  assert_int_equal (cli_wait (rival, CLI_MS), 1);
  append_status (all, conflict);
}

/* A hold that nobody confirms for a while, and whose node is then deleted. In a long session an
 * answer can come late. */
static void
append_doubt_and_loss (GString *all)
{
  void *slow = NULL;
  assert_int_equal (fixture_start_slow (&slow), 0);
  Fixture *fixture = slow;
  LOG status = cli_new_file ();
  LOG beats = cli_new_file ();
  g_autoptr (Cli) cli =
      start_with_status (fixture, status, "-Z", fixture_proxy (fixture), "--session-timeout", "20",
                         "/fields/two", CLI_COMMAND, "stubborn", beats, NULL);

  assert_true (cli_wait_lines (beats, "BEAT", 2, CLI_MS));
  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  assert_true (cli_wait_text (status, "\"event\":\"suspect\"", CLI_MS));
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_true (cli_wait_text (status, "\"event\":\"held\"", CLI_MS));
  assert_int_equal (raw_zk_delete_tree (fixture->raw, "/fields/two"), 0);
  assert_int_equal (cli_wait (cli, CLI_MS), 75);
  append_status (all, status);
  fixture_stop (&slow);
}

/* docs/zkflock.md has every field that is written, with its type, and no others. */
TEST (the_table_of_fields)
{
  g_autoptr (GString) all = g_string_new (NULL);
  LOG status = cli_new_file ();
  LOG output = cli_new_file ();
  g_autoptr (Cli) cli =
      start_with_status (fixture, status, "/fields/zero", CLI_COMMAND, "exit", "1", NULL);

  assert_int_equal (cli_wait (cli, CLI_MS), 1);
  append_status (all, status);
  g_autoptr (Cli) left = start_with_status (fixture, status, "/fields/zero", "/bin/sh", "-c",
                                            "sleep 600 & exit 0", NULL);
  assert_int_equal (cli_wait (left, CLI_MS), 0);
  append_status (all, status);
  append_views (fixture, all);
  append_doubt_and_loss (all);
  assert_true (g_file_set_contents (output, all->str, -1, NULL));
  g_autoptr (Cli) check = cli_start (CURATOR_SOURCE_DIR "/tests/cli/check_fields",
                                     CURATOR_SOURCE_DIR "/docs/zkflock.md", output, NULL);
  const int code = cli_wait (check, CLI_MS);
  g_autofree char *said = cli_stdout (check);
  g_autofree char *err = cli_stderr (check);
  if (code != 0)
    fail_msg ("%s%s", said, err);
}

SUITE ("status", fixture_start, fixture_stop)
