/* P37: whatever ends the runner, and whenever, nothing of its process group runs when the next one
 * holds. */
#include "cli.h"

#include <signal.h>

#define SESSION_TEXT "20" /* no pause of ours shall end it */

static const int all_signals[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGKILL /* last */ };

/* How its parent sees an end by that signal. */
static int
code_of (int signal)
{
  return signal == SIGKILL ? 1000 + SIGKILL : 128 + signal;
}

static gboolean
none_runs (const GArray *pids)
{
  for (guint i = 0; i < pids->len; i++)
    if (cli_is_running (g_array_index (pids, pid_t, i)))
      return FALSE;
  return TRUE;
}

/* Ends it by that signal; its helpers must go, too, and its command never ran. */
static void
end_before_the_grant (Cli *cli, int signal)
{
  g_autoptr (GArray) helpers = cli_helpers (cli);

  kill (cli->pid, signal);
  cli_ends (cli, code_of (signal), NULL);
  assert_soon (none_runs (helpers));
  assert_int_equal (cli_last_beat (cli->log), 0);
}

TEST (p37_while_connecting)
{
  g_autofree char *address = cli_unused_address ();

  for (gsize i = 0; i < G_N_ELEMENTS (all_signals); i++) {
    g_autoptr (Cli) cli =
        cli_zkflock (address, "--session-timeout", "60", "/connecting", COMMAND ("beat"));
    end_before_the_grant (cli, all_signals[i]);
  }
}

TEST (p37_while_waiting)
{
  g_autoptr (Cli) holder = cli_hold (fixture, "/waiting");

  for (gsize i = 0; i < G_N_ELEMENTS (all_signals); i++) {
    g_autoptr (Cli) waiter = cli_zkflock (fixture_server (fixture), "--session-timeout",
                                          SESSION_TEXT, "/waiting", COMMAND ("beat"));
    assert_true (raw_zk_wait_children (fixture->raw, "/waiting", 2, CLI_MS));
    end_before_the_grant (waiter, all_signals[i]);
    assert_true (raw_zk_wait_children (fixture->raw, "/waiting", 1, CLI_MS));
  }
  cli_close_stdin (holder);
  cli_ends (holder, 0, NULL);
}

typedef struct
{
  const char *mode;   /* of the command */
  const char *string; /* for the shell that stays its parent, or NULL */
  guint n;            /* processes that beat */
  gboolean ignores_term;
} Shape;

static const Shape shapes[] = {
  { .mode = "beat", .n = 1 },
  { .mode = "stubborn", .n = 2, .ignores_term = TRUE },
  { .mode = "daemon", .n = 2 },
  { .mode = "shell", .string = CLI_COMMAND " beat \"$0\"; exit $?", .n = 1 },
};

static guint
count_beaters (const char *log)
{
  g_autoptr (GArray) pids = cli_beaters (log);
  return pids->len;
}

/* A command of that shape, and somebody who waits for its lock. */
typedef struct
{
  const Shape *shape;
  int signal;
  GArray *pids;
  Cli *holder;
  Cli *next;
} Round;

static Round
round_start (Fixture *fixture, const Shape *shape, int signal)
{
  g_autofree char *path = g_strdup_printf ("/running/%s-%d", shape->mode, signal);
  Round round = { .shape = shape, .signal = signal };
  const gboolean is_shell = shape->string != NULL;

  round.holder = cli_zkflock (fixture_server (fixture), "--verbose", "--session-timeout",
                              SESSION_TEXT, path, is_shell ? "/bin/sh" : CLI_COMMAND,
                              is_shell ? "-c" : shape->mode, shape->string, "LOG");
  assert_soon (count_beaters (round.holder->log) >= shape->n);
  round.next = cli_next_in_line (fixture, path);
  round.pids = cli_beaters (round.holder->log);
  return round;
}

static void
round_signal (const Round *round)
{
  kill (round->holder->pid, round->signal);
  if (round->signal == SIGTERM && round->shape->ignores_term) {
    /* Both would be one while the first is still pending. */
    cli_says (round->holder, "signal 15 goes to the command");
    wait_ms (200);
    assert_int_equal (cli_wait (round->holder, 0), -1);
    kill (round->holder->pid, SIGTERM);
    cli_ends (round->holder, 128 + SIGKILL, NULL);
  } else {
    cli_ends (round->holder, code_of (round->signal), NULL);
  }
}

static void
round_end (const Round *round)
{
  print_message ("%s, signal %d\n", round->shape->mode, round->signal);
  cli_hand_over (round->holder, cli_wait (round->holder, 0), round->next);
  assert_true (none_runs (round->pids));
  cli_free (round->next);
  cli_free (round->holder);
  g_array_unref (round->pids);
}

TEST (p37_while_running)
{
  for (gsize i = 0; i < G_N_ELEMENTS (shapes); i++) {
    for (gsize j = 0; all_signals[j] != SIGKILL; j++) {
      const Round round = round_start (fixture, &shapes[i], all_signals[j]);
      round_signal (&round);
      round_end (&round);
    }
  }
}

/* Nobody is left who could release: the next ones wait for the sessions to end, all at once. */
TEST (p37_killed_while_running)
{
  Round rounds[G_N_ELEMENTS (shapes)];

  for (gsize i = 0; i < G_N_ELEMENTS (shapes); i++)
    rounds[i] = round_start (fixture, &shapes[i], SIGKILL);
  for (gsize i = 0; i < G_N_ELEMENTS (shapes); i++)
    round_signal (&rounds[i]);
  for (gsize i = 0; i < G_N_ELEMENTS (shapes); i++)
    round_end (&rounds[i]);
}

/* The command has ended and the server does not answer. A signal ends the wait for its word; the
 * command's own code stays. */
TEST (p37_while_releasing)
{
  for (gsize i = 0; i < G_N_ELEMENTS (all_signals); i++) {
    g_autofree char *path = g_strdup_printf ("/releasing/%d", all_signals[i]);
    g_autoptr (Cli) holder = cli_holding (cli_zkflock (fixture_proxy (fixture), "--verbose",
                                                       "--session-timeout", SESSION_TEXT, path));
    proxy_set_mode (fixture->proxy, PROXY_HOLE);
    cli_close_stdin (holder);
    cli_says (holder, "releasing; ");
    kill (holder->pid, all_signals[i]);
    cli_ends (holder, all_signals[i] == SIGKILL ? code_of (SIGKILL) : 0, NULL);
    proxy_set_mode (fixture->proxy, PROXY_PASS);
  }
}

SUITE ("phases", fixture_start_slow, fixture_stop)
