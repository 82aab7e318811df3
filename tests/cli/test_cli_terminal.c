/* zkflock where people use it: top in a terminal of 80 columns, and the command under a shell with
 * job control. */
#include "cli.h"

#include "cli/terminal.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#define LONG_PATH "/top/a/path/that/is/much/too/long/for/its/column/nightly"

static void
assert_shows (Terminal *terminal, const char *text)
{
  if (!terminal_wait_text (terminal, text, CLI_MS))
    {
      g_autofree char *picture = terminal_get_picture (terminal);
      fail_msg ("the terminal does not show \"%s\":\n%s", text, picture);
    }
}

static Terminal *
top_start (Fixture *fixture, const char *path)
{
  const char *const argv[] = { ZKFLOCK, "-Z", fixture_server (fixture), "top", "--interval", "0.1",
                               path,    NULL };
  return terminal_start ((char *const *) argv);
}

static Cli *
holder_start (Fixture *fixture, const char *label, const char *path)
{
  Cli *holder = cli_hold (fixture, "--label", label, path, NULL);
  return holder;
}

static Cli *
waiter_start (Fixture *fixture, const char *label, const char *path, guint n)
{
  Cli *waiter = cli_zkflock (fixture_server (fixture), "--label", label, path, NULL);
  assert_true (raw_zk_wait_children (fixture->raw, path, (int) n, CLI_MS));
  return waiter;
}

/* The server stops under it: the age of the data is shown, and goes when there is an answer. */
TEST (top_marks_old_data)
{
  G_GNUC_UNUSED g_autoptr (Cli) holder = holder_start (fixture, "somebody", "/old/one");
  g_autoptr (Terminal) terminal = top_start (fixture, "/old");

  assert_shows (terminal, "/old/one");
  zk_server_freeze (fixture->server);
  const gboolean marked = terminal_wait_text (terminal, "no answer for ", CLI_MS);
  zk_server_thaw (fixture->server);
  assert_true (marked);
  G_GNUC_UNUSED g_autoptr (Cli) other = holder_start (fixture, "another", "/old/two");
  assert_shows (terminal, "/old/two");
  g_autofree char *picture = terminal_get_picture (terminal);
  assert_null (strstr (picture, "no answer"));
}

/* More locks than rows. */
TEST (top_scrolls)
{
  g_autoptr (Terminal) terminal = NULL;

  for (int i = 0; i < 40; i++)
    {
      g_autofree char *path = g_strdup_printf ("/many/lock-%02d", i);
      g_autofree char *node =
          g_strconcat (path, "/_c_00000000-0000-4000-8000-000000000000-lock-", NULL);
      raw_zk_make_path (fixture->raw, path);
      raw_zk_create (fixture->raw, node, NULL, ZOO_PERSISTENT_SEQUENTIAL, NULL);
    }
  terminal = top_start (fixture, "/many");
  assert_shows (terminal, "/many/lock-00");
  g_autofree char *first = terminal_get_picture (terminal);
  assert_null (strstr (first, "/many/lock-39"));
  terminal_type (terminal, "   ");
  assert_shows (terminal, "/many/lock-39");
  terminal_type (terminal, "g");
  assert_shows (terminal, "/many/lock-00");
  terminal_type (terminal, "\x1b[6~\x1b[B");
  assert_shows (terminal, "/many/lock-20");
}

