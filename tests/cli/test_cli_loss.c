/* The command never outlives the lock: frozen servers, a stopped or killed zkflock, signals. */
#include "cli.h"

#include <signal.h>
#include <string.h>

#define SESSION_TEXT "6"
#define LOSS_MS      6000 /* the same */

/* Servers frozen under a command whose grandchild ignores TERM. Another contender waits; when it
 * comes in, the last beat of the whole group must be over. */
TEST (p37_dead_before_the_next_one_holds)
{
  LOG beats = cli_new_file ();
  LOG turns = cli_new_file ();
  g_autoptr (Cli) holder =
      cli_zkflock (fixture_server (fixture), "--session-timeout", SESSION_TEXT, "--kill-after",
                   "0.3", "/frozen", CLI_COMMAND, "stubborn", beats, NULL);

  assert_true (cli_wait_lines (beats, "BEAT", 4, CLI_MS));
  g_autoptr (Cli) next = cli_zkflock (fixture_server (fixture), "--session-timeout", "10",
                                      "/frozen", CLI_COMMAND, "turn", turns, "0", NULL);
  assert_true (raw_zk_wait_children (fixture->raw, "/frozen", 2, CLI_MS));
  zk_server_freeze (fixture->server);
  const int code = cli_wait (holder, CLI_MS);
  zk_server_thaw (fixture->server);
  assert_int_equal (code, 75);
  g_autofree char *err = cli_stderr (holder);
  assert_true (g_str_has_prefix (err, "zkflock: /frozen: lock lost: the command was dead "));
  assert_non_null (strstr (err, " ms before anybody else could hold the lock\n"));
  assert_int_equal (cli_wait (next, CLI_MS), 0);
  assert_true (cli_end_of_beats (beats) < cli_number (turns, "IN "));
}

/* The same without a thaw: what the server would do with its clock running is measured by a hole in
 * the network, which lets the server expire the session at its time. */
TEST (p37_dead_before_the_session_ends)
{
  LOG beats = cli_new_file ();
  LOG turns = cli_new_file ();
  g_autoptr (Cli) holder =
      cli_zkflock (fixture_proxy (fixture), "--session-timeout", SESSION_TEXT, "--kill-after",
                   "0.3", "/hole", CLI_COMMAND, "stubborn", beats, NULL);

  assert_true (cli_wait_lines (beats, "BEAT", 4, CLI_MS));
  g_autoptr (Cli) next =
      cli_zkflock (fixture_server (fixture), "/hole", CLI_COMMAND, "turn", turns, "0", NULL);
  assert_true (raw_zk_wait_children (fixture->raw, "/hole", 2, CLI_MS));
  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  assert_int_equal (cli_wait (next, CLI_MS), 0);
  assert_int_equal (cli_wait (holder, CLI_MS), 75);
  assert_true (cli_end_of_beats (beats) < cli_number (turns, "IN "));
}

/* A server that comes back in time cancels everything. */
TEST (a_short_outage_is_survived)
{
  LOG log = cli_new_file ();
  g_autoptr (Cli) holder = cli_zkflock (fixture_proxy (fixture), "--session-timeout", "10",
                                        "/short", CLI_COMMAND, "turn", log, "5000", NULL);

  assert_true (cli_wait_lines (log, "IN", 1, CLI_MS));
  wait_ms (500);
  proxy_cut (fixture->proxy);
  assert_int_equal (cli_wait (holder, CLI_MS), 0);
}

TEST (stopped_for_twice_the_timeout)
{
  LOG beats = cli_new_file ();
  LOG turns = cli_new_file ();
  g_autoptr (Cli) holder = cli_zkflock (fixture_server (fixture), "--session-timeout", SESSION_TEXT,
                                        "/stopped", CLI_COMMAND, "stubborn", beats, NULL);

  assert_true (cli_wait_lines (beats, "BEAT", 4, CLI_MS));
  g_autoptr (Cli) next =
      cli_zkflock (fixture_server (fixture), "/stopped", CLI_COMMAND, "turn", turns, "0", NULL);
  assert_true (raw_zk_wait_children (fixture->raw, "/stopped", 2, CLI_MS));
  kill (holder->pid, SIGSTOP);
  wait_ms (2 * LOSS_MS);
  const gint64 continued = wait_now_ns ();
  kill (holder->pid, SIGCONT);
  assert_int_equal (cli_wait (holder, CLI_MS), 75);
  assert_int_equal (cli_wait (next, CLI_MS), 0);
  /* Not even while we were stopped did anything run beside the next one. */
  const gint64 last = cli_end_of_beats (beats);
  assert_true (last < cli_number (turns, "IN "));
  assert_true (last < continued);
}

