/* zkflock's exit codes, one test each, and the one line that goes with an error. */
#include "cli.h"

#include "support/net.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Runs to that code; stderr must be empty, or one line that begins with "zkflock: " and has
 * text. */
#define assert_run(code, text, ...)                                                                \
  do                                                                                               \
    {                                                                                              \
      g_autoptr (Cli) run_cli = cli_zkflock (__VA_ARGS__, NULL);                                   \
      assert_int_equal (cli_wait (run_cli, CLI_MS), (code));                                       \
      check_stderr (run_cli, (text));                                                              \
    }                                                                                              \
  while (0)

static void
check_stderr (Cli *cli, const char *text)
{
  g_autofree char *err = cli_stderr (cli);

  if (text == NULL)
    {
      assert_string_equal (err, "");
      return;
    }
  assert_true (g_str_has_prefix (err, "zkflock: "));
  assert_non_null (strstr (err, text));
  assert_ptr_equal (strchr (err, '\n'), err + strlen (err) - 1);
}

TEST (p37_commands_own_code)
{
  assert_run (0, NULL, fixture_server (fixture), "/own", CLI_COMMAND, "exit", "0");
  assert_run (7, NULL, fixture_server (fixture), "/own", CLI_COMMAND, "exit", "7");
  assert_run (255, NULL, fixture_server (fixture), "/own", CLI_COMMAND, "exit", "255");
}

TEST (shell_runs_a_string)
{
  assert_run (3, NULL, fixture_server (fixture), "/shell", "-c", "exit 3");
}

TEST (command_died_of_a_signal)
{
  assert_run (128 + SIGUSR1, NULL, fixture_server (fixture), "/died", CLI_COMMAND, "signal", "10");
}

/* Without a shell, PATH ends the options: what follows is the command's. */
TEST (options_stop_at_path)
{
  assert_run (127, "/stop: cannot run -n", fixture_server (fixture), "/stop", "-n", "true");
}

/* Waits behind the holder of the path until the time is over, and ends with that code. Where the
 * machine is so late that the time was over before zkflock stood in the queue, it says that nobody
 * answered, and waits once more. */
static void
assert_waits_in_vain (Fixture *fixture, int code, const char *path, const char *const *options)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  const char *const ends[][4] = { { ZKFLOCK, "-Z", fixture_server (fixture) }, { path, "true" } };
  gboolean was_queued = FALSE;

  for (int i = 0; i < 3; i++)
    for (const char *const *word = i == 1 ? options : ends[i / 2]; *word != NULL; word++)
      g_ptr_array_add (argv, (gpointer) *word);
  g_ptr_array_add (argv, NULL);
  while (!was_queued)
    {
      const gint64 before = wait_now_ms ();
      g_autoptr (Cli) cli = cli_start_strv ((char *const *) argv->pdata);
      int ended = -1;
      while (!was_queued && (ended = cli_wait (cli, 10)) == -1)
        was_queued = raw_zk_count_children (fixture->raw, path) == 2;
      ended = ended == -1 ? cli_wait (cli, CLI_MS) : ended;
      assert_true (ended == code || (!was_queued && ended == 69));
      assert_true (wait_now_ms () - before >= 3490);
      if (was_queued)
        check_stderr (cli, NULL);
    }
}

TEST (conflict_and_time_out)
{
  const char *server = fixture_server (fixture);
  G_GNUC_UNUSED g_autoptr (Cli) holder = cli_hold (fixture, "/busy", NULL);
  assert_run (1, NULL, server, "-n", "/busy", CLI_COMMAND, "exit", "0");
  assert_run (1, NULL, server, "-w", "0", "/busy", CLI_COMMAND, "exit", "0");
  assert_run (9, NULL, server, "-n", "-E", "9", "/busy", CLI_COMMAND, "exit", "0");
  assert_waits_in_vain (fixture, 1, "/busy", (const char *const[]){ "-w", "3.5", NULL });
}

/* As most users run it: without the right to make a control group, from a shell without further
 * descriptors. */
TEST (conflict_without_a_control_group)
{
  const char *server = fixture_server (fixture);
  G_GNUC_UNUSED g_autoptr (Cli) holder = cli_hold (fixture, "/plain", NULL);
  g_autoptr (Cli) other =
      cli_start ("/bin/sh", "-c",
                 "exec 3>&- 4>&- 5>&- 6>&- 7>&-\n"
                 "test \"$(id -u)\" != 0 || set -- setpriv --reuid=nobody "
                 "--regid=nogroup --clear-groups \"$@\"\n"
                 "exec \"$@\"",
                 "sh", ZKFLOCK, "-Z", server, "-n", "-E", "9", "/plain", "true", NULL);
  assert_int_equal (cli_wait (other, CLI_MS), 9);
}

