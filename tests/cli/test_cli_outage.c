/* The table of moments in the documents, measured: proxies go silent at a known moment, and the commands
 * themselves and another zkflock behind them tell what has happened.
 *
 * CURATOR_OUTAGES=all: for every session timeout of the table, in about two minutes.
 */
#include "cli.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* The table is for servers that tick every two seconds, whose sessions last 40 s at most. */
#define LONGEST_MS   40000
#define LONG_SESSION 60
#define LONG_TICK_MS 3000
#define MAX_ROWS     6
/* A busy machine delays heartbeats, so a moment may come sooner after the silence than it should, and
 * what follows from it later. */
#define EARLY_MS 600
#define LATE_MS  2500
#define MS_IN_NS G_GINT64_CONSTANT (1000000)

/* A row of the table: milliseconds since the last request that was confirmed. */
typedef struct
{
  gint64 session_ms;
  gint64 doubt_ms, term_ms, kill_ms, end_ms, grant_ms;
  gint64 survived_ms; /* an outage at the worst moment */
} Row;

enum
{
  PAUSED,
  TERMED,
  KILLED,
  N_HOLDERS
};

/* One command under its lock, behind a proxy of its own. */
typedef struct
{
  Proxy *proxy;
  Cli *cli;
  char *log;
  gint64 silent_ns; /* when the silence began */
} Holder;

typedef struct
{
  Row row;
  Holder holders[N_HOLDERS];
  Cli *next; /* waits for the lock of the one that is killed */
  char *next_log;
} Scene;

static gboolean
read_row (const char *page, int seconds, Row *row)
{
  g_autofree char *start = g_strdup_printf ("\n| %d s |", seconds);
  const char *at = strstr (page, start);
  gint64 *const cells[] = { &row->doubt_ms, &row->term_ms,  &row->kill_ms,
                            &row->end_ms,   &row->grant_ms, &row->survived_ms };

  row->session_ms = seconds * 1000;
  at = at != NULL ? at + strlen (start) : NULL;
  for (gsize i = 0; at != NULL && i < G_N_ELEMENTS (cells); i++)
    {
      char *end;
      *cells[i] = (gint64) (g_ascii_strtod (at, &end) * 1000 + 0.5);
      at = g_str_has_prefix (end, " s |") ? end + strlen (" s |") : NULL;
    }
  return at != NULL;
}

static gboolean
wants_all (void)
{
  return g_strcmp0 (g_getenv ("CURATOR_OUTAGES"), "all") == 0;
}

static int
read_rows (Row *rows, const int *seconds, int n)
{
  g_autofree char *page = NULL;

  assert_true (g_file_get_contents (CURATOR_SOURCE_DIR "/docs/zkflock.md", &page, NULL, NULL));
  for (int i = 0; i < n; i++)
    {
      if (!read_row (page, seconds[i], &rows[i]))
        {
          fail_msg ("docs/zkflock.md: no row of moments for %d s", seconds[i]);
        }
    }
  return n;
}

static void
start_holder (Fixture *fixture, Holder *holder, const Row *row, const char *path,
              const char *on_suspend, const char *mode)
{
  g_autofree char *seconds = g_strdup_printf ("%d", (int) (row->session_ms / 1000));

  holder->log = cli_new_file ();
  holder->proxy = proxy_new (fixture_server (fixture));
  assert_non_null (holder->proxy);
  holder->cli =
      cli_zkflock (proxy_address (holder->proxy), "--session-timeout", seconds, "--on-suspend",
                   on_suspend, path, CLI_COMMAND, mode, holder->log, "0", NULL);
}

/* At the second heartbeat from now: its request is held back with all that follows. */
static void
silence_at_a_heartbeat (Holder *holder)
{
  assert_true (cli_wait_lines (holder->log, "BEAT", 1, CLI_MS));
  proxy_arm (holder->proxy, PROXY_MULTI, 2, 1, PROXY_HOLE_BEFORE);
}

static void
free_holder (Holder *holder)
{
  cli_free (holder->cli);
  proxy_free (holder->proxy);
  g_unlink (holder->log);
  g_free (holder->log);
}