TEST (p37_killed_with_all_its_children)
{
  LOG beats = cli_new_file ();
  g_autoptr (Cli) holder =
      cli_zkflock (fixture_server (fixture), "/killed", CLI_COMMAND, "stubborn", beats, NULL);

  assert_true (cli_wait_lines (beats, "BEAT", 4, CLI_MS));
  const gint64 before = wait_now_ns ();
  kill (holder->pid, SIGKILL); /* its session lives on for a while */
  assert_int_equal (cli_wait (holder, CLI_MS), 1000 + SIGKILL);
  assert_true (cli_end_of_beats (beats) - before < LOSS_MS * G_GINT64_CONSTANT (1000000));
}

/* What a command leaves in its group would go on without the lock. */
TEST (p37_leftovers_end_with_the_command)
{
  LOG beats = cli_new_file ();
  g_free (cli_run (fixture, 4, "/leave", CLI_COMMAND, "leave", beats, NULL));

  const gint64 last = cli_last_beat (beats);
  wait_ms (300);
  assert_true (last > 0);
  assert_int_equal (cli_last_beat (beats), last);
}

TEST (p37_signals_go_to_the_command)
{
  LOG log = cli_new_file ();
  g_autoptr (Cli) polite =
      cli_zkflock (fixture_server (fixture), "/polite", CLI_COMMAND, "polite", log, "5", NULL);

  assert_true (cli_wait_lines (log, "BEAT", 1, CLI_MS));
  kill (polite->pid, SIGTERM);
  assert_int_equal (cli_wait (polite, CLI_MS), 5);
  assert_true (cli_wait_lines (log, "GOT", 1, 0));

  LOG beats = cli_new_file ();
  g_autoptr (Cli) plain =
      cli_zkflock (fixture_server (fixture), "/polite", CLI_COMMAND, "beat", beats, NULL);
  assert_true (cli_wait_lines (beats, "BEAT", 1, CLI_MS));
  kill (plain->pid, SIGUSR1);
  assert_int_equal (cli_wait (plain, CLI_MS), 128 + SIGUSR1);
}

TEST (p37_second_term_kills)
{
  LOG beats = cli_new_file ();
  g_autoptr (Cli) holder =
      cli_zkflock (fixture_server (fixture), "/second", CLI_COMMAND, "stubborn", beats, NULL);

  assert_true (cli_wait_lines (beats, "BEAT", 4, CLI_MS));
  kill (holder->pid, SIGTERM);
  wait_ms (300);
  assert_int_equal (cli_wait (holder, 0), -1);
  kill (holder->pid, SIGTERM);
  assert_int_equal (cli_wait (holder, CLI_MS), 128 + SIGKILL);
  cli_end_of_beats (beats);
}

/* Between the cut and the proof that the hold lives on the group does not beat. */
TEST (pauses_while_in_doubt)
{
  LOG beats = cli_new_file ();
  g_autoptr (Cli) holder =
      cli_zkflock (fixture_proxy (fixture), "--verbose", "--session-timeout", "10",
                   "--on-suspend=pause", "/pause", CLI_COMMAND, "beat", beats, NULL);

  assert_true (cli_wait_lines (beats, "BEAT", 1, CLI_MS));
  wait_ms (500);
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  assert_true (cli_wait_text (holder->err, "the command is stopped", CLI_MS));
  const gint64 paused = cli_end_of_beats (beats);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  gint64 later = paused;
  for (int i = 0; i < CLI_MS / 50 && later == paused; i++)
    {
      wait_ms (50);
      later = cli_last_beat (beats);
    }
  assert_true (later > paused);
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

  for (int i = 0; i < N; i++)
    {
      LOG beats = cli_new_file ();
      g_autofree char *path = g_strdup_printf ("/order%d", i);
      holders[i] =
          cli_zkflock (fixture_proxy (fixture), "--verbose", "--session-timeout", sessions[i / 2],
                       rows[i % 2].option, path, CLI_COMMAND, "beat", beats, NULL);
      assert_true (cli_wait_lines (beats, "BEAT", 1, CLI_MS));
    }
  wait_ms (2000);
  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  for (int i = 0; i < N; i++)
    {
      assert_int_equal (cli_wait (holders[i], CLI_MS), 75);
      g_autofree char *err = cli_stderr (holders[i]);
      const char *doubt = strstr (err, rows[i % 2].said);
      const char *end = strstr (err, "unless the server answers: TERM");
      if (doubt == NULL || (end != NULL && end < doubt))
        fail_msg ("T = %s s, %s:\n%s", sessions[i / 2], rows[i % 2].option, err);
      cli_free (holders[i]);
    }
}

