/* zkflock where people use it: top in a terminal of 80 columns, and the command under a shell with
 * job control. */
#include "cli.h"

#include "cli/terminal.h"

#include <signal.h>
#include <string.h>

#define LONG_PATH "/top/a/path/that/is/much/too/long/for/its/column/nightly"

#define top_start(fixture, path)                                                                   \
  terminal_start (ZKFLOCK, "-Z", fixture_server (fixture), "top", "--interval", "0.1", (path))

static Cli *
waiter_start (Fixture *fixture, const char *label, const char *path, int n)
{
  Cli *waiter = cli_zkflock (fixture_server (fixture), "--label", label, path);
  assert_true (raw_zk_wait_children (fixture->raw, path, n, CLI_MS));
  return waiter;
}

/* Names too long for their columns, in a picture that fits. */
TEST (top_fits_into_80_columns)
{
  G_GNUC_UNUSED g_autoptr (Cli) holder =
      cli_hold (fixture, "--label", "billing@a-host-with-quite-a-long-name:4711", LONG_PATH);
  g_autoptr (Cli) first = waiter_start (fixture, "first@db1:88", LONG_PATH, 2);
  G_GNUC_UNUSED g_autoptr (Cli) second = waiter_start (fixture, "second@db2:89", LONG_PATH, 3);
  G_GNUC_UNUSED g_autoptr (Cli) other = cli_hold (fixture, "--label", "deploy", "/top/short");
  g_autoptr (Terminal) terminal = top_start (fixture, "/top");

  terminal_shows (terminal, "2 locks, 2 held, 2 waiting");
  terminal_shows (terminal, "/top/short");
  assert_true (terminal->is_alternate);
  assert_int_equal (terminal->n_scrolled, 0);
  g_autofree char *row = terminal_get_row (terminal, 2);
  terminal_has_row (terminal, 1, "LOCK ", " QUEUE");
  /* The end of the path and the start of the label are what tells them from others. */
  cli_shows (row, "/nightly mutex");
  cli_shows (row, " billing@a-host");
  cli_shows (row, " 2 1 first@db1");
  assert_int_equal (g_utf8_strlen (row, -1), TERMINAL_COLUMNS);
  terminal_has_row (terminal, 3, "/top/short ", "");
  g_autofree char *below = terminal_get_row (terminal, 4);
  assert_string_equal (below, "");
  assert_true (terminal->has_colours);

  /* It is live. */
  cli_close_stdin (first);
  kill (first->pid, SIGTERM);
  cli_ends (first, 128 + SIGTERM, NULL);
  terminal_shows (terminal, "2 locks, 2 held, 1 waiting");
  terminal_type (terminal, "q");
  terminal_ends (terminal, 0);
}

/* One lock alone has a row for everybody in it. */
TEST (top_of_one_lock_shows_everybody)
{
  G_GNUC_UNUSED g_autoptr (Cli) holder = cli_hold (fixture, "--label", "first", "/alone");
  G_GNUC_UNUSED g_autoptr (Cli) waiter = waiter_start (fixture, "second", "/alone", 2);
  g_setenv ("NO_COLOR", "1", TRUE);
  g_autoptr (Terminal) terminal = top_start (fixture, "/alone");
  g_unsetenv ("NO_COLOR");

  terminal_shows (terminal, "1 lock, 1 held, 1 waiting");
  terminal_shows (terminal, "    1  mutex ");
  terminal_has_row (terminal, 4, "    *  mutex ", "00000");
  terminal_has_row (terminal, 5, "    1  mutex ", "00001");
  terminal_shows (terminal, " first ");
  terminal_shows (terminal, " second ");
  assert_false (terminal->has_colours);
  kill (terminal->pid, SIGINT);
  terminal_ends (terminal, 128 + SIGINT);
}

/* A shell as people have it, without line editing. */
static Terminal *
shell_start (Fixture *fixture)
{
  g_autofree char *hosts = g_strconcat ("ZKFLOCK_HOSTS=", fixture_server (fixture), NULL);
  Terminal *shell = terminal_start ("/usr/bin/env", "PS1=$ ", "HISTFILE=", hosts, "/bin/bash",
                                    "--norc", "--noprofile", "--noediting", "-i");
  terminal_prompts (shell);
  return shell;
}

static void shell_run (Terminal *shell, const char *format, ...) G_GNUC_PRINTF (2, 3);

static void
shell_run (Terminal *shell, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *line = g_strdup_vprintf (format, args);
  va_end (args);
  terminal_type (shell, line);
  terminal_type (shell, "\n");
}