static void
start_scene (Fixture *fixture, Scene *scene)
{
  static const char *const modes[][2] = { { "pause", "beat" },
                                          { "continue", "polite" },
                                          { "continue", "stubborn" } };
  const int seconds = (int) (scene->row.session_ms / 1000);
  g_autofree char *last = NULL;

  for (int i = 0; i < N_HOLDERS; i++)
    {
      g_autofree char *path = g_strdup_printf ("/outage/%d/%s", seconds, modes[i][1]);
      start_holder (fixture, &scene->holders[i], &scene->row, path, modes[i][0], modes[i][1]);
      g_free (last);
      last = g_steal_pointer (&path);
    }
  for (int i = 0; i < N_HOLDERS; i++)
    {
      assert_true (cli_wait_lines (scene->holders[i].log, "BEAT", 1, CLI_MS));
    }
  scene->next_log = cli_new_file ();
  scene->next = cli_zkflock (fixture_server (fixture), "--session-timeout", "30", last, CLI_COMMAND,
                             "turn", scene->next_log, "0", NULL);
  assert_true (raw_zk_wait_children (fixture->raw, last, 2, CLI_MS));
}

/* Notes when each silence begins. */
static void
wait_for_silence (Scene *scenes, int n)
{
  const gint64 until = wait_now_ms () + CLI_MS;
  int left = n * N_HOLDERS;

  while (left > 0 && wait_now_ms () < until)
    {
      for (int i = 0; i < n * N_HOLDERS; i++)
        {
          Holder *holder = &scenes[i / N_HOLDERS].holders[i % N_HOLDERS];
          if (holder->silent_ns == 0 && proxy_fired (holder->proxy) > 0)
            {
              holder->silent_ns = wait_now_ns ();
              left--;
            }
        }
      wait_ms (2);
    }
  assert_int_equal (left, 0);
}

/* Since the last request that was confirmed: the heartbeat before the one that was held back. */
static gint64
moment_ms (const Scene *scene, int which, gint64 at_ns)
{
  return (at_ns - scene->holders[which].silent_ns) / MS_IN_NS + scene->row.session_ms / 6;
}

static void
assert_about (const char *what, const Row *row, gint64 measured_ms, gint64 wanted_ms)
{
  if (measured_ms < wanted_ms - EARLY_MS || measured_ms > wanted_ms + LATE_MS)
    {
      fail_msg ("T = %d s: %s at %d ms, and the documents say %d ms",
                (int) (row->session_ms / 1000), what, (int) measured_ms, (int) wanted_ms);
    }
}

static void
judge (Scene *scene)
{
  const Row *row = &scene->row;

  for (int i = 0; i < N_HOLDERS; i++)
    {
      assert_int_equal (cli_wait (scene->holders[i].cli, CLI_MS), 75);
    }
  assert_int_equal (cli_wait (scene->next, 2 * CLI_MS), 0);
  const gint64 paused = moment_ms (scene, PAUSED, cli_end_of_beats (scene->holders[PAUSED].log));
  const gint64 term = moment_ms (scene, TERMED, cli_number (scene->holders[TERMED].log, "GOT "));
  const gint64 killed_ns = cli_end_of_beats (scene->holders[KILLED].log);
  const gint64 killed = moment_ms (scene, KILLED, killed_ns);
  const gint64 granted_ns = cli_number (scene->next_log, "IN ");
  const gint64 granted = moment_ms (scene, KILLED, granted_ns);

  print_message ("T = %2d s: stopped %.2f s, TERM %.2f s, KILL %.2f s, next grant %.2f s\n",
                 (int) (row->session_ms / 1000), (double) paused / 1000, (double) term / 1000,
                 (double) killed / 1000, (double) granted / 1000);
  assert_about ("stopped", row, paused, row->doubt_ms);
  assert_about ("TERM", row, term, row->term_ms);
  assert_about ("KILL", row, killed, row->kill_ms);
  assert_true (killed_ns < granted_ns);
  /* A server ends a session when a tick of its own ends. */
  assert_true (granted >= row->grant_ms - EARLY_MS);
  assert_true (granted <= row->grant_ms + 2 * LONG_TICK_MS + LATE_MS);
}

