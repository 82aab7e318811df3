/* How long a lock is held: at most, and at least. */
#include "cli.h"

#include <signal.h>
#include <string.h>

#define SECOND_NS G_GINT64_CONSTANT (1000000000)

static void
assert_says (Cli *cli, const char *text)
{
  g_autofree char *err = cli_stderr (cli);
  if (strstr (err, text) == NULL)
    fail_msg ("\"%s\" is not in:\n%s", text, err);
}

/* For every kind of lock. The command ignores TERM, and so does its child. */
TEST (a_maximum_ends_the_command_and_frees_the_lock)
{
  static const char *const kinds[] = { "--exclusive", "--shared", "--leases=1", "--multi=/other" };

  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      LOG beats = cli_new_file ();
      g_autofree char *path = g_strdup_printf ("/maximum/%d", (int) i);
      g_autoptr (Cli) holder =
          cli_zkflock (fixture_server (fixture), "--max-hold", "1", "--kill-after", "0.3", kinds[i],
                       path, CLI_COMMAND, "stubborn", beats, NULL);

      assert_int_equal (cli_wait (holder, CLI_MS), 75);
      const gint64 last = cli_end_of_beats (beats);
      assert_true (last > 0);
      assert_says (holder, "held for its maximum of 1 s: the command was ended");
      g_free (cli_run (fixture, 0, "-n", kinds[i], path, "true", NULL));
    }
}

/* The order, by the logs of the two commands: the last beat, then the next turn. */
TEST (nothing_runs_beside_the_next_one)
{
  LOG beats = cli_new_file ();
  LOG turns = cli_new_file ();
  g_autoptr (Cli) holder =
      cli_zkflock (fixture_server (fixture), "--max-hold", "1.5", "--kill-after", "0.3", "/beside",
                   CLI_COMMAND, "stubborn", beats, NULL);
  assert_true (cli_wait_lines (beats, "BEAT", 2, CLI_MS));
  g_autoptr (Cli) next =
      cli_zkflock (fixture_server (fixture), "/beside", CLI_COMMAND, "turn", turns, "0", NULL);

  assert_int_equal (cli_wait (next, CLI_MS), 0);
  assert_int_equal (cli_wait (holder, CLI_MS), 75);
  assert_true (cli_end_of_beats (beats) < cli_number (turns, "IN "));
}

/* TERM comes before KILL, so a command that obeys is not killed; the exit code says that it was not
 * its choice. */
TEST (term_comes_before_the_maximum)
{
  LOG log = cli_new_file ();
  g_autoptr (Cli) holder = cli_zkflock (fixture_server (fixture), "--max-hold", "4", "--verbose",
                                        "/polite", CLI_COMMAND, "polite", log, "7", NULL);

  assert_int_equal (cli_wait (holder, CLI_MS), 75);
  assert_true (cli_wait_lines (log, "GOT", 1, 0));
  assert_says (holder, "held for its maximum of 4 s");
  assert_says (holder, "the hold has nearly lasted its maximum: TERM to the command");
  g_autofree char *err = cli_stderr (holder);
  assert_null (strstr (err, "lock lost"));
  assert_null (strstr (err, "unless the server answers"));
}

/* The lock is granted, but whether the path is used otherwise is not answered: nothing has started
 * when the time is over. */
static void
the_time_counts_before_the_start (void **state)
{
  static const struct
  {
    const char *option;
    int code;
    const char *text;
  } rows[] = {
    { "--wait=8", 69, "granted, but no server has told in time" },
    { "--max-hold=2", 75, "held for its maximum of 2 s before the command could start" },
  };
  Fixture *fixture = *state;

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      LOG log = cli_new_file ();
      g_autofree char *path = g_strdup_printf ("/late/%d", (int) i);
      g_autoptr (Cli) holder = cli_hold (fixture, path, NULL);
      proxy_reset_counts (fixture->proxy);
      g_autoptr (Cli) waiter =
          cli_zkflock (fixture_proxy (fixture), "--session-timeout", "20", rows[i].option, path,
                       CLI_COMMAND, "turn", log, "0", NULL);
      assert_soon (proxy_count (fixture->proxy, PROXY_GET_CHILDREN) >= 3);
      proxy_arm (fixture->proxy, PROXY_GET_CHILDREN, 1, 1, PROXY_HOLD_REQUEST);
      cli_close_stdin (holder);
      const int code = cli_wait (waiter, CLI_MS);
      assert_says (waiter, rows[i].text);
      assert_int_equal (code, rows[i].code);
      assert_false (cli_wait_lines (log, "IN", 1, 0));
      proxy_disarm (fixture->proxy);
      proxy_let_go (fixture->proxy);
    }
}