/* The shell has the terminal back, and answers with that word and the exit code. What is typed is
 * shown, too, and must not look like the answer. */
static void
assert_prompt (Terminal *shell, const char *answer)
{
  const char *rest = answer + 1;

  shell_run (shell, "result=$?; clear; echo '%c''%.*s'=$result", *answer, (int) strcspn (rest, "="),
             rest);
  terminal_shows (shell, answer);
}

static void
assert_key (Terminal *shell, const char *log, const char *key)
{
  g_autofree char *line = g_strdup_printf ("KEY %s", key);

  terminal_type (shell, key);
  terminal_type (shell, "\n");
  if (!cli_wait_lines (log, line, 1, CLI_MS)) {
    g_autofree char *picture = terminal_get_picture (shell);
    fail_msg ("the command does not get \"%s\":\n%s", key, picture);
  }
}

/* The shell drops what is typed between that and its next prompt. */
static void
type_ctrl_c (Terminal *shell)
{
  terminal_type (shell, "\x03");
  terminal_shows (shell, "^C");
  terminal_prompts (shell);
}

TEST (ctrl_z_and_ctrl_c)
{
  LOG log = cli_new_file ();
  g_autoptr (Terminal) shell = shell_start (fixture);

  shell_run (shell, ZKFLOCK " --session-timeout 40 /keys " CLI_COMMAND " keys %s", log);
  assert_true (cli_wait_lines (log, "READY 1", 1, CLI_MS));
  assert_key (shell, log, "hello");
  terminal_type (shell, "\x1a");
  terminal_shows (shell, "Stopped");
  assert_prompt (shell, "stopped=");
  shell_run (shell, "fg");
  assert_key (shell, log, "again");
  type_ctrl_c (shell);
  assert_prompt (shell, "interrupted=130");
}

/* As without zkflock: who dies of Ctrl-C takes the script along. */
TEST (ctrl_c_ends_the_script_too)
{
  LOG log = cli_new_file ();
  LOG after = cli_new_file ();
  g_autoptr (Terminal) shell = shell_start (fixture);

  shell_run (shell,
             "bash -c '" ZKFLOCK " /script " CLI_COMMAND " keys %s; " CLI_COMMAND " turn %s 0'",
             log, after);
  assert_key (shell, log, "in");
  type_ctrl_c (shell);
  assert_prompt (shell, "ended=130");
  assert_false (g_file_test (after, G_FILE_TEST_EXISTS));
  cli_exits (fixture, 0, "-n", "/script", "true");
}

TEST (background_to_foreground)
{
  LOG log = cli_new_file ();
  g_autoptr (Terminal) shell = shell_start (fixture);

  shell_run (shell, ZKFLOCK " --session-timeout 40 /back " CLI_COMMAND " keys %s &", log);
  assert_true (cli_wait_lines (log, "READY 0", 1, CLI_MS));
  /* It reads, may not, and stops; the shell tells so at its next prompt. */
  for (int i = 0; i < CLI_MS / 100 && !terminal_wait_text (shell, "Stopped", 100); i++)
    shell_run (shell, "jobs");
  terminal_shows (shell, "Stopped");
  shell_run (shell, "fg");
  assert_key (shell, log, "late");
  terminal_type (shell, "\x04");
  assert_prompt (shell, "over=0");
}

/* The other end of the pipe may need the terminal, so the command gets it only when it reads. */
TEST (command_in_a_pipeline)
{
  LOG log = cli_new_file ();
  g_autoptr (Terminal) shell = shell_start (fixture);

  shell_run (shell, ZKFLOCK " /pipe " CLI_COMMAND " keys %s | cat", log);
  assert_true (cli_wait_lines (log, "READY 0", 1, CLI_MS));
  assert_key (shell, log, "piped");
  terminal_type (shell, "\x04");
  assert_prompt (shell, "closed=");
}

/* No shell looks after the group here, so the kernel refuses to stop it: the command goes on. */
TEST (ctrl_z_without_a_shell)
{
  LOG log = cli_new_file ();
  g_autoptr (Terminal) terminal =
      terminal_start (ZKFLOCK, "-Z", fixture_server (fixture), "/orphan", CLI_COMMAND, "keys", log);

  assert_key (terminal, log, "one");
  terminal_type (terminal, "\x1a");
  assert_key (terminal, log, "two");
  terminal_type (terminal, "\x04");
  terminal_ends (terminal, 0);
}

int
main (void)
{
  g_setenv ("TERM", "xterm", TRUE);
  return suite_run ("terminal", fixture_start_slow, fixture_stop);
}
