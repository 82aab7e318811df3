/* Who runs when: zkflock against zkflock, and against Java Curator. */
#include "cli.h"

#include "support/four_letter.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>

#define MANY 200

/* n zkflocks with these options run that mode of the command each; returns how many were in at
 * once. */
static int
contest (Fixture *fixture, int n, const char *option, const char *value, const char *path,
         const char *mode, const char *argument)
{
  LOG log = cli_new_file ();
  g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func ((GDestroyNotify) cli_free);
  int turns;

  for (int i = 0; i < n; i++)
    {
      g_ptr_array_add (all, value != NULL
                                ? cli_zkflock (fixture_server (fixture), option, value, path,
                                               CLI_COMMAND, mode, log, argument, NULL)
                                : cli_zkflock (fixture_server (fixture), option, path, CLI_COMMAND,
                                               mode, log, argument, NULL));
    }
  for (int i = 0; i < n; i++)
    assert_int_equal (cli_wait (g_ptr_array_index (all, (guint) i), CLI_MS), 0);
  const int most = cli_overlap (log, &turns);
  assert_int_equal (turns, n);
  return most;
}

TEST (mutexes_serialise)
{
  assert_int_equal (contest (fixture, 2, "--verbose", NULL, "/two", "turn", "300"), 1);
  assert_int_equal (contest (fixture, 4, "-x", NULL, "/writers", "turn", "100"), 1);
}

TEST (readers_overlap)
{
  assert_int_equal (contest (fixture, 3, "-s", NULL, "/readers", "meet", "3"), 3);
}

TEST (three_at_a_time)
{
  assert_int_equal (contest (fixture, 9, "-N", "3", "/three", "meet", "3"), 3);
}

TEST (readers_and_writer_exclude_each_other)
{
  G_GNUC_UNUSED g_autoptr (Cli) reader = cli_hold (fixture, "-s", "/rw", NULL);
  g_free (cli_run (fixture, 1, "-n", "-x", "/rw", CLI_COMMAND, "exit", "0", NULL));
  g_free (cli_run (fixture, 0, "-n", "-s", "/rw", CLI_COMMAND, "exit", "0", NULL));
}

TEST (several_paths_are_one_lock)
{
  G_GNUC_UNUSED g_autoptr (Cli) holder =
      cli_hold (fixture, "--multi", "/m/a", "--multi", "/m/c", "/m/b", NULL);
  g_free (cli_run (fixture, 1, "-n", "/m/a", CLI_COMMAND, "exit", "0", NULL));
  g_free (cli_run (fixture, 1, "-n", "/m/b", CLI_COMMAND, "exit", "0", NULL));
  g_free (cli_run (fixture, 1, "-n", "/m/c", CLI_COMMAND, "exit", "0", NULL));
  g_free (cli_run (fixture, 1, "-n", "--multi", "/m/a", "/m/d", CLI_COMMAND, "exit", "0", NULL));
  g_free (cli_run (fixture, 0, "-n", "/m/d", CLI_COMMAND, "exit", "0", NULL));
}

/* The session of each is as long as the server grants, so that none expires on a busy machine. */
TEST (two_hundred_run_once_each)
{
  assert_int_equal (contest (fixture, MANY, "--session-timeout", "10", "/crowd", "turn", "0"), 1);
}

TEST (p37_gives_up_the_place_at_once)
{
  const char *server = fixture_server (fixture);
  g_autoptr (Cli) holder = cli_hold (fixture, "/queue", NULL);
  g_autoptr (Cli) waiter = cli_zkflock (server, "/queue", CLI_COMMAND, "exit", "0", NULL);
  assert_true (raw_zk_wait_children (fixture->raw, "/queue", 2, CLI_MS));
  kill (waiter->pid, SIGTERM);
  assert_int_equal (cli_wait (waiter, 1000), 128 + SIGTERM);
  assert_true (raw_zk_wait_children (fixture->raw, "/queue", 1, 100));
  assert_int_equal (cli_wait (holder, 0), -1);
}

