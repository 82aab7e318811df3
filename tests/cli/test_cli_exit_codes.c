/* zkflock's exit codes, one test each, and the one line that goes with an error. */
#include "cli.h"

#include "support/net.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In silence. */
TEST (p37_commands_own_code)
{
  static const struct
  {
    int code;
    const char *words[3];
  } rows[] = {
    { 0, { CLI_COMMAND, "exit", "0" } },
    { 7, { CLI_COMMAND, "exit", "7" } },
    { 255, { CLI_COMMAND, "exit", "255" } },
    { 3, { "-c", "exit 3" } }, /* by the shell */
    { 128 + SIGUSR1, { CLI_COMMAND, "signal", "10" } },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    cli_fails (fixture, rows[i].code, "", "/own", rows[i].words[0], rows[i].words[1],
               rows[i].words[2]);
}

/* Waits behind the holder of the path until the time is over. Where the machine is so late that the
 * time was over before zkflock stood in the queue, it says that nobody answered, and waits once
 * more. */
TEST (a_wait_ends_at_its_time)
{
  G_GNUC_UNUSED g_autoptr (Cli) holder = cli_hold (fixture, "-e", "/flock");
  gboolean was_queued = FALSE;

  while (!was_queued) {
    const gint64 before = wait_now_ms ();
    g_autoptr (Cli) cli = cli_zkflock (fixture_server (fixture), "-s", "--timeout", "9.5", "-E",
                                       "9", "/flock", "true");
    while (!was_queued && cli_wait (cli, 10) == -1)
      was_queued = raw_zk_count_children (fixture->raw, "/flock") == 2;
    const int code = cli_wait (cli, CLI_MS);
    assert_true (code == 9 || (!was_queued && code == 69));
    assert_true (wait_now_ms () - before >= 9490);
    if (was_queued)
      cli_ends (cli, 9, "");
  }
}

/* As most users run it: without the right to make a control group, from a shell without further
 * descriptors. */
TEST (conflict_without_a_control_group)
{
  const char *server = fixture_server (fixture);
  G_GNUC_UNUSED g_autoptr (Cli) holder = cli_hold (fixture, "/plain");
  g_autoptr (Cli) other =
      cli_start ("/bin/sh", "-c",
                 "exec 3>&- 4>&- 5>&- 6>&- 7>&-\n"
                 "test \"$(id -u)\" != 0 || set -- setpriv --reuid=nobody "
                 "--regid=nogroup --clear-groups \"$@\"\n"
                 "exec \"$@\"",
                 "sh", ZKFLOCK, "-Z", server, "-n", "-E", "9", "/plain", "true");
  cli_ends (other, 9, NULL);
}

/* flock's names, too, and options of the environment. A writer is one who excludes readers. */
TEST (options_of_a_try)
{
  static const struct
  {
    int code;
    const char *environment; /* ZKFLOCK_OPTIONS */
    const char *words[5];
  } rows[] = {
    { 1, "", { "-n" } },
    { 1, "", { "-w", "0" } },
    { 9, "", { "-n", "-E", "9" } },
    { 9, "", { "-nE9" } },
    { 9, "", { "-nE", "9" } },
    { 9, "", { "-E9", "-w0" } },
    { 9, "", { "--nb", "-E", "9" } },
    { 9, "", { "-n", "-o", "--close", "-E", "9" } },
    { 8, "-n -E 8 --label 'two words'", { NULL } },
    { 9, "-n -E 8 --label 'two words'", { "-E", "9" } },
  };
  G_GNUC_UNUSED g_autoptr (Cli) holder = cli_hold (fixture, "-e", "/try");

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    const char *const *words = rows[i].words;
    g_setenv ("ZKFLOCK_OPTIONS", rows[i].environment, TRUE);
    cli_fails (fixture, rows[i].code, "", "-s", words[0], words[1], words[2], words[3], words[4],
               "/try", "true");
  }
  g_unsetenv ("ZKFLOCK_OPTIONS");
}

static char too_long[4098];

