/* Credentials come from a file that nobody else can read, and show up nowhere. */
#include "cli.h"

#define SECRET "opensesame"

static void
assert_refused (Fixture *fixture, const char *file, const char *why)
{
  g_autoptr (Cli) cli =
      cli_zkflock (fixture_server (fixture), "--auth-file", file, "/guarded", "true");

  cli_ends (cli, 77, why);
  cli_says_not (cli, SECRET);
  g_autofree char *err = cli_stderr (cli);
  assert_true (g_str_has_prefix (err, "zkflock: /guarded: auth file "));
}

TEST (open_files_are_refused)
{
  static const int modes[] = { 0644, 0640, 0602, 0610 };

  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++) {
    LOG file = cli_write_file ("digest:me:" SECRET "\n", -1, modes[i]);
    assert_refused (fixture, file, "other users have access");
  }
  assert_refused (fixture, "/no/such/file", "No such file");
  assert_refused (fixture, "/tmp", "not a regular file");
}

TEST (files_without_credentials_are_refused)
{
  static const char *const texts[] = { "", "# nothing\n", SECRET "\n", ":" SECRET "\n",
                                       "digest:\n" };

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++) {
    LOG file = cli_write_file (texts[i], -1, 0600);
    assert_refused (fixture, file, "lines of scheme:credentials");
  }
}

TEST (creator_owns_what_is_made)
{
  LOG file = cli_write_file ("# who we are\n\ndigest:me:" SECRET "\r\n", -1, 0600);
  g_autoptr (Cli) holder =
      cli_hold (fixture, "--verbose", "--auth-file", file, "--acl=creator", "/mine/deep");

  /* What the kernel shows of a process to everybody. */
  assert_true (cli_process_has (holder->pid, "cmdline", "--auth-file"));
  assert_false (cli_process_has (holder->pid, "cmdline", SECRET));
  /* The observer is somebody else: it can tell that the parents exist, and no more. */
  assert_true (raw_zk_exists (fixture->raw, "/mine/deep"));
  assert_int_equal (raw_zk_get (fixture->raw, "/mine", NULL, NULL), ZNOAUTH);
  assert_int_equal (raw_zk_get (fixture->raw, "/mine/deep", NULL, NULL), ZNOAUTH);
  cli_fails_with_line (fixture_server (fixture), 77, "/mine/deep", "-n", "/mine/deep", "true");
  cli_exits (fixture, 77, "who", "/mine/deep");
  cli_run_shows (fixture, 0, "1 holds", "who", "--auth-file", file, "/mine/deep");
  cli_close_stdin (holder);
  cli_ends (holder, 0, "granted");
  cli_says_not (holder, SECRET);
}

/* GLib's debug output is the noisiest there is. */
TEST (debug_logs_do_not_tell)
{
  LOG file = cli_write_file ("digest:me:" SECRET "\n", -1, 0600);

  g_setenv ("G_MESSAGES_DEBUG", "all", TRUE);
  g_autoptr (Cli) cli = cli_zkflock (fixture_server (fixture), "--verbose", "--auth-file", file,
                                     "--acl=creator", "/noisy", "true");
  g_unsetenv ("G_MESSAGES_DEBUG");
  cli_ends (cli, 0, NULL);
  cli_says_not (cli, SECRET);
  assert_false (cli_wait_text (cli->out, SECRET, 0));
}

SUITE ("secrets", fixture_start_slow, fixture_stop)