static void
measure_moments (Fixture *fixture, const int *seconds, int n)
{
  Scene scenes[MAX_ROWS] = { 0 };
  Row rows[MAX_ROWS];

  read_rows (rows, seconds, n);
  for (int i = 0; i < n; i++)
    {
      scenes[i].row = rows[i];
      start_scene (fixture, &scenes[i]);
    }
  for (int i = 0; i < n * N_HOLDERS; i++)
    {
      silence_at_a_heartbeat (&scenes[i / N_HOLDERS].holders[i % N_HOLDERS]);
    }
  wait_for_silence (scenes, n);
  for (int i = 0; i < n; i++)
    {
      judge (&scenes[i]);
      for (int k = 0; k < N_HOLDERS; k++)
        {
          free_holder (&scenes[i].holders[k]);
        }
      cli_free (scenes[i].next);
      g_unlink (scenes[i].next_log);
      g_free (scenes[i].next_log);
    }
}

static void
moments_of_a_silence_that_lasts (void **state)
{
  static const int seconds[] = { 4, 6, 10, 20, 30 };
  measure_moments (*state, seconds, wants_all () ? (int) G_N_ELEMENTS (seconds) : 2);
}

static void
moments_of_a_long_session (void **state)
{
  static const int seconds[] = { LONG_SESSION };
  measure_moments (*state, seconds, 1);
}

/* An outage at the worst moment, when a heartbeat is just due: its answer is late, and proves nothing. The
 * next one is sent at once, so that the command does not even get TERM. */
static void
survive (Fixture *fixture, int seconds)
{
  Row row;
  Holder holder = { 0 };
  g_autofree char *path = g_strdup_printf ("/survived/%d", seconds);

  read_rows (&row, &seconds, 1);
  start_holder (fixture, &holder, &row, path, "continue", "polite");
  silence_at_a_heartbeat (&holder);
  assert_true (proxy_wait_fired (holder.proxy, 1, CLI_MS));
  /* The rest is for the machine. */
  wait_ms ((int) MAX (row.survived_ms - 500, row.survived_ms / 2));
  proxy_set_mode (holder.proxy, PROXY_PASS);
  wait_ms ((int) row.term_ms);
  if (cli_wait_lines (holder.log, "GOT", 1, 0) || cli_wait (holder.cli, 0) != -1)
    {
      g_autofree char *err = cli_stderr (holder.cli);
      fail_msg ("T = %d s: an outage ended the command: %s", seconds, err);
    }
  kill (holder.cli->pid, SIGTERM);
  assert_int_equal (cli_wait (holder.cli, CLI_MS), 0);
  free_holder (&holder);
}

static void
an_outage_that_is_survived (void **state)
{
  static const int seconds[] = { 10, 6, 20, 30 };

  for (int i = 0; i < (wants_all () ? (int) G_N_ELEMENTS (seconds) : 1); i++)
    {
      survive (*state, seconds[i]);
    }
}

static void
an_outage_that_a_long_session_survives (void **state)
{
  survive (*state, LONG_SESSION);
}

static int
start (void **state)
{
  return fixture_start_for_sessions (state, LONGEST_MS);
}

static int
start_long (void **state)
{
  return fixture_start_for_sessions (state, LONG_SESSION * 1000);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (moments_of_a_silence_that_lasts),
    cmocka_unit_test (an_outage_that_is_survived),
  };
  const struct CMUnitTest of_long_sessions[] = {
    cmocka_unit_test (moments_of_a_long_session),
    cmocka_unit_test (an_outage_that_a_long_session_survives),
  };
  const int failed = cmocka_run_group_tests (tests, start, fixture_stop);
  return failed != 0 || !wants_all ()
             ? failed
             : cmocka_run_group_tests (of_long_sessions, start_long, fixture_stop);
}
