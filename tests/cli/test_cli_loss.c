/* The command never outlives the lock: frozen servers, a stopped or killed zkflock, signals. */
#include "cli.h"

#include <signal.h>
#include <string.h>

#define LOSS_MS 8000 /* the session timeout; the observer's is a little longer */

/* A command that ignores TERM, and so does its child. */
static Cli *
start_stubborn (const char *address, const char *path)
{
  Cli *holder = cli_zkflock (address, "--session-timeout", "8", "--kill-after", "0.3", path,
                             COMMAND ("stubborn"));
  cli_beats (holder, 4);
  return holder;
}

TEST (p37_dead_before_the_next_one_holds)
{
  g_autoptr (Cli) holder = start_stubborn (fixture_server (fixture), "/frozen");
  g_autoptr (Cli) next = cli_next_in_line (fixture, "/frozen");

  zk_server_freeze (fixture->server);
  cli_ends (holder, 75, "zkflock: /frozen: lock lost: the command was ");
  zk_server_thaw (fixture->server);
  assert_true (cli_wait_text (holder->err, " ms before anybody else could hold the lock\n", 0)
               || cli_wait_text (holder->err, "killed in time while zkflock was stopped\n", 0));
  cli_hand_over (holder, 75, next);
}

TEST (stopped_for_twice_the_timeout)
{
  g_autoptr (Cli) holder = start_stubborn (fixture_server (fixture), "/stopped");
  g_autoptr (Cli) next = cli_next_in_line (fixture, "/stopped");

  kill (holder->pid, SIGSTOP);
  wait_ms (2 * LOSS_MS);
  const gint64 continued = wait_now_ns ();
  kill (holder->pid, SIGCONT);
  cli_hand_over (holder, 75, next);
  /* Not even while we were stopped did anything run beside the next one. */
  assert_true (cli_last_beat (holder->log) < continued);
}

/* What a command leaves in its group would go on without the lock. */
TEST (p37_leftovers_end_with_the_command)
{
  g_autoptr (Cli) holder = cli_zkflock (fixture_server (fixture), "/leave", COMMAND ("leave"));

  cli_ends (holder, 4, NULL);
  const gint64 last = cli_last_beat (holder->log);
  wait_ms (300);
  assert_true (last > 0);
  assert_int_equal (cli_last_beat (holder->log), last);
}

TEST (p37_signals_go_to_the_command)
{
  static const struct
  {
    const char *mode;
    int signal;
    int code;
  } rows[] = { { "polite", SIGTERM, 5 }, { "beat", SIGUSR1, 128 + SIGUSR1 } };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autoptr (Cli) cli =
        cli_zkflock (fixture_server (fixture), "/polite", COMMAND (rows[i].mode), "5");
    cli_beats (cli, 1);
    kill (cli->pid, rows[i].signal);
    cli_ends (cli, rows[i].code, NULL);
    assert_int_equal (cli_wait_lines (cli->log, "GOT", 1, 0), rows[i].code == 5);
  }
}

/* Between the cut and the proof that the hold lives on the group does not beat. */
TEST (pauses_while_in_doubt)
{
  g_autoptr (Cli) holder = cli_zkflock (fixture_proxy (fixture), "--verbose", "--session-timeout",
                                        "40", "--on-suspend=pause", "/pause", COMMAND ("beat"));

  cli_beats (holder, 1);
  wait_ms (500);
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  cli_says (holder, "the command is stopped");
  const gint64 paused = cli_end_of_beats (holder->log);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_soon (cli_last_beat (holder->log) > paused);
  assert_int_equal (cli_wait (holder, 0), -1);
}

/* A silent network, and sessions so short that TERM comes before the lease is SUSPECT. */
TEST (doubt_comes_before_the_end)
{
  static const char *const sessions[] = { "4", "6", "8", "10" };
  static const struct
  {
    const char *option;
    const char *said;
  } rows[] = {
    { "--on-suspend=pause", "the command is stopped" },
    { "--on-suspend=kill", "the hold is in doubt: TERM" },
  };
  enum
  {
    N = G_N_ELEMENTS (sessions) * G_N_ELEMENTS (rows)
  };
  Cli *holders[N];
  int n_told[2] = { 0 };

  for (int i = 0; i < N; i++) {
    g_autofree char *path = g_strdup_printf ("/order%d", i);
    holders[i] = cli_zkflock (fixture_proxy (fixture), "--verbose", "--session-timeout",
                              sessions[i / 2], rows[i % 2].option, path, COMMAND ("beat"));
    assert_soon (cli_wait_lines (holders[i]->log, "BEAT", 1, 0) || cli_wait (holders[i], 0) >= 0);
  }
  wait_ms (2000);
  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  for (int i = 0; i < N; i++) {
    cli_ends (holders[i], 75, NULL);
    g_autofree char *err = cli_stderr (holders[i]);
    const char *doubt = strstr (err, rows[i % 2].said);
    const char *end = strstr (err, "unless the server answers: TERM");
    n_told[i % 2] += doubt != NULL;
    if (end != NULL && (doubt == NULL || end < doubt))
      fail_msg ("T = %s s, %s:\n%s", sessions[i / 2], rows[i % 2].option, err);
    cli_free (holders[i]);
  }
  assert_true (n_told[0] > 0 && n_told[1] > 0);
}

/* Whatever the command makes of TERM, it was zkflock that ended it; and nothing was lost. */
TEST (ends_while_in_doubt)
{
  static const char *const modes[] = { "stubborn", "polite", "beat" };
  static const char *const unsaid[] = { "the hold ends in", "proven again", "lock lost" };

  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++) {
    g_autofree char *path = g_strdup_printf ("/doubt/%s", modes[i]);
    g_autoptr (Cli) holder =
        cli_zkflock (fixture_proxy (fixture), "--verbose", "--session-timeout", "40",
                     "--on-suspend=kill", "--kill-after", "0.2", path, COMMAND (modes[i]), "0");
    cli_beats (holder, 1);
    wait_ms (500);
    proxy_set_mode (fixture->proxy, PROXY_REFUSE);
    cli_ends (holder, 75, "in doubt: TERM to the command");
    proxy_set_mode (fixture->proxy, PROXY_PASS);
    for (gsize k = 0; k < G_N_ELEMENTS (unsaid); k++)
      cli_says_not (holder, unsaid[k]);
    cli_says (holder, "the hold was in doubt: the command was ended");
  }
}

/* The command has ended, and the server does not answer: zkflock does not stay until the session
 * has ended there. The session ends before a stay of 15 s, and so late that a busy machine may
 * delay zkflock by some seconds. */
TEST (does_not_wait_for_a_silent_server)
{
  g_autoptr (Cli) holder = cli_holding (
      cli_zkflock (fixture_proxy (fixture), "-n", "--session-timeout", "12", "/silent"));

  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  cli_close_stdin (holder);
  cli_ends (holder, 0, "release not confirmed");
  assert_int_equal (raw_zk_count_children (fixture->raw, "/silent"), 1);
}

SUITE ("loss", fixture_start_slow, fixture_stop)
