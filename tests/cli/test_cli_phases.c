/* P37: whatever ends the runner, and whenever, nothing of its process group runs when the next one
 * holds. */
#include "cli.h"

#include "support/net.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SESSION_TEXT "10" /* the longest that the server grants: no pause of ours shall end it */

static const int all_signals[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGKILL /* last */ };

/* How its parent sees an end by that signal. */
static int
code_of (int signal)
{
  return signal == SIGKILL ? 1000 + SIGKILL : 128 + signal;
}

/* A zombie runs nothing. */
static gboolean
runs (pid_t pid)
{
  g_autofree char *file = g_strdup_printf ("/proc/%d/stat", (int) pid);
  g_autofree char *text = NULL;

  if (!g_file_get_contents (file, &text, NULL, NULL))
    return FALSE;
  const char *state = strrchr (text, ')') + 2;
  return *state != 'Z' && *state != 'X';
}

static gboolean
none_runs (gpointer data)
{
  GArray *pids = data;
  for (guint i = 0; i < pids->len; i++)
    if (runs (g_array_index (pids, pid_t, i)))
      return FALSE;
  return TRUE;
}

/* Whose parent it is now: the launcher and the guard, before there is a command. */
static GArray *
children_of (pid_t pid)
{
  g_autoptr (GDir) proc = g_dir_open ("/proc", 0, NULL);
  GArray *children = g_array_new (FALSE, FALSE, sizeof (pid_t));

  for (const char *name; (name = g_dir_read_name (proc)) != NULL;)
    {
      const pid_t child = (pid_t) g_ascii_strtoll (name, NULL, 10);
      g_autofree char *file = g_build_filename ("/proc", name, "stat", NULL);
      g_autofree char *text = NULL;
      int parent;
      if (child > 0 && g_file_get_contents (file, &text, NULL, NULL)
          && sscanf (strrchr (text, ')') + 1, " %*c %d", &parent) == 1 && parent == pid)
        g_array_append_val (children, child);
    }
  return children;
}

static gboolean
has_helpers (gpointer data)
{
  const Cli *cli = data;
  g_autoptr (GArray) children = children_of (cli->pid);
  return children->len == 2;
}

/* Ends it by that signal; its helpers must go, too. */
static void
end_before_the_grant (Cli *cli, int signal)
{
  assert_true (wait_until (has_helpers, cli, CLI_MS));
  g_autoptr (GArray) helpers = children_of (cli->pid);
  kill (cli->pid, signal);
  assert_int_equal (cli_wait (cli, CLI_MS), code_of (signal));
  assert_true (wait_until (none_runs, helpers, CLI_MS));
}

TEST (p37_while_connecting)
{
  g_autofree char *host = zk_server_new_host ();
  g_autofree char *address = g_strdup_printf ("%s:%d", host, zk_server_free_port (host));
  LOG log = cli_new_file ();

  for (gsize i = 0; i < G_N_ELEMENTS (all_signals); i++)
    {
      g_autoptr (Cli) cli = cli_zkflock (address, "--session-timeout", "60", "/connecting",
                                         CLI_COMMAND, "beat", log, NULL);
      end_before_the_grant (cli, all_signals[i]);
    }
  assert_int_equal (cli_last_beat (log), 0);
}

TEST (p37_while_waiting)
{
  LOG log = cli_new_file ();
  g_autoptr (Cli) holder = cli_hold (fixture, "/waiting", NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (all_signals); i++)
    {
      g_autoptr (Cli) waiter =
          cli_zkflock (fixture_server (fixture), "--session-timeout", SESSION_TEXT, "/waiting",
                       CLI_COMMAND, "beat", log, NULL);
      assert_true (raw_zk_wait_children (fixture->raw, "/waiting", 2, CLI_MS));
      end_before_the_grant (waiter, all_signals[i]);
      assert_true (raw_zk_wait_children (fixture->raw, "/waiting", 1, CLI_MS));
    }
  cli_close_stdin (holder);
  assert_int_equal (cli_wait (holder, CLI_MS), 0);
  assert_int_equal (cli_last_beat (log), 0);
}

/* Who beats in the log: the command and what it started. */
static GArray *
members (const char *log)
{
  g_auto (GStrv) lines = cli_lines (log);
  GArray *pids = g_array_new (FALSE, FALSE, sizeof (pid_t));

  for (char **line = lines; *line != NULL; line++)
    {
      if (g_str_has_prefix (*line, "BEAT "))
        {
          const pid_t pid = (pid_t) g_ascii_strtoll (*line + 5, NULL, 10);
          gboolean known = FALSE;
          for (guint i = 0; i < pids->len; i++)
            known = known || g_array_index (pids, pid_t, i) == pid;
          if (!known)
            g_array_append_val (pids, pid);
        }
    }
  return pids;
}

typedef struct
{
  const char *log;
  guint n;
} Crowd;

static gboolean
has_members (gpointer data)
{
  const Crowd *crowd = data;
  g_autoptr (GArray) pids = members (crowd->log);
  return pids->len >= crowd->n;
}

typedef struct
{
  const char *mode;    /* of the command */
  gboolean in_a_shell; /* that stays its parent */
  guint n;             /* processes that beat */
  gboolean ignores_term;
} Shape;

