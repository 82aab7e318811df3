/* What zkflock says, and to whom: input that has ended, unknown users, lost servers, options of
 * other verbs, a lock inside the same lock. */
#include "cli.h"

#include <signal.h>
#include <string.h>

static void
assert_says (Cli *cli, const char *text)
{
  g_autofree char *err = cli_stderr (cli);
  if (strstr (err, text) == NULL)
    fail_msg ("\"%s\" is not in:\n%s", text, err);
}

/* By a shell, as scripts do: standard input of a background job is /dev/null. */
static Cli *
hold_with_input (Fixture *fixture, const char *script)
{
  return cli_start ("/bin/sh", "-c", script, ZKFLOCK, "-Z", fixture_server (fixture), NULL);
}

TEST (a_hold_without_input_says_so)
{
  g_autoptr (Cli) cli = hold_with_input (fixture, "exec \"$0\" \"$@\" /input </dev/null");

  cli_ends (cli, 0, "standard input is at its end");
  assert_says (cli, "--hold");
}

/* Whoever closes a pipe lets go on purpose. */
TEST (a_pipe_that_ends_is_no_mistake)
{
  g_autoptr (Cli) cli = hold_with_input (fixture, "true | \"$0\" \"$@\" /input");

  cli_ends (cli, 0, "");
}

TEST (hold_until_a_signal)
{
  g_autoptr (Cli) cli = hold_with_input (fixture, "exec \"$0\" \"$@\" --hold /until </dev/null");

  assert_true (cli_wait_lines (cli->out, "", 1, CLI_MS));
  g_free (cli_run (fixture, 1, "-n", "/until", "true", NULL));
  assert_int_equal (cli_wait (cli, 0), -1);
  kill (cli->pid, SIGTERM);
  assert_int_equal (cli_wait (cli, CLI_MS), 128 + SIGTERM);
  g_free (cli_run (fixture, 64, "--hold", "/until", "true", NULL));
}

/* As in a container whose user has no entry. */
TEST (a_user_without_a_name)
{
  g_autoptr (Cli) cli = cli_start (
      "/bin/sh", "-c",
      "test \"$(id -u)\" = 0 && exec setpriv --reuid=54321 --clear-groups \"$0\" \"$@\"\n"
      "exec unshare --user --map-user=54321 \"$0\" \"$@\"",
      ZKFLOCK, "-Z", fixture_server (fixture), "/nameless", ZKFLOCK, "-Z", fixture_server (fixture),
      "who", "/nameless", NULL);

  cli_ends (cli, 0, "");
  g_autofree char *out = cli_stdout (cli);
  assert_non_null (strstr (out, "54321@"));
}

/* The servers are gone for longer than a moment, and come back. */
TEST (a_waiter_tells_of_lost_servers)
{
  g_autoptr (Cli) holder = cli_hold (fixture, "/gone", NULL);
  g_autoptr (Cli) waiter = cli_zkflock (fixture_proxy (fixture), "/gone", "true", NULL);
  assert_true (raw_zk_wait_children (fixture->raw, "/gone", 2, CLI_MS));

  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  assert_true (cli_wait_text (waiter->err, "no server answers any more", CLI_MS));
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_true (cli_wait_text (waiter->err, "a server answers again", CLI_MS));
  cli_close_stdin (holder);
  assert_int_equal (cli_wait (waiter, CLI_MS), 0);
  g_auto (GStrv) lines = cli_lines (waiter->err);
  assert_int_equal (g_strv_length (lines), 2);
}

