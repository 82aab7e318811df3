/* Credentials come from a file that nobody else can read, and show up nowhere. */
#include "cli.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#define SECRET "opensesame"

static char *
auth_file (const char *text, int mode)
{
  char *file = cli_new_file ();
  assert_true (g_file_set_contents (file, text, -1, NULL));
  assert_int_equal (g_chmod (file, mode), 0);
  return file;
}

static void
refused (Fixture *fixture, const char *file, const char *why)
{
  g_autoptr (Cli) cli = cli_zkflock (fixture_server (fixture), "--auth-file", file, "/guarded",
                                     CLI_COMMAND, "exit", "0", NULL);

  assert_int_equal (cli_wait (cli, CLI_MS), 77);
  g_autofree char *err = cli_stderr (cli);
  assert_true (g_str_has_prefix (err, "zkflock: /guarded: auth file "));
  assert_non_null (strstr (err, why));
  assert_null (strstr (err, SECRET));
}

TEST (open_files_are_refused)
{
  static const int modes[] = { 0644, 0640, 0602, 0610 };

  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      g_autofree char *file = auth_file ("digest:me:" SECRET "\n", modes[i]);
      refused (fixture, file, "other users have access");
      g_unlink (file);
    }
  refused (fixture, "/no/such/file", "No such file");
  refused (fixture, "/tmp", "not a regular file");
}

TEST (files_without_credentials_are_refused)
{
  static const char *const texts[] = { "", "# nothing\n", SECRET "\n", ":" SECRET "\n",
                                       "digest:\n" };

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autofree char *file = auth_file (texts[i], 0600);
      refused (fixture, file, "lines of scheme:credentials");
      g_unlink (file);
    }
}

/* What the kernel shows of a process to everybody. */
static void
assert_not_shown (pid_t pid)
{
  g_autofree char *file = g_strdup_printf ("/proc/%d/cmdline", (int) pid);
  g_autofree char *text = NULL;
  gsize length = 0;

  assert_true (g_file_get_contents (file, &text, &length, NULL));
  assert_null (memmem (text, length, SECRET, strlen (SECRET)));
}

TEST (creator_owns_what_is_made)
{
  g_autofree char *file = auth_file ("# who we are\n\ndigest:me:" SECRET "\r\n", 0600);
  g_autoptr (Cli) holder = cli_zkflock (fixture_server (fixture), "--verbose", "--auth-file", file,
                                        "--acl=creator", "/mine/deep", NULL);
  struct ACL_vector acl = { 0 };

  assert_true (cli_wait_lines (holder->out, "", 1, CLI_MS));
  assert_not_shown (holder->pid);
  /* The observer is somebody else: it can tell that the parents exist, and no more. */
  assert_true (raw_zk_exists (fixture->raw, "/mine/deep"));
  assert_int_equal (raw_zk_get (fixture->raw, "/mine", NULL, NULL), ZNOAUTH);
  assert_int_equal (raw_zk_get (fixture->raw, "/mine/deep", NULL, NULL), ZNOAUTH);
  g_free (cli_run (fixture, 77, "-n", "/mine/deep", CLI_COMMAND, "exit", "0", NULL));
  g_free (cli_run (fixture, 77, "who", "/mine/deep", NULL));
  cli_run_shows (fixture, 0, "1 holds", "who", "--auth-file", file, "/mine/deep", NULL);
  cli_close_stdin (holder);
  assert_int_equal (cli_wait (holder, CLI_MS), 0);
  g_autofree char *err = cli_stderr (holder);
  assert_non_null (strstr (err, "granted"));
  assert_null (strstr (err, SECRET));
  deallocate_ACL_vector (&acl);
  g_unlink (file);
}

/* GLib's debug output is the noisiest there is. */
TEST (debug_logs_do_not_tell)
{
  g_autofree char *file = auth_file ("digest:me:" SECRET "\n", 0600);

  g_setenv ("G_MESSAGES_DEBUG", "all", TRUE);
  g_autoptr (Cli) cli = cli_zkflock (fixture_server (fixture), "--verbose", "--auth-file", file,
                                     "--acl=creator", "/noisy", CLI_COMMAND, "exit", "0", NULL);
  const int code = cli_wait (cli, CLI_MS);
  g_unsetenv ("G_MESSAGES_DEBUG");
  g_unlink (file);
  assert_int_equal (code, 0);
  g_autofree char *err = cli_stderr (cli);
  g_autofree char *out = cli_stdout (cli);
  assert_null (strstr (err, SECRET));
  assert_null (strstr (out, SECRET));
}

SUITE ("secrets", fixture_start, fixture_stop)
