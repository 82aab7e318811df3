/* What zkflock says, and to whom: input that has ended, unknown users, lost servers, options of
 * other verbs, a lock inside the same lock. */
#include "cli.h"

#include <signal.h>
#include <string.h>

/* By a shell, as scripts do: standard input of a background job is /dev/null. */
static Cli *
hold_with_input (Fixture *fixture, const char *script)
{
  return cli_start ("/bin/sh", "-c", script, ZKFLOCK, "-Z", fixture_server (fixture));
}

TEST (a_hold_without_input_says_so)
{
  g_autoptr (Cli) cli = hold_with_input (fixture, "exec \"$0\" \"$@\" /input </dev/null");

  cli_ends (cli, 0, "standard input is at its end");
  cli_says (cli, "--hold");
}

/* Whoever closes a pipe lets go on purpose. */
TEST (a_pipe_that_ends_is_no_mistake)
{
  g_autoptr (Cli) cli = hold_with_input (fixture, "true | \"$0\" \"$@\" /input");
  cli_ends (cli, 0, "");
}

TEST (hold_until_a_signal)
{
  g_autoptr (Cli) cli =
      cli_holding (hold_with_input (fixture, "exec \"$0\" \"$@\" --hold /until </dev/null"));

  cli_exits (fixture, 1, "-n", "/until", "true");
  assert_int_equal (cli_wait (cli, 0), -1);
  kill (cli->pid, SIGTERM);
  cli_ends (cli, 128 + SIGTERM, NULL);
  cli_exits (fixture, 64, "--hold", "/until", "true");
}

/* As in a container whose user has no entry. */
TEST (a_user_without_a_name)
{
  g_autoptr (Cli) cli = cli_start (
      "/bin/sh", "-c",
      "test \"$(id -u)\" = 0 && exec setpriv --reuid=54321 --clear-groups \"$0\" \"$@\"\n"
      "exec unshare --user --map-user=54321 \"$0\" \"$@\"",
      ZKFLOCK, "-Z", fixture_server (fixture), "/nameless", ZKFLOCK, "-Z", fixture_server (fixture),
      "who", "/nameless");

  cli_ends (cli, 0, "");
  assert_true (cli_wait_text (cli->out, "54321@", 0));
}

/* The servers are gone for longer than a moment, and come back. */
TEST (a_waiter_tells_of_lost_servers)
{
  g_autoptr (Cli) holder = cli_hold (fixture, "/gone");
  g_autoptr (Cli) waiter =
      cli_zkflock (fixture_proxy (fixture), "--session-timeout", "40", "/gone", "true");
  assert_true (raw_zk_wait_children (fixture->raw, "/gone", 2, CLI_MS));

  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  cli_says (waiter, "no server answers any more");
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  cli_says (waiter, "a server answers again");
  cli_close_stdin (holder);
  cli_ends (waiter, 0, NULL);
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
    cli_fails (fixture, 64, "applies to locking only", "who", options[i][0], options[i][1],
               "/views");
  cli_exits (fixture, 64, "-n", "tree");
  /* In the environment they are for the other calls. */
  g_setenv ("ZKFLOCK_OPTIONS", "-n --label me", TRUE);
  cli_exits (fixture, 3, "who", "/views");
  g_unsetenv ("ZKFLOCK_OPTIONS");
}

TEST (a_lock_inside_itself_is_refused)
{
  static const struct
  {
    const char *outer[3];
    const char *inner[3];
    int code;
  } rows[] = {
    { { "/nest" }, { "/nest" }, 64 },
    { { "-x", "/nest/rw" }, { "-s", "/nest/rw" }, 64 },
    { { "-s", "/nest/rw" }, { "-x", "/nest/rw" }, 64 },
    { { "-s", "/nest/rw" }, { "-s", "/nest/rw" }, 0 },
    { { "-N", "1", "/nest/one" }, { "-N", "1", "/nest/one" }, 64 },
    { { "-N", "2", "/nest/two" }, { "-N", "2", "/nest/two" }, 0 },
    { { "/nest" }, { "-n", "/nest" }, 1 }, /* ends by itself */
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    const char *const *outer = rows[i].outer;
    const char *const *inner = rows[i].inner;
    cli_fails (fixture, rows[i].code, rows[i].code == 64 ? "runs under that lock already" : NULL,
               outer[0], outer[1], outer[2], ZKFLOCK, "-Z", fixture_server (fixture), inner[0],
               inner[1], inner[2], "true");
  }
}

/* What a level takes: the paths a, b and c, or a and b together. */
static const char *const levels[][3] = {
  { "/levels/a" }, { "/levels/b" }, { "/levels/c" }, { "--multi", "/levels/a", "/levels/b" }
};

static const guint taken[] = { 1, 2, 4, 3 };

static void
nest (Fixture *fixture, const gsize *nested, gsize depth, gboolean is_refused)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new ();

  for (gsize i = 0; i < depth; i++) {
    const char *const *level = levels[nested[i]];
    g_ptr_array_add (words, (gpointer) ZKFLOCK);
    g_ptr_array_add (words, (gpointer) "-Z");
    g_ptr_array_add (words, (gpointer) fixture_server (fixture));
    for (gsize k = 0; k < G_N_ELEMENTS (levels[0]) && level[k] != NULL; k++)
      g_ptr_array_add (words, (gpointer) level[k]);
  }
  g_ptr_array_add (words, (gpointer) "true");
  g_autoptr (Cli) cli = cli_start_words ((const char *const *) words->pdata, words->len);
  cli_ends (cli, is_refused ? 64 : 0, is_refused ? "runs under that lock already" : "");
}

/* Every nesting of up to four levels of which the last one alone may be refused. */
static guint
nest_further (Fixture *fixture, gsize *nested, gsize depth, guint held)
{
  guint n_refused = 0;

  for (gsize i = 0; i < G_N_ELEMENTS (levels); i++) {
    const gboolean is_refused = (taken[i] & held) != 0;
    nested[depth] = i;
    if (depth > 0)
      nest (fixture, nested, depth + 1, is_refused);
    n_refused += is_refused ? 1 : 0;
    if (!is_refused && depth < 3)
      n_refused += nest_further (fixture, nested, depth + 1, held | taken[i]);
  }
  return n_refused;
}

TEST (a_lock_inside_itself_is_refused_at_every_depth)
{
  gsize nested[4];
  assert_true (nest_further (fixture, nested, 0, 0) > 40);
}

/* In order: a quick grant comes before the look at the connection. */
TEST (verbose_is_in_order)
{
  g_autoptr (Cli) cli = cli_zkflock (fixture_server (fixture), "--verbose", "/order", "true");

  cli_ends (cli, 0, NULL);
  g_autofree char *err = cli_stderr (cli);
  const char *connected = strstr (err, "s: connected\n");
  const char *granted = strstr (err, "s: granted");
  assert_non_null (connected);
  assert_non_null (granted);
  assert_true (connected < granted);
  assert_true (strstr (err, "the command has a control group of its own") != NULL
               || strstr (err, "no control group (") != NULL);
}

SUITE ("manners", fixture_start_slow, fixture_stop)