/* Names too long for their columns, in a picture that fits. */
TEST (top_fits_into_80_columns)
{
  G_GNUC_UNUSED g_autoptr (Cli) holder =
      holder_start (fixture, "billing@a-host-with-quite-a-long-name:4711", LONG_PATH);
  g_autoptr (Cli) first = waiter_start (fixture, "first@db1:88", LONG_PATH, 2);
  G_GNUC_UNUSED g_autoptr (Cli) second = waiter_start (fixture, "second@db2:89", LONG_PATH, 3);
  G_GNUC_UNUSED g_autoptr (Cli) other = holder_start (fixture, "deploy", "/top/short");
  g_autoptr (Terminal) terminal = top_start (fixture, "/top");
  int status;

  assert_shows (terminal, "2 locks, 2 held, 2 waiting");
  assert_shows (terminal, "/top/short");
  assert_true (terminal_is_alternate (terminal));
  assert_int_equal (terminal_get_n_scrolled (terminal), 0);
  g_autofree char *picture = terminal_get_picture (terminal);
  g_autofree char *titles = terminal_get_row (terminal, 1);
  g_autofree char *row = terminal_get_row (terminal, 2);
  g_autofree char *next = terminal_get_row (terminal, 3);
  g_autofree char *below = terminal_get_row (terminal, 4);
  print_message ("%s", picture);
  assert_true (g_str_has_prefix (titles, "LOCK "));
  assert_true (g_str_has_suffix (titles, " QUEUE"));
  /* The end of the path and the start of the label are what tells them from others. */
  assert_non_null (strstr (row, "/nightly mutex"));
  assert_non_null (strstr (row, " billing@a-host"));
  assert_non_null (strstr (row, " 2 1 first@db1"));
  assert_int_equal (g_utf8_strlen (row, -1), TERMINAL_COLUMNS);
  assert_true (g_str_has_prefix (next, "/top/short "));
  assert_string_equal (below, "");
  assert_true (terminal_has_colours (terminal));

  /* It is live. */
  cli_close_stdin (first);
  kill (first->pid, SIGTERM);
  assert_int_equal (cli_wait (first, CLI_MS), 128 + SIGTERM);
  assert_shows (terminal, "2 locks, 2 held, 1 waiting");
  terminal_type (terminal, "q");
  assert_true (terminal_wait_end (terminal, CLI_MS, &status));
  assert_true (WIFEXITED (status) && WEXITSTATUS (status) == 0);
  assert_false (terminal_is_alternate (terminal));
}

/* One lock alone has a row for everybody in it. */
TEST (top_of_one_lock_shows_everybody)
{
  G_GNUC_UNUSED g_autoptr (Cli) holder = holder_start (fixture, "first", "/alone");
  G_GNUC_UNUSED g_autoptr (Cli) waiter = waiter_start (fixture, "second", "/alone", 2);
  g_setenv ("NO_COLOR", "1", TRUE);
  g_autoptr (Terminal) terminal = top_start (fixture, "/alone");
  g_unsetenv ("NO_COLOR");
  int status;

  assert_shows (terminal, "1 lock, 1 held, 1 waiting");
  assert_shows (terminal, "    1  mutex ");
  g_autofree char *first = terminal_get_row (terminal, 4);
  g_autofree char *second = terminal_get_row (terminal, 5);
  assert_true (g_str_has_prefix (first, "    *  mutex "));
  assert_non_null (strstr (first, " first "));
  assert_true (g_str_has_suffix (first, "00000"));
  assert_non_null (strstr (second, " second "));
  assert_true (g_str_has_suffix (second, "00001"));
  assert_false (terminal_has_colours (terminal));
  kill (terminal_get_pid (terminal), SIGINT);
  assert_true (terminal_wait_end (terminal, CLI_MS, &status));
  assert_true (WIFEXITED (status) && WEXITSTATUS (status) == 128 + SIGINT);
  assert_false (terminal_is_alternate (terminal));
}

static void
assert_at_prompt (Terminal *shell)
{
  if (!terminal_wait_prompt (shell, "$", CLI_MS))
    {
      g_autofree char *picture = terminal_get_picture (shell);
      fail_msg ("no prompt:\n%s", picture);
    }
}