/* flock's other names. A writer is one who excludes readers. */
TEST (names_of_flock)
{
  const char *server = fixture_server (fixture);
  G_GNUC_UNUSED g_autoptr (Cli) holder = cli_hold (fixture, "-e", "/flock", NULL);
  assert_run (9, NULL, server, "-s", "--nb", "-E", "9", "/flock", CLI_COMMAND, "exit", "0");
  assert_run (9, NULL, server, "-s", "-n", "-o", "--close", "-E", "9", "/flock", CLI_COMMAND,
              "exit", "0");
  assert_waits_in_vain (fixture, 9, "/flock",
                        (const char *const[]){ "-s", "--timeout", "3.5", "-E", "9", NULL });
}

TEST (options_of_the_environment)
{
  const char *server = fixture_server (fixture);
  G_GNUC_UNUSED g_autoptr (Cli) holder = cli_hold (fixture, "/environment", NULL);
  g_setenv ("ZKFLOCK_OPTIONS", "-n -E 8 --label 'two words'", TRUE);
  assert_run (8, NULL, server, "/environment", CLI_COMMAND, "exit", "0");
  assert_run (9, NULL, server, "-E", "9", "/environment", CLI_COMMAND, "exit", "0");
  g_setenv ("ZKFLOCK_OPTIONS", "-n /path", TRUE);
  assert_run (64, "ZKFLOCK_OPTIONS holds options only", server, "/environment", "true");
  g_setenv ("ZKFLOCK_OPTIONS", "'", TRUE);
  assert_run (64, "ZKFLOCK_OPTIONS", server, "/environment", "true");
  g_unsetenv ("ZKFLOCK_OPTIONS");
}

TEST (usage_errors)
{
  const char *server = fixture_server (fixture);

  assert_run (64, "PATH is missing", server);
  assert_run (64, "slash", server, "relative", "true");
  assert_run (64, "did you mean \"tree\"?", server, "list");
  assert_run (64, "did you mean \"doctor\"?", server, "docter", "/p");
  assert_run (64, "is no verb", server, "frobnicate", "true");
  assert_run (64, "Unknown option", server, "--frobnicate", "/p", "true");
  assert_run (64, "did you mean --shared?", server, "--shraed", "/p", "true");
  assert_run (64, "did you mean --label?", server, "--lable=me", "/p", "true");
  assert_run (64, "did you mean --nonblock?", server, "--non", "/p", "true");
  assert_run (64, "did you mean --iterations?", server, "top", "--iteration", "1", "/p");
  assert_run (64, "--paths applies to tree only", server, "who", "--paths", "/p");
  assert_run (64, "-u cannot exist here", server, "-u", "/p");
  assert_run (64, "-F cannot exist here", server, "-F", "/p", "true");
  assert_run (64, "exclude each other", server, "-s", "-x", "/p", "true");
  assert_run (64, "number of seconds", server, "-w", "soon", "/p", "true");
  assert_run (64, "from 1 to", server, "-N", "0", "/p", "true");
  assert_run (64, "exactly one STRING", server, "/p", "-c", "a", "b");
  assert_run (64, "twice", server, "--multi", "/p", "/p", "true");
  g_autofree char *label = g_strnfill (4097, 'x');
  assert_run (64, "at most 4096 bytes", server, "--label", label, "/p", "true");
  assert_run (64, "--on-suspend is one of", server, "--on-suspend=shrug", "/p", "true");
}

TEST (unreachable)
{
  g_autofree char *host = zk_server_new_host ();
  g_autofree char *address = g_strdup_printf ("%s:%d", host, zk_server_free_port (host));

  assert_run (69, "no server of", address, "--session-timeout", "1", "/p", CLI_COMMAND, "exit",
              "0");
  assert_run (69, "no server of", address, "-n", "--session-timeout", "1", "/p", "true");
  assert_run (69, "no server of", address, "who", "--session-timeout", "1", "/p");
}

/* The node is deleted under the command by a third party: that hold is nobody's business any
 * more. */
TEST (lock_lost)
{
  LOG log = cli_new_file ();
  g_autoptr (Cli) holder =
      cli_zkflock (fixture_server (fixture), "/lost", CLI_COMMAND, "beat", log, NULL);

  assert_true (cli_wait_lines (log, "BEAT", 1, CLI_MS));
  wait_ms (500);
  g_auto (GStrv) children = raw_zk_children (fixture->raw, "/lost");
  g_autofree char *node = g_strdup_printf ("/lost/%s", children[0]);
  assert_int_equal (raw_zk_delete (fixture->raw, node), ZOK);
  assert_int_equal (cli_wait (holder, CLI_MS), 75);
  g_autofree char *err = cli_stderr (holder);
  const char *warning = strstr (err, "zkflock: warning: /lost/");
  assert_ptr_equal (warning, err);
  assert_non_null (
      strstr (err, "was deleted by a third party: the hold is lost\nzkflock: /lost: lock lost"));
}