static Cli *
start_shape (Fixture *fixture, const Shape *shape, const char *path, const char *log)
{
  g_autofree char *string = g_strdup_printf ("%s %s %s; exit $?", CLI_COMMAND, shape->mode, log);
  const char *server = fixture_server (fixture);

  return shape->in_a_shell
             ? cli_zkflock (server, "--session-timeout", SESSION_TEXT, path, "-c", string, NULL)
             : cli_zkflock (server, "--session-timeout", SESSION_TEXT, path, CLI_COMMAND,
                            shape->mode, log, NULL);
}

static const Shape shapes[] = {
  { .mode = "beat", .n = 1 },
  { .mode = "stubborn", .n = 2, .ignores_term = TRUE },
  { .mode = "daemon", .n = 2 },
  { .mode = "beat", .in_a_shell = TRUE, .n = 1 },
};

/* A command of that shape, and somebody who waits for its lock. */
typedef struct
{
  const Shape *shape;
  int signal;
  char *beats; /* files */
  char *turns;
  GArray *pids;
  Cli *holder;
  Cli *next;
} Round;

static Round *
round_new (Fixture *fixture, const Shape *shape, int signal)
{
  Round *self = g_new0 (Round, 1);
  g_autofree char *path =
      g_strdup_printf ("/running/%s%d-%d", shape->mode, shape->in_a_shell, signal);

  *self = (Round){
    .shape = shape, .signal = signal, .beats = cli_new_file (), .turns = cli_new_file ()
  };
  self->holder = start_shape (fixture, shape, path, self->beats);
  Crowd crowd = { .log = self->beats, .n = shape->n };
  assert_true (wait_until (has_members, &crowd, CLI_MS));
  self->next =
      cli_zkflock (fixture_server (fixture), path, CLI_COMMAND, "turn", self->turns, "0", NULL);
  assert_true (raw_zk_wait_children (fixture->raw, path, 2, CLI_MS));
  self->pids = members (self->beats);
  return self;
}

static void
round_end (Round *self)
{
  kill (self->holder->pid, self->signal);
  if (self->signal == SIGTERM && self->shape->ignores_term)
    {
      /* Both would be one while the first is still pending. */
      wait_ms (200);
      assert_int_equal (cli_wait (self->holder, 0), -1);
      kill (self->holder->pid, SIGTERM);
      assert_int_equal (cli_wait (self->holder, CLI_MS), 128 + SIGKILL);
    }
  else
    {
      assert_int_equal (cli_wait (self->holder, CLI_MS), code_of (self->signal));
    }
}

static void
round_check_and_free (Round *self)
{
  print_message ("%s%s, signal %d\n", self->shape->mode, self->shape->in_a_shell ? " in sh" : "",
                 self->signal);
  assert_int_equal (cli_wait (self->next, CLI_MS), 0);
  assert_true (cli_end_of_beats (self->beats) < cli_number (self->turns, "IN "));
  assert_true (none_runs (self->pids));
  cli_free (self->next);
  cli_free (self->holder);
  g_array_unref (self->pids);
  g_unlink (self->turns);
  g_unlink (self->beats);
  g_free (self->turns);
  g_free (self->beats);
  g_free (self);
}

TEST (p37_while_running)
{
  for (gsize i = 0; i < G_N_ELEMENTS (shapes); i++)
    {
      for (gsize j = 0; all_signals[j] != SIGKILL; j++)
        {
          Round *round = round_new (fixture, &shapes[i], all_signals[j]);
          round_end (round);
          round_check_and_free (round);
        }
    }
}

/* Nobody is left who could release: the next ones wait for the sessions to end, all at once. */
TEST (p37_killed_while_running)
{
  Round *rounds[G_N_ELEMENTS (shapes)];

  for (gsize i = 0; i < G_N_ELEMENTS (shapes); i++)
    rounds[i] = round_new (fixture, &shapes[i], SIGKILL);
  for (gsize i = 0; i < G_N_ELEMENTS (shapes); i++)
    round_end (rounds[i]);
  for (gsize i = 0; i < G_N_ELEMENTS (shapes); i++)
    round_check_and_free (rounds[i]);
}

/* The command has ended and the server does not answer. A signal ends the wait for its word; the
 * command's own code stays. */
TEST (p37_while_releasing)
{
  for (gsize i = 0; i < G_N_ELEMENTS (all_signals); i++)
    {
      g_autofree char *path = g_strdup_printf ("/releasing/%d", all_signals[i]);
      g_autoptr (Cli) holder =
          cli_zkflock (fixture_proxy (fixture), "--verbose", "--session-timeout", "10", path, NULL);
      assert_true (cli_wait_lines (holder->out, "", 1, CLI_MS));
      proxy_set_mode (fixture->proxy, PROXY_HOLE);
      cli_close_stdin (holder);
      assert_true (cli_wait_text (holder->err, "releasing; ", CLI_MS));
      kill (holder->pid, all_signals[i]);
      assert_int_equal (cli_wait (holder, CLI_MS),
                        all_signals[i] == SIGKILL ? code_of (SIGKILL) : 0);
      proxy_set_mode (fixture->proxy, PROXY_PASS);
    }
}

SUITE ("phases", fixture_start, fixture_stop)
