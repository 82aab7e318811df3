/* How long a lock is held: at most, and at least. */
#include "cli.h"

#include <signal.h>
#include <string.h>

#define SECOND_NS G_GINT64_CONSTANT (1000000000)

/* For every kind of lock. The command ignores TERM, and so does its child. */
TEST (a_maximum_ends_the_command_and_frees_the_lock)
{
  static const char *const kinds[] = { "--exclusive", "--shared", "--leases=1", "--multi=/other" };
  static const char *const paths[] = { "/maximum/0", "/maximum/1", "/maximum/2", "/maximum/3" };
  Cli *holders[G_N_ELEMENTS (kinds)];

  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
    holders[i] = cli_zkflock (fixture_server (fixture), "--max-hold", "8", "--kill-after", "0.3",
                              kinds[i], paths[i], COMMAND ("stubborn"));
  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++) {
    cli_ends (holders[i], 75, "held for its maximum of 8 s: the command was ended");
    assert_true (cli_end_of_beats (holders[i]->log) > 0);
    cli_exits (fixture, 0, "-n", kinds[i], paths[i], "true");
    cli_free (holders[i]);
  }
}

/* The order, by the logs of the two commands: the last beat, then the next turn. */
TEST (nothing_runs_beside_the_next_one)
{
  g_autoptr (Cli) holder = cli_zkflock (fixture_server (fixture), "--max-hold", "8", "--kill-after",
                                        "0.3", "/beside", COMMAND ("stubborn"));
  cli_beats (holder, 2);
  g_autoptr (Cli) next = cli_zkflock (fixture_server (fixture), "/beside", COMMAND ("turn"), "0");

  cli_hand_over (holder, 75, next);
}

/* TERM comes before KILL, so a command that obeys is not killed; the exit code says that it was not
 * its choice. */
TEST (term_comes_before_the_maximum)
{
  g_autoptr (Cli) holder =
      cli_zkflock (fixture_server (fixture), "--session-timeout", "40", "--max-hold", "20",
                   "--kill-after", "4", "--verbose", "/polite", COMMAND ("polite"), "7");

  cli_ends (holder, 75, "held for its maximum of 20 s");
  assert_true (cli_wait_lines (holder->log, "GOT", 1, 0));
  cli_says (holder, "the hold has nearly lasted its maximum: TERM to the command");
  cli_says_not (holder, "lock lost");
  cli_says_not (holder, "unless the server answers");
}

/* The lock is granted, but whether the path is used otherwise is not answered: nothing has started
 * when the time is over. */
TEST (the_time_counts_before_the_start)
{
  static const struct
  {
    const char *option;
    int code;
    const char *text;
  } rows[] = {
    { "--wait=15", 69, "granted, but no server has told in time" },
    { "--max-hold=2", 75, "held for its maximum of 2 s before the command could start" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autofree char *path = g_strdup_printf ("/late/%d", (int) i);
    g_autoptr (Cli) holder = cli_hold (fixture, path);
    proxy_reset_counts (fixture->proxy);
    g_autoptr (Cli) waiter = cli_zkflock (fixture_proxy (fixture), "--session-timeout", "40",
                                          rows[i].option, path, COMMAND ("turn"), "0");
    assert_soon (proxy_count (fixture->proxy, PROXY_GET_CHILDREN) >= 3);
    proxy_arm (fixture->proxy, PROXY_GET_CHILDREN, 1, 1, PROXY_HOLD_REQUEST);
    cli_close_stdin (holder);
    cli_ends (waiter, rows[i].code, rows[i].text);
    assert_false (cli_wait_lines (waiter->log, "IN", 1, 0));
    proxy_disarm (fixture->proxy);
    proxy_let_go (fixture->proxy);
  }
}

TEST (a_command_that_ends_in_time_is_left_alone)
{
  cli_exits (fixture, 5, "--max-hold", "60", "/early", CLI_COMMAND, "exit", "5");
}

/* zkflock is stopped beyond the maximum, and its guard is not. */
TEST (a_stopped_zkflock_keeps_the_maximum)
{
  g_autoptr (Cli) holder = cli_zkflock (fixture_server (fixture), "--session-timeout", "40",
                                        "--max-hold", "8", "/stopped", COMMAND ("stubborn"));

  cli_beats (holder, 2);
  kill (holder->pid, SIGSTOP);
  const gint64 last = cli_end_of_beats (holder->log);
  kill (holder->pid, SIGCONT);
  cli_ends (holder, 75, NULL);
  assert_true (last > 0);
  assert_int_equal (cli_last_beat (holder->log), last);
}

TEST (a_maximum_without_a_command)
{
  /* Its standard input stays open. */
  cli_fails (fixture, 75, "held for its maximum of 1 s", "--max-hold", "1", "/bare");
  cli_exits (fixture, 0, "-n", "/bare", "true");
}

/* The next one comes in a minimum after the first, which ended at once with its own code. */
TEST (a_minimum_outlasts_the_command)
{
  g_autoptr (Cli) first =
      cli_zkflock (fixture_server (fixture), "--min-hold", "10", "/minimum", COMMAND ("turn"), "0");

  assert_true (cli_wait_lines (first->log, "OUT", 1, CLI_MS));
  cli_exits (fixture, 1, "-n", "/minimum", "true");
  g_autoptr (Cli) second =
      cli_zkflock (fixture_server (fixture), "/minimum", COMMAND ("turn"), "0");
  cli_ends (second, 0, NULL);
  cli_ends (first, 0, NULL);
  /* The command starts after the grant, so its time is later than that of the hold. */
  assert_true (cli_number (second->log, "IN ") - cli_number (first->log, "IN ") > SECOND_NS);

  const gint64 before = wait_now_ns ();
  cli_exits (fixture, 6, "--min-hold", "1", "/minimum", CLI_COMMAND, "exit", "6");
  assert_true (wait_now_ns () - before >= SECOND_NS);
}

TEST (a_signal_ends_the_minimum)
{
  g_autoptr (Cli) holder = cli_zkflock (fixture_server (fixture), "--verbose", "--min-hold", "600",
                                        "/hurry", CLI_COMMAND, "exit", "6");

  cli_says (holder, "the lock is held on for");
  kill (holder->pid, SIGTERM);
  cli_ends (holder, 6, NULL);
  cli_exits (fixture, 0, "-n", "/hurry", "true");
}

/* Another machine may be able to run it. */
TEST (no_minimum_without_a_command_that_runs)
{
  cli_exits (fixture, 127, "--min-hold", "600", "/absent", "/no/such/command");
}

SUITE ("limits", fixture_start_slow, fixture_stop)