TEST (refused_by_acl)
{
  struct ACL entry = { .perms = 0x1f, .id = { .scheme = (char *) "digest", .id = (char *) "a:b" } };
  struct ACL_vector acl = { .count = 1, .data = &entry };

  /* Whoever wants to use this path has to be somebody that nobody is. */
  assert_int_equal (raw_zk_create (fixture->raw, "/walled", NULL, ZOO_PERSISTENT, NULL), ZOK);
  assert_int_equal (raw_zk_set_acl (fixture->raw, "/walled", &acl), ZOK);
  assert_run (77, "/walled", fixture_server (fixture), "/walled", CLI_COMMAND, "exit", "0");
}

TEST (not_executable_and_not_found)
{
  const char *server = fixture_server (fixture);

  assert_run (126, "/x: cannot run /etc/passwd", server, "/x", "/etc/passwd");
  assert_run (127, "/x: cannot run /no/such/program", server, "/x", "/no/such/program");
  assert_run (127, "/x: cannot run no-such-program", server, "/x", "no-such-program");
}

TEST (told_to_stop)
{
  static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };

  for (gsize i = 0; i < G_N_ELEMENTS (signals); i++)
    {
      g_autoptr (Cli) holder = cli_hold (fixture, "/told", NULL);
      kill (holder->pid, signals[i]);
      assert_int_equal (cli_wait (holder, CLI_MS), 128 + signals[i]);
      check_stderr (holder, NULL);
    }
}

/* The table of the documents has each code, and no other; 70 is what test_cli_kill ends with. */
TEST (the_table_in_the_documents)
{
  const char *server = fixture_server (fixture);
  g_autofree char *host = zk_server_new_host ();
  g_autofree char *nobody = g_strdup_printf ("%s:%d", host, zk_server_free_port (host));
  LOG log = cli_new_file ();
  G_GNUC_UNUSED g_autoptr (Cli) holder =
      cli_zkflock (server, "/table-busy", CLI_COMMAND, "beat", log, NULL);
  const struct
  {
    const char *code;
    const char *script; /* Z: zkflock */
  } rows[] = {
    { "1", "Z -n /table-busy true" },
    { "3", "Z who /table-free" },
    { "64", "Z --no-such-option /table true" },
    { "69", "Z -Z $NOBODY --session-timeout 1 /table true" },
    { "71", "prlimit --nofile=12 $0 -Z $1 /table true" },
    { "74", "Z who /table-busy >/dev/full" },
    /* Without a command, which may die of KILL so late that the code is 70. */
    { "75", "Z --max-hold 1 --hold /table" },
    { "76", "Z --tls-ca /no/such/file /table true" },
    { "77", "Z --auth-file /no/such/file /table true" },
    { "126", "Z /table /etc/passwd" },
    { "127", "Z /table /no/such/command" },
  };
  g_autofree char *text = NULL;
  int n_documented = 0;

  assert_true (cli_wait_lines (log, "BEAT", 1, CLI_MS));
  g_setenv ("NOBODY", nobody, TRUE);
  assert_true (g_file_get_contents (CURATOR_SOURCE_DIR "/docs/zkflock.md", &text, NULL, NULL));
  char *end = strstr (text, "| 128 + n |");
  assert_non_null (end);
  *end = '\0';
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *script = g_strdup_printf ("Z () { \"$zk\" -Z \"$hosts\" \"$@\"; }; "
                                                 "zk=$0 hosts=$1; %s",
                                                 rows[i].script);
      g_autofree char *row = g_strdup_printf ("\n| %s |", rows[i].code);
      g_autoptr (Cli) cli = cli_start ("/bin/sh", "-c", script, ZKFLOCK, server, NULL);
      const int code = cli_wait (cli, CLI_MS);
      g_autofree char *err = cli_stderr (cli);
      if (code != atoi (rows[i].code) || strstr (text, row) == NULL)
        fail_msg ("%s: %d, or no row in docs/zkflock.md: %s", rows[i].script, code, err);
    }
  for (char *at = strstr (text, "| exit code |"); (at = strstr (at, "\n| ")) != NULL; at++)
    n_documented += g_ascii_isdigit (at[3]) && !g_str_has_prefix (at + 3, "0 to");
  assert_int_equal (n_documented, G_N_ELEMENTS (rows) + 1);
  g_unsetenv ("NOBODY");
}

SUITE ("exit_codes", fixture_start, fixture_stop)