TEST (usage_errors)
{
  static const struct
  {
    const char *mistake;
    const char *words[4];
    const char *environment; /* ZKFLOCK_OPTIONS */
  } rows[] = {
    { "ZKFLOCK_OPTIONS holds options only", { "/environment", "true" }, "-n /path" },
    { "ZKFLOCK_OPTIONS", { "/environment", "true" }, "'" },
    { "--connect-timeout must be", { "--connect-timeout", "0", "/p", "true" } },
    { "number of seconds", { "--connect-timeout", "soon", "/p", "true" } },
    { "--max-hold must be", { "--max-hold", "0", "/p", "true" } },
    { "number of seconds", { "--max-hold", "soon", "/p", "true" } },
    { "must not be longer", { "--max-hold=1", "--min-hold=2", "/p", "true" } },
    { "--min-hold", { "--min-hold", "2", "/p" } },
    { "--status-fd", { "--status-fd", "77", "/p", "true" } },
    { "--status-fd", { "--status-fd", "-1", "/p", "true" } },
    { "--status-fd", { "--status-fd", "three", "/p", "true" } },
    { "such as an emoji", { "/\xf0\x9f\x98\x80", "true" } },
    { "a control character", { "/a\tb", "true" } },
    { "PATH is missing", { NULL } },
    { "slash", { "relative", "true" } },
    { "did you mean \"tree\"?", { "list" } },
    { "did you mean \"doctor\"?", { "docter", "/p" } },
    { "is no verb", { "frobnicate", "true" } },
    { "Unknown option", { "--frobnicate", "/p", "true" } },
    { "did you mean --shared?", { "--shraed", "/p", "true" } },
    { "did you mean --label?", { "--lable=me", "/p", "true" } },
    { "did you mean --nonblock?", { "--non", "/p", "true" } },
    { "did you mean --iterations?", { "top", "--iteration", "1", "/p" } },
    { "--paths applies to tree only", { "who", "--paths", "/p" } },
    { "-u cannot exist here", { "-u", "/p" } },
    { "-F cannot exist here", { "-F", "/p", "true" } },
    { "exclude each other", { "-s", "-x", "/p", "true" } },
    { "number of seconds", { "-w", "soon", "/p", "true" } },
    { "from 1 to", { "-N", "0", "/p", "true" } },
    { "exactly one STRING", { "/p", "-c", "a", "b" } },
    { "twice", { "--multi", "/p", "/p", "true" } },
    { "at most 4096 bytes", { "--label", too_long, "/p", "true" } },
    { "--on-suspend is one of", { "--on-suspend=shrug", "/p", "true" } },
  };

  memset (too_long, 'x', sizeof too_long - 1);
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    const char *const *words = rows[i].words;
    g_setenv ("ZKFLOCK_OPTIONS", rows[i].environment != NULL ? rows[i].environment : "", TRUE);
    cli_fails_with_line (fixture_server (fixture), 64, rows[i].mistake, words[0], words[1],
                         words[2], words[3]);
  }
  g_unsetenv ("ZKFLOCK_OPTIONS");
}

/* The node is deleted under the command by a third party: that hold is nobody's business any
 * more. */
TEST (lock_lost)
{
  g_autoptr (Cli) holder = cli_zkflock (fixture_server (fixture), "/lost", COMMAND ("beat"));

  cli_beats (holder, 1);
  wait_ms (500);
  g_auto (GStrv) children = raw_zk_children (fixture->raw, "/lost");
  assert_non_null (children);
  g_autofree char *node = g_strdup_printf ("/lost/%s", children[0]);
  assert_int_equal (raw_zk_delete (fixture->raw, node), ZOK);
  cli_ends (holder, 75,
            "was deleted by a third party: the hold is lost\nzkflock: /lost: lock lost");
  g_autofree char *err = cli_stderr (holder);
  assert_true (g_str_has_prefix (err, "zkflock: warning: /lost/"));
}

/* Without a shell, PATH ends the options: what follows is the command's. */
TEST (not_executable_and_not_found)
{
  static const char *const programs[] = { "/etc/passwd", "/no/such/program", "no-such-program",
                                          "-n" };

  for (gsize i = 0; i < G_N_ELEMENTS (programs); i++) {
    g_autofree char *text = g_strdup_printf ("/x: cannot run %s", programs[i]);
    cli_fails_with_line (fixture_server (fixture), i == 0 ? 126 : 127, text, "/x", programs[i],
                         "true");
  }
}

TEST (told_to_stop)
{
  static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };

  for (gsize i = 0; i < G_N_ELEMENTS (signals); i++) {
    g_autoptr (Cli) holder = cli_hold (fixture, "/told");
    kill (holder->pid, signals[i]);
    cli_ends (holder, 128 + signals[i], "");
  }
}

/* The table of the documents has each code, and no other; 70 is what test_cli_kill ends with. */
TEST (the_table_in_the_documents)
{
  const char *server = fixture_server (fixture);
  g_autofree char *nobody = cli_unused_address ();
  G_GNUC_UNUSED g_autoptr (Cli) holder = cli_zkflock (server, "/table-busy", COMMAND ("beat"));
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

  cli_beats (holder, 1);
  g_setenv ("NOBODY", nobody, TRUE);
  assert_true (g_file_get_contents (CURATOR_SOURCE_DIR "/docs/zkflock.md", &text, NULL, NULL));
  char *end = strstr (text, "| 128 + n |");
  assert_non_null (end);
  *end = '\0';
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autofree char *script = g_strdup_printf ("Z () { \"$zk\" -Z \"$hosts\" \"$@\"; }; "
                                               "zk=$0 hosts=$1; %s",
                                               rows[i].script);
    g_autofree char *row = g_strdup_printf ("\n| %s |", rows[i].code);
    g_autoptr (Cli) cli = cli_start ("/bin/sh", "-c", script, ZKFLOCK, server);
    print_message ("%s\n", rows[i].script);
    cli_ends (cli, atoi (rows[i].code), NULL);
    assert_non_null (strstr (text, row));
  }
  for (char *at = strstr (text, "| exit code |"); (at = strstr (at, "\n| ")) != NULL; at++)
    n_documented += g_ascii_isdigit (at[3]) && !g_str_has_prefix (at + 3, "0 to");
  assert_int_equal (n_documented, G_N_ELEMENTS (rows) + 1);
  g_unsetenv ("NOBODY");
}

SUITE ("exit_codes", fixture_start_slow, fixture_stop)