/* Whatever the command makes of TERM, it was zkflock that ended it; and nothing was lost. */
TEST (ends_while_in_doubt)
{
  static const char *const modes[] = { "stubborn", "polite", "beat" };
  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      LOG beats = cli_new_file ();
      g_autofree char *path = g_strdup_printf ("/doubt/%s", modes[i]);
      g_autoptr (Cli) holder = cli_zkflock (
          fixture_proxy (fixture), "--verbose", "--session-timeout", "10", "--on-suspend=kill",
          "--kill-after", "0.2", path, CLI_COMMAND, modes[i], beats, "0", NULL);

      assert_true (cli_wait_lines (beats, "BEAT", 1, CLI_MS));
      wait_ms (500);
      proxy_set_mode (fixture->proxy, PROXY_REFUSE);
      assert_int_equal (cli_wait (holder, CLI_MS), 75);
      proxy_set_mode (fixture->proxy, PROXY_PASS);
      assert_true (cli_wait_text (holder->err, "in doubt: TERM to the command", 0));
      assert_false (cli_wait_text (holder->err, "the hold ends in", 0));
      assert_false (cli_wait_text (holder->err, "proven again", 0));
      assert_false (cli_wait_text (holder->err, "lock lost", 0));
      assert_true (cli_wait_text (holder->err, "the hold was in doubt: the command was ended", 0));
    }
}

/* The command has ended, and the server does not answer: zkflock does not stay until the session
 * has ended there. The session ends before a stay of 15 s, and so late that a busy machine may
 * delay zkflock by some seconds. */
TEST (does_not_wait_for_a_silent_server)
{
  g_autoptr (Cli) holder =
      cli_zkflock (fixture_proxy (fixture), "-n", "--session-timeout", "14", "/silent", NULL);

  assert_true (cli_wait_lines (holder->out, "", 1, CLI_MS));
  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  cli_close_stdin (holder);
  assert_int_equal (cli_wait (holder, CLI_MS), 0);
  assert_int_equal (raw_zk_count_children (fixture->raw, "/silent"), 1);
  assert_true (cli_wait_text (holder->err, "release not confirmed", 0));
}

TEST (lets_go_when_asked)
{
  LOG log = cli_new_file ();
  g_autoptr (Cli) holder = cli_zkflock (fixture_server (fixture), "--revocable", "/asked",
                                        CLI_COMMAND, "polite", log, "6", NULL);

  assert_true (cli_wait_lines (log, "BEAT", 1, CLI_MS));
  wait_ms (500);
  g_free (cli_run (fixture, 0, "revoke", "/asked", NULL));
  assert_int_equal (cli_wait (holder, CLI_MS), 6);
  g_free (cli_run (fixture, 1, "revoke", "/asked", NULL));
}

TEST (releases_a_hold_when_asked)
{
  g_autoptr (Cli) holder =
      cli_zkflock (fixture_server (fixture), "--revocable", "/asked-hold", NULL);

  assert_true (cli_wait_lines (holder->out, "", 1, CLI_MS));
  g_free (cli_run (fixture, 0, "revoke", "/asked-hold", NULL));
  assert_int_equal (cli_wait (holder, CLI_MS), 0);
}

SUITE ("loss", fixture_start, fixture_stop)