TEST (options_of_locking_are_no_views)
{
  static const char *const options[][2] = {
    { "-x", NULL },          { "-s", NULL },          { "-n", NULL },         { "-w", "1" },
    { "-E", "9" },           { "-N", "2" },           { "--hold", NULL },     { "--label", "x" },
    { "--revocable", NULL }, { "--kill-after", "1" }, { "--mixed", NULL },    { "--multi", "/x" },
    { "--max-hold", "9" },   { "--min-hold", "9" },   { "--status-fd", "2" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (options); i++)
    {
      const char *server = fixture_server (fixture);
      g_autoptr (Cli) after =
          options[i][1] != NULL
              ? cli_zkflock (server, "who", options[i][0], options[i][1], "/views", NULL)
              : cli_zkflock (server, "who", options[i][0], "/views", NULL);
      cli_ends (after, 64, "applies to locking only");
    }
  g_autoptr (Cli) before = cli_zkflock (fixture_server (fixture), "-n", "tree", NULL);
  assert_int_equal (cli_wait (before, CLI_MS), 64);
  /* In the environment they are for the other calls. */
  g_setenv ("ZKFLOCK_OPTIONS", "-n --label me", TRUE);
  g_free (cli_run (fixture, 3, "who", "/views", NULL));
  g_unsetenv ("ZKFLOCK_OPTIONS");
}

static Cli *
nest (Fixture *fixture, const char *const *outer, const char *const *inner)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  const char *const *const parts[] = { outer, inner };

  for (gsize i = 0; i < G_N_ELEMENTS (parts); i++)
    {
      g_ptr_array_add (argv, (gpointer) ZKFLOCK);
      g_ptr_array_add (argv, (gpointer) "-Z");
      g_ptr_array_add (argv, (gpointer) fixture_server (fixture));
      for (const char *const *word = parts[i]; *word != NULL; word++)
        g_ptr_array_add (argv, (gpointer) *word);
    }
  g_ptr_array_add (argv, (gpointer) "true");
  g_ptr_array_add (argv, NULL);
  return cli_start_strv ((char *const *) argv->pdata);
}

TEST (a_lock_inside_itself_is_refused)
{
  static const struct
  {
    const char *outer[4];
    const char *inner[4];
    int code;
  } rows[] = {
    { { "/nest" }, { "/nest" }, 64 },
    { { "-x", "/nest/rw" }, { "-s", "/nest/rw" }, 64 },
    { { "-s", "/nest/rw" }, { "-x", "/nest/rw" }, 64 },
    { { "-s", "/nest/rw" }, { "-s", "/nest/rw" }, 0 },
    { { "-N", "1", "/nest/one" }, { "-N", "1", "/nest/one" }, 64 },
    { { "-N", "2", "/nest/two" }, { "-N", "2", "/nest/two" }, 0 },
    { { "/nest/a" }, { "/nest/b" }, 0 },
    { { "/nest" }, { "-n", "/nest" }, 1 }, /* ends by itself */
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (Cli) cli = nest (fixture, rows[i].outer, rows[i].inner);
      assert_int_equal (cli_wait (cli, CLI_MS), rows[i].code);
      if (rows[i].code == 64)
        assert_says (cli, "runs under that lock already");
    }
}

/* In order: a quick grant comes before the look at the connection. */
TEST (verbose_is_in_order)
{
  g_autoptr (Cli) cli =
      cli_zkflock (fixture_server (fixture), "--verbose", "/order", CLI_COMMAND, "exit", "0", NULL);

  assert_int_equal (cli_wait (cli, CLI_MS), 0);
  g_autofree char *err = cli_stderr (cli);
  const char *connected = strstr (err, "s: connected\n");
  const char *granted = strstr (err, "s: granted");
  assert_non_null (connected);
  assert_non_null (granted);
  assert_true (connected < granted);
  assert_true (strstr (err, "the command has a control group of its own") != NULL
               || strstr (err, "no control group (") != NULL);
}

TEST (forbidden_characters_have_names)
{
  g_autoptr (Cli) emoji = cli_zkflock (fixture_server (fixture), "/\xf0\x9f\x98\x80", "true", NULL);
  cli_ends (emoji, 64, "such as an emoji");
  g_autoptr (Cli) tab = cli_zkflock (fixture_server (fixture), "/a\tb", "true", NULL);
  cli_ends (tab, 64, "a control character");
}

SUITE ("manners", fixture_start, fixture_stop)
