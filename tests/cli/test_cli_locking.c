/* Who runs when: zkflock against zkflock, and against Java Curator. */
#include "cli.h"

#include "support/four_letter.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>

#define MANY 200

/* The session of each of the crowd is as long as the server grants, so that none expires on a busy
 * machine. */
TEST (as_many_at_a_time_as_may)
{
  static const struct
  {
    const char *path;
    int n;
    int most;
    const char *option[2];
    const char *mode[2];
  } rows[] = {
    { "/two", 2, 1, { "--verbose" }, { "turn", "300" } },
    { "/writers", 4, 1, { "-x" }, { "turn", "100" } },
    { "/readers", 3, 3, { "-s" }, { "meet", "3" } },
    { "/three", 9, 3, { "-N", "3" }, { "meet", "3" } },
    { "/crowd", MANY, 1, { "--session-timeout", "40" }, { "turn", "0" } },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    LOG log = cli_new_file ();
    g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func ((GDestroyNotify) cli_free);
    int turns;
    for (int k = 0; k < rows[i].n; k++)
      g_ptr_array_add (all, cli_zkflock (fixture_server (fixture), rows[i].option[0],
                                         rows[i].option[1], rows[i].path, CLI_COMMAND,
                                         rows[i].mode[0], log, rows[i].mode[1]));
    for (guint k = 0; k < all->len; k++)
      cli_ends (g_ptr_array_index (all, k), 0, NULL);
    assert_int_equal (cli_overlap (log, &turns), rows[i].most);
    assert_int_equal (turns, rows[i].n);
  }
}

TEST (who_excludes_whom)
{
  static const char *const excluded[][2] = { { "-x", "/rw" },
                                             { NULL, "/m/a" },
                                             { NULL, "/m/b" },
                                             { NULL, "/m/c" },
                                             { "--multi=/m/a", "/m/d" } };
  G_GNUC_UNUSED g_autoptr (Cli) reader = cli_hold (fixture, "-s", "/rw");
  G_GNUC_UNUSED g_autoptr (Cli) holder =
      cli_hold (fixture, "--multi", "/m/a", "--multi", "/m/c", "/m/b");

  for (gsize i = 0; i < G_N_ELEMENTS (excluded); i++)
    cli_exits (fixture, 1, "-n", excluded[i][0], excluded[i][1], "true");
  cli_exits (fixture, 0, "-n", "-s", "/rw", "true");
  cli_exits (fixture, 0, "-n", "/m/d", "true");
}

TEST (p37_gives_up_the_place_at_once)
{
  const char *server = fixture_server (fixture);
  g_autoptr (Cli) holder = cli_hold (fixture, "/queue");
  g_autoptr (Cli) waiter = cli_zkflock (server, "--session-timeout", "40", "/queue", "true");
  assert_true (raw_zk_wait_children (fixture->raw, "/queue", 2, CLI_MS));
  kill (waiter->pid, SIGTERM);
  cli_ends (waiter, 128 + SIGTERM, NULL);
  /* Long before its session could end. */
  assert_true (raw_zk_wait_children (fixture->raw, "/queue", 1, LONG_SESSION_MS / 2));
  assert_int_equal (cli_wait (holder, 0), -1);
}

TEST (hold_mode_prints_the_token_and_ends_with_stdin)
{
  g_autoptr (Cli) holder = cli_hold (fixture, "/hold");
  struct Stat stat;

  g_auto (GStrv) children = raw_zk_children (fixture->raw, "/hold");
  g_autofree char *node = g_strdup_printf ("/hold/%s", children[0]);
  assert_int_equal (raw_zk_get (fixture->raw, node, NULL, &stat), ZOK);
  g_autofree char *out = cli_stdout (holder);
  g_autofree char *expected = g_strdup_printf ("%" G_GINT64_FORMAT "\n", (gint64) stat.czxid);
  assert_string_equal (out, expected);
  cli_exits (fixture, 1, "-n", "/hold", "true");
  cli_close_stdin (holder);
  cli_ends (holder, 0, NULL);
  assert_int_equal (raw_zk_count_children (fixture->raw, "/hold"), 0);
}

TEST (environment_and_descriptors)
{
  static const char *const shown[] = { "ENV CURATOR_LOCK_PATH=/env\n",
                                       "ENV CURATOR_LOCK_NODE=/env/_c_",
                                       "ENV CURATOR_LOCK_MODE=read\n",
                                       "ENV CURATOR_LOCK_SESSION=0x", "GROUP 1" };
  g_autoptr (Cli) cli = cli_zkflock (fixture_server (fixture), "-s", "/env", COMMAND ("show"));
  int n_descriptors = 0;

  cli_ends (cli, 0, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (shown); i++)
    assert_true (cli_wait_text (cli->log, shown[i], 0));
  assert_true (cli_number (cli->log, "ENV CURATOR_LOCK_TOKEN=") > 0);
  g_auto (GStrv) lines = cli_lines (cli->log);
  for (char **line = lines; *line != NULL; line++) {
    if (g_str_has_prefix (*line, "FD ")) {
      assert_in_range (g_ascii_strtoll (*line + 3, NULL, 10), 0, 2);
      n_descriptors++;
    }
  }
  assert_int_equal (n_descriptors, 3);
}

TEST (tokens_rise)
{
  gint64 last = 0;

  for (int i = 0; i < 2; i++) {
    g_autoptr (Cli) cli = cli_zkflock (fixture_server (fixture), "/token", COMMAND ("show"));
    cli_ends (cli, 0, NULL);
    const gint64 token = cli_number (cli->log, "ENV CURATOR_LOCK_TOKEN=");
    assert_true (token > last);
    last = token;
  }
}

#ifdef CLI_JAVA
static Cli *
java_worker (Fixture *fixture, const char *path, const char *hold_ms)
{
  return cli_start (CLI_JAVA, "-Xmx64m", "-XX:TieredStopAtLevel=1", "-cp", CLI_CLASSPATH,
                    "LockWorker", fixture_server (fixture), path, "1", "1", hold_ms, "mutex");
}

TEST (java_blocks_zkflock)
{
  LOG log = cli_new_file ();
  g_autoptr (Cli) java = java_worker (fixture, "/java", "15000");

  assert_true (cli_wait_lines (java->out, "GRANTED", 1, CLI_MS));
  cli_exits (fixture, 1, "-n", "/java", "true");
  cli_exits (fixture, 0, "/java", CLI_COMMAND, "turn", log, "0");
  cli_ends (java, 0, NULL);
  const gint64 released = cli_number (java->out, "RELEASED 1 ");
  assert_true (released > 0);
  assert_true (cli_number (log, "IN ") >= released);
}

TEST (zkflock_blocks_java)
{
  g_autoptr (Cli) holder = cli_hold (fixture, "/javb");
  g_autoptr (Cli) java = java_worker (fixture, "/javb", "0");
  assert_true (cli_wait_lines (java->out, "QUEUED", 1, CLI_MS));
  assert_true (raw_zk_wait_children (fixture->raw, "/javb", 2, CLI_MS));
  const gint64 released = wait_now_ns ();
  cli_close_stdin (holder);
  cli_ends (holder, 0, NULL);
  cli_ends (java, 0, NULL);
  const gint64 granted = cli_number (java->out, "GRANTED 1 ");
  assert_true (granted >= released);
}
#endif

SUITE ("locking", fixture_start_slow, fixture_stop)