TEST (a_command_that_ends_in_time_is_left_alone)
{
  g_free (cli_run (fixture, 5, "--max-hold", "60", "/early", CLI_COMMAND, "exit", "5", NULL));
}

/* zkflock is stopped beyond the maximum, and its guard is not. */
TEST (a_stopped_zkflock_keeps_the_maximum)
{
  LOG beats = cli_new_file ();
  g_autoptr (Cli) holder =
      cli_zkflock (fixture_server (fixture), "--session-timeout", "20", "--max-hold", "2",
                   "/stopped", CLI_COMMAND, "stubborn", beats, NULL);

  assert_true (cli_wait_lines (beats, "BEAT", 2, CLI_MS));
  kill (holder->pid, SIGSTOP);
  const gint64 last = cli_end_of_beats (beats);
  kill (holder->pid, SIGCONT);
  assert_int_equal (cli_wait (holder, CLI_MS), 75);
  assert_true (last > 0);
  assert_int_equal (cli_last_beat (beats), last);
}

TEST (a_maximum_without_a_command)
{
  g_autoptr (Cli) holder = cli_zkflock (fixture_server (fixture), "--max-hold", "1", "/bare", NULL);

  cli_ends (holder, 75, "held for its maximum of 1 s");
  g_free (cli_run (fixture, 0, "-n", "/bare", "true", NULL));
}

/* The next one comes in a minimum after the first, which ended at once with its own code. */
TEST (a_minimum_outlasts_the_command)
{
  LOG first = cli_new_file ();
  LOG second = cli_new_file ();
  g_autoptr (Cli) holder = cli_zkflock (fixture_server (fixture), "--min-hold", "2", "/minimum",
                                        CLI_COMMAND, "turn", first, "0", NULL);

  assert_true (cli_wait_lines (first, "OUT", 1, CLI_MS));
  g_free (cli_run (fixture, 1, "-n", "/minimum", "true", NULL));
  g_free (cli_run (fixture, 0, "/minimum", CLI_COMMAND, "turn", second, "0", NULL));
  assert_int_equal (cli_wait (holder, CLI_MS), 0);
  /* The command starts after the grant, so its time is a little later than that of the hold. */
  assert_true (cli_number (second, "IN ") - cli_number (first, "IN ") > SECOND_NS);

  const gint64 before = wait_now_ns ();
  g_free (cli_run (fixture, 6, "--min-hold", "1", "/minimum", CLI_COMMAND, "exit", "6", NULL));
  assert_true (wait_now_ns () - before >= SECOND_NS);
}

TEST (a_signal_ends_the_minimum)
{
  g_autoptr (Cli) holder = cli_zkflock (fixture_server (fixture), "--verbose", "--min-hold", "600",
                                        "/hurry", CLI_COMMAND, "exit", "6", NULL);

  assert_true (cli_wait_text (holder->err, "the lock is held on for", CLI_MS));
  kill (holder->pid, SIGTERM);
  assert_int_equal (cli_wait (holder, CLI_MS), 6);
  g_free (cli_run (fixture, 0, "-n", "/hurry", "true", NULL));
}

/* Another machine may be able to run it. */
TEST (no_minimum_without_a_command_that_runs)
{
  g_free (cli_run (fixture, 127, "--min-hold", "600", "/absent", "/no/such/command", NULL));
}

TEST (limits_that_make_no_sense)
{
  g_free (cli_run (fixture, 64, "--max-hold", "0", "/limits", "true", NULL));
  g_free (cli_run (fixture, 64, "--max-hold", "soon", "/limits", "true", NULL));
  g_free (cli_run (fixture, 64, "--max-hold", "1", "--min-hold", "2", "/limits", "true", NULL));
  g_free (cli_run (fixture, 64, "--min-hold", "2", "/limits", NULL));
}

int
main (void)
{
  const struct CMUnitTest of_long_sessions[] = {
    heal_and_test (the_time_counts_before_the_start),
  };
  return suite_run ("limits", fixture_start, fixture_stop)
         + cmocka_run_group_tests (of_long_sessions, fixture_start_slow, fixture_stop);
}