TEST (hold_mode_prints_the_token_and_ends_with_stdin)
{
  g_autoptr (Cli) holder = cli_zkflock (fixture_server (fixture), "/hold", NULL);
  struct Stat stat;

  assert_true (cli_wait_lines (holder->out, "", 1, CLI_MS));
  g_auto (GStrv) children = raw_zk_children (fixture->raw, "/hold");
  g_autofree char *node = g_strdup_printf ("/hold/%s", children[0]);
  assert_int_equal (raw_zk_get (fixture->raw, node, NULL, &stat), ZOK);
  g_autofree char *out = cli_stdout (holder);
  g_autofree char *expected = g_strdup_printf ("%" G_GINT64_FORMAT "\n", (gint64) stat.czxid);
  assert_string_equal (out, expected);
  g_free (cli_run (fixture, 1, "-n", "/hold", CLI_COMMAND, "exit", "0", NULL));
  cli_close_stdin (holder);
  assert_int_equal (cli_wait (holder, CLI_MS), 0);
  assert_int_equal (raw_zk_count_children (fixture->raw, "/hold"), 0);
}

TEST (environment_and_descriptors)
{
  LOG log = cli_new_file ();
  g_free (cli_run (fixture, 0, "-s", "/env", CLI_COMMAND, "show", log, NULL));

  g_auto (GStrv) lines = cli_lines (log);
  g_autofree char *text = g_strjoinv ("\n", lines);
  assert_non_null (strstr (text, "ENV CURATOR_LOCK_PATH=/env\n"));
  assert_non_null (strstr (text, "ENV CURATOR_LOCK_NODE=/env/_c_"));
  assert_non_null (strstr (text, "ENV CURATOR_LOCK_MODE=read\n"));
  assert_non_null (strstr (text, "ENV CURATOR_LOCK_SESSION=0x"));
  assert_true (cli_number (log, "ENV CURATOR_LOCK_TOKEN=") > 0);
  assert_non_null (strstr (text, "GROUP 1"));
  int n_descriptors = 0;
  for (char **line = lines; *line != NULL; line++)
    {
      if (g_str_has_prefix (*line, "FD "))
        {
          assert_in_range (g_ascii_strtoll (*line + 3, NULL, 10), 0, 2);
          n_descriptors++;
        }
    }
  assert_int_equal (n_descriptors, 3);
}

TEST (tokens_rise)
{
  LOG first = cli_new_file ();
  LOG second = cli_new_file ();

  g_free (cli_run (fixture, 0, "/token", CLI_COMMAND, "show", first, NULL));
  g_free (cli_run (fixture, 0, "/token", CLI_COMMAND, "show", second, NULL));
  assert_true (cli_number (second, "ENV CURATOR_LOCK_TOKEN=")
               > cli_number (first, "ENV CURATOR_LOCK_TOKEN="));
}

#ifdef CLI_JAVA
static Cli *
java_worker (Fixture *fixture, const char *path, const char *acquisitions, const char *hold_ms)
{
  return cli_start (CLI_JAVA, "-Xmx64m", "-XX:TieredStopAtLevel=1", "-cp", CLI_CLASSPATH,
                    "LockWorker", fixture_server (fixture), path, "1", acquisitions, hold_ms,
                    "mutex", NULL);
}

TEST (java_blocks_zkflock)
{
  LOG log = cli_new_file ();
  g_autoptr (Cli) java = java_worker (fixture, "/java", "1", "8000");

  assert_true (cli_wait_lines (java->out, "GRANTED", 1, CLI_MS));
  g_free (cli_run (fixture, 1, "-n", "/java", CLI_COMMAND, "exit", "0", NULL));
  g_free (cli_run (fixture, 0, "/java", CLI_COMMAND, "turn", log, "0", NULL));
  assert_int_equal (cli_wait (java, CLI_MS), 0);
  const gint64 released = cli_number (java->out, "RELEASED 1 ");
  assert_true (released > 0);
  assert_true (cli_number (log, "IN ") >= released);
}

TEST (zkflock_blocks_java)
{
  g_autoptr (Cli) holder = cli_hold (fixture, "/javb", NULL);
  g_autoptr (Cli) java = java_worker (fixture, "/javb", "1", "0");
  assert_true (cli_wait_lines (java->out, "QUEUED", 1, CLI_MS));
  assert_true (raw_zk_wait_children (fixture->raw, "/javb", 2, CLI_MS));
  const gint64 released = wait_now_ns ();
  cli_close_stdin (holder);
  assert_int_equal (cli_wait (holder, CLI_MS), 0);
  assert_int_equal (cli_wait (java, CLI_MS), 0);
  const gint64 granted = cli_number (java->out, "GRANTED 1 ");
  assert_true (granted >= released);
}
#endif

SUITE ("locking", fixture_start, fixture_stop)