/* A shell as people have it, without line editing. */
static Terminal *
shell_start (Fixture *fixture)
{
  static const char *const argv[] = { "/bin/bash",   "--norc", "--noprofile",
                                      "--noediting", "-i",     NULL };

  g_setenv ("PS1", "$ ", TRUE);
  g_setenv ("HISTFILE", "", TRUE);
  g_setenv ("ZKFLOCK_HOSTS", fixture_server (fixture), TRUE);
  Terminal *shell = terminal_start ((char *const *) argv);
  g_unsetenv ("ZKFLOCK_HOSTS");
  g_unsetenv ("HISTFILE");
  g_unsetenv ("PS1");
  assert_at_prompt (shell);
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

/* The shell has the terminal back, and answers. What is typed is shown, too, and must not look like
 * the answer. */
static void
assert_prompt (Terminal *shell, const char *word)
{
  shell_run (shell, "result=$?; clear; echo '%c''%s'=$result", *word, word + 1);
  g_autofree char *text = g_strdup_printf ("%s=", word);
  assert_shows (shell, text);
}

static void
assert_key (Terminal *shell, const char *log, const char *key)
{
  g_autofree char *line = g_strdup_printf ("KEY %s", key);

  terminal_type (shell, key);
  terminal_type (shell, "\n");
  if (!cli_wait_lines (log, line, 1, CLI_MS))
    {
      g_autofree char *picture = terminal_get_picture (shell);
      fail_msg ("the command does not get \"%s\":\n%s", key, picture);
    }
}

/* The shell drops what is typed between that and its next prompt. */
static void
type_ctrl_c (Terminal *shell)
{
  terminal_type (shell, "\x03");
  assert_shows (shell, "^C");
  assert_at_prompt (shell);
}

TEST (ctrl_z_and_ctrl_c)
{
  LOG log = cli_new_file ();
  g_autoptr (Terminal) shell = shell_start (fixture);

  shell_run (shell, ZKFLOCK " --session-timeout 10 /keys " CLI_COMMAND " keys %s", log);
  assert_true (cli_wait_lines (log, "READY 1", 1, CLI_MS));
  assert_key (shell, log, "hello");
  terminal_type (shell, "\x1a");
  assert_shows (shell, "Stopped");
  assert_prompt (shell, "stopped");
  shell_run (shell, "fg");
  assert_key (shell, log, "again");
  type_ctrl_c (shell);
  assert_prompt (shell, "interrupted");
  assert_shows (shell, "interrupted=130");
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
  assert_prompt (shell, "ended");
  assert_shows (shell, "ended=130");
  assert_false (g_file_test (after, G_FILE_TEST_EXISTS));
  g_free (cli_run (fixture, 0, "-n", "/script", CLI_COMMAND, "exit", "0", NULL));
}

TEST (background_to_foreground)
{
  LOG log = cli_new_file ();
  g_autoptr (Terminal) shell = shell_start (fixture);

  shell_run (shell, ZKFLOCK " --session-timeout 10 /back " CLI_COMMAND " keys %s &", log);
  assert_true (cli_wait_lines (log, "READY 0", 1, CLI_MS));
  /* It reads, may not, and stops; the shell tells so at its next prompt. */
  for (int i = 0; i < CLI_MS / 100 && !terminal_wait_text (shell, "Stopped", 100); i++)
    shell_run (shell, "jobs");
  assert_shows (shell, "Stopped");
  shell_run (shell, "fg");
  assert_key (shell, log, "late");
  terminal_type (shell, "\x04");
  assert_prompt (shell, "over");
  assert_shows (shell, "over=0");
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
  assert_prompt (shell, "closed");
}

/* No shell looks after the group here, so the kernel refuses to stop it: the command goes on. */
TEST (ctrl_z_without_a_shell)
{
  LOG log = cli_new_file ();
  const char *const argv[] = { ZKFLOCK,   "-Z",        fixture_server (fixture),
                               "/orphan", CLI_COMMAND, "keys",
                               log,       NULL };
  g_autoptr (Terminal) terminal = terminal_start ((char *const *) argv);
  int status;

  assert_key (terminal, log, "one");
  terminal_type (terminal, "\x1a");
  assert_key (terminal, log, "two");
  terminal_type (terminal, "\x04");
  assert_true (terminal_wait_end (terminal, CLI_MS, &status));
  assert_true (WIFEXITED (status) && WEXITSTATUS (status) == 0);
}

int
main (void)
{
  g_setenv ("TERM", "xterm", TRUE);
  return suite_run ("terminal", fixture_start, fixture_stop);
}
