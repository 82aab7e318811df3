/* The table of moments in the documents, measured: proxies go silent at a known moment, and the
 * commands themselves and another zkflock behind them tell what has happened.
 *
 * CURATOR_OUTAGES=all: for every session timeout of the table, in about two minutes, and nearer to
 * the edge.
 */
#include "cli.h"
#include "support/metronome.h"
#include "timeline.h"

#include <signal.h>

/* The table is for servers that tick every two seconds, whose sessions last 40 s at most. */
#define LONGEST_MS   40000
#define LONG_SESSION 60
#define LONG_TICK_MS 3000
#define MAX_ROWS     6
/* A busy machine delays heartbeats, so a moment may come sooner after the silence than it should,
 * and what follows from it later. */
#define EARLY_MS 600
#define LATE_MS  2500
#define MS_IN_NS G_GINT64_CONSTANT (1000000)
/* How far before and after TERM an outage ends: two round trips, and a machine that is a little
 * late, or busy with other tests. What the machine has delayed for longer is measured again. */
#define EDGE_MS      60
#define BUSY_EDGE_MS 300
#define MOST_ROUNDS  10

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
  gint64 confirmed_ns; /* the heartbeat before it */
  gint64 silent_ns;    /* when the silence began */
} Holder;

typedef struct
{
  Timeline row;
  Holder holders[N_HOLDERS];
  Cli *next; /* waits for the lock of the one that is killed */
} Scene;

static gboolean
wants_all (void)
{
  return g_strcmp0 (g_getenv ("CURATOR_OUTAGES"), "all") == 0;
}

static void
start_holder (Fixture *fixture, Holder *holder, const Timeline *row, const char *path,
              const char *on_suspend, const char *mode)
{
  g_autofree char *seconds = g_strdup_printf ("%d", (int) (row->session_ms / 1000));

  holder->proxy = proxy_new (fixture_server (fixture));
  assert_non_null (holder->proxy);
  holder->cli = cli_zkflock (proxy_address (holder->proxy), "--session-timeout", seconds,
                             "--on-suspend", on_suspend, path, COMMAND (mode), "0");
}

/* At the second heartbeat from now: its request is held back with all that follows. */
static void
silence_at_a_heartbeat (Holder *holder)
{
  cli_beats (holder->cli, 1);
  proxy_reset_counts (holder->proxy);
  proxy_arm (holder->proxy, PROXY_MULTI, 2, 1, PROXY_HOLE_BEFORE);
}

static void
free_holder (Holder *holder)
{
  cli_free (holder->cli);
  proxy_free (holder->proxy);
}

static void
start_scene (Fixture *fixture, Scene *scene, int round)
{
  static const char *const modes[][2] = { { "pause", "beat" },
                                          { "continue", "polite" },
                                          { "continue", "stubborn" } };
  const int seconds = (int) (scene->row.session_ms / 1000);
  g_autofree char *last = g_strdup_printf ("/outage/%d-%d/stubborn", seconds, round);

  for (int i = 0; i < N_HOLDERS; i++) {
    g_autofree char *path = g_strdup_printf ("/outage/%d-%d/%s", seconds, round, modes[i][1]);
    start_holder (fixture, &scene->holders[i], &scene->row, path, modes[i][0], modes[i][1]);
  }
  for (int i = 0; i < N_HOLDERS; i++)
    cli_beats (scene->holders[i].cli, 1);
  scene->next = cli_zkflock (fixture_server (fixture), "--session-timeout", "30", last,
                             COMMAND ("turn"), "0");
  assert_soon (raw_zk_count_children (fixture->raw, last) == 2
               || cli_wait (scene->holders[KILLED].cli, 0) >= 0);
}

/* Notes what each silence follows; a late look, or an early end of a command, says nothing. */
static gboolean
all_are_silent (Scene *scenes, int n, gboolean *is_late)
{
  static gint64 before_ns;
  const gint64 now_ns = wait_now_ns ();
  gboolean all = TRUE;

  for (int i = 0; i < n * N_HOLDERS; i++) {
    Holder *holder = &scenes[i / N_HOLDERS].holders[i % N_HOLDERS];
    if (holder->confirmed_ns == 0 && proxy_count (holder->proxy, PROXY_MULTI) > 0) {
      holder->confirmed_ns = now_ns;
      *is_late = *is_late || now_ns - before_ns > EARLY_MS / 2 * MS_IN_NS;
    }
    const gboolean is_silent = proxy_fired (holder->proxy) > 0;
    *is_late = *is_late || (!is_silent && cli_wait (holder->cli, 0) >= 0);
    all = all && is_silent;
  }
  before_ns = now_ns;
  return all || *is_late;
}

/* Since the last request that was confirmed: the heartbeat before the one that was held back. */
static gint64
moment_ms (const Scene *scene, int which, gint64 at_ns)
{
  return (at_ns - scene->holders[which].confirmed_ns) / MS_IN_NS;
}

static void
assert_about (const char *what, const Timeline *row, gint64 measured_ms, gint64 wanted_ms)
{
  if (measured_ms < wanted_ms - EARLY_MS || measured_ms > wanted_ms + LATE_MS) {
    fail_msg ("T = %d s: %s at %d ms, and the documents say %d ms", (int) (row->session_ms / 1000),
              what, (int) measured_ms, (int) wanted_ms);
  }
}

static void
judge (Scene *scene)
{
  const Timeline *row = &scene->row;

  for (int i = 0; i < N_HOLDERS; i++)
    cli_ends (scene->holders[i].cli, 75, NULL);
  assert_int_equal (cli_wait (scene->next, 2 * CLI_MS), 0);
  const gint64 paused =
      moment_ms (scene, PAUSED, cli_end_of_beats (scene->holders[PAUSED].cli->log));
  const gint64 term =
      moment_ms (scene, TERMED, cli_number (scene->holders[TERMED].cli->log, "GOT "));
  const gint64 killed_ns = cli_end_of_beats (scene->holders[KILLED].cli->log);
  const gint64 killed = moment_ms (scene, KILLED, killed_ns);
  const gint64 granted_ns = cli_number (scene->next->log, "IN ");
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

/* Again, if this test was late, or zkflock: then KILL comes before TERM. */
static void
measure_moments (Fixture *fixture, const int *seconds, int n)
{
  gboolean is_late = TRUE;

  for (int round = 0; is_late; round++) {
    Scene scenes[MAX_ROWS] = { 0 };
    assert_true (round < MOST_ROUNDS);
    is_late = FALSE;
    for (int i = 0; i < n; i++) {
      scenes[i].row = timeline_of (seconds[i]);
      start_scene (fixture, &scenes[i], round);
    }
    for (int i = 0; i < n * N_HOLDERS; i++)
      silence_at_a_heartbeat (&scenes[i / N_HOLDERS].holders[i % N_HOLDERS]);
    assert_soon (all_are_silent (scenes, n, &is_late));
    for (int i = 0; i < n; i++) {
      is_late = is_late || !cli_wait_lines (scenes[i].holders[TERMED].cli->log, "GOT", 1, CLI_MS);
      if (!is_late)
        judge (&scenes[i]);
      for (int k = 0; k < N_HOLDERS; k++)
        free_holder (&scenes[i].holders[k]);
      cli_free (scenes[i].next);
    }
  }
}

TEST (moments_of_a_silence_that_lasts)
{
  static const int seconds[] = { 4, 6, 10, 20, 30 };
  measure_moments (fixture, seconds, wants_all () ? (int) G_N_ELEMENTS (seconds) : 2);
}

static void
moments_of_a_long_session (void **state)
{
  static const int seconds[] = { LONG_SESSION };
  measure_moments (*state, seconds, 1);
}

/* An outage at the worst moment, when a heartbeat is just due, that ends shortly before or after
 * TERM. */
typedef struct
{
  Holder holder;
  Timeline row;
  gboolean is_longer; /* than what is survived */
  int n_beats;        /* requests that the proxy has passed on */
  gint64 passed_ns;   /* the end of the outage */
  gint64 answered_ns; /* the first frame that the proxy sent to the client after it */
  gint64 looked_ns;   /* the longest time between two looks of this test since the last request */
  gint64 longest_ns;  /* and before the last confirmation, and at the end of the outage */
  gint64 later_ns;    /* and while the command should go on */
  guint64 received;   /* by the client before it, in bytes */
  gboolean has_ended; /* the command, or its hold */
  gboolean is_over;
  gboolean is_measured;
} Edge;

/* The lock of an earlier round may still be held by a session that has no process any more. */
static void
start_edge (Fixture *fixture, Edge *edge, int round)
{
  const Edge fresh = { .row = edge->row, .is_longer = edge->is_longer };
  g_autofree char *path = g_strdup_printf ("/edge/%d/%s-%d", (int) (edge->row.session_ms / 1000),
                                           edge->is_longer ? "longer" : "shorter", round);

  *edge = fresh;
  start_holder (fixture, &edge->holder, &edge->row, path, "continue", "polite");
}

/* Half of what is survived at the worst moment. */
static gint64
room_ns (const Edge *edge)
{
  return (edge->row.term_ms - edge->row.beat_ms) / 2 * MS_IN_NS;
}

/* From the end of the outage to TERM, or from TERM to it. */
static gint64
margin_ns (const Edge *edge)
{
  return wants_all () ? EDGE_MS * MS_IN_NS : MIN (BUSY_EDGE_MS * MS_IN_NS, room_ns (edge));
}

static gint64
edge_ns (const Edge *edge)
{
  return edge->holder.confirmed_ns + edge->row.term_ms * MS_IN_NS
         + (edge->is_longer ? margin_ns (edge) : -margin_ns (edge));
}

static gint64
watched_until_ns (const Edge *edge)
{
  return edge->passed_ns + 2 * margin_ns (edge) + edge->row.term_ms * MS_IN_NS;
}

/* After the outage. A command that survives it is watched for as long as ending it would have taken.
 * TRUE once the look before this one was the last; only now is known how long that one took. */
static gboolean
watch_edge (Edge *edge, gint64 now_ns, gint64 step_ns)
{
  Holder *holder = &edge->holder;

  if (now_ns - step_ns < edge->passed_ns + 2 * margin_ns (edge))
    edge->longest_ns = MAX (edge->longest_ns, step_ns);
  else if (edge->is_longer)
    return TRUE;
  else
    edge->later_ns = MAX (edge->later_ns, step_ns);
  if (now_ns - step_ns >= watched_until_ns (edge))
    return TRUE;
  if (edge->answered_ns == 0 && proxy_bytes (holder->proxy).to_client > edge->received)
    edge->answered_ns = now_ns;
  edge->has_ended =
      cli_wait_lines (holder->cli->log, "GOT", 1, 0) || cli_wait (holder->cli, 0) != -1;
  return FALSE;
}

/* TRUE when its outage is over, and what follows from it should have come. */
static gboolean
step_edge (Edge *edge, gint64 now_ns, gint64 step_ns)
{
  Holder *holder = &edge->holder;
  const int n_beats = proxy_count (holder->proxy, PROXY_MULTI);

  if (holder->silent_ns == 0 && proxy_fired (holder->proxy) > 0)
    holder->silent_ns = now_ns;
  edge->looked_ns = MAX (edge->looked_ns, step_ns);
  if (holder->silent_ns == 0 && n_beats > edge->n_beats) {
    edge->n_beats = n_beats;
    holder->confirmed_ns = now_ns;
    edge->longest_ns = edge->looked_ns;
    edge->looked_ns = 0;
  }
  if (holder->silent_ns == 0 && cli_wait (holder->cli, 0) >= 0)
    return TRUE;
  if (edge->passed_ns == 0) {
    if (holder->silent_ns == 0 || now_ns < edge_ns (edge))
      return FALSE;
    edge->received = proxy_bytes (holder->proxy).to_client;
    edge->passed_ns = now_ns;
    proxy_set_mode (holder->proxy, PROXY_PASS);
    return FALSE;
  }
  return watch_edge (edge, now_ns, step_ns);
}

/* An outage that this test ended too late says nothing about the command. Nor does one at whose end
 * the server, the proxy or the processors were late, nor one that a second outage has followed,
 * because they were late then. */
static gboolean
is_on_time (const Edge *edge)
{
  const gint64 late_ns = margin_ns (edge) / 2;

  return edge->passed_ns != 0 && edge->passed_ns - edge_ns (edge) < late_ns
         && edge->longest_ns < late_ns && edge->later_ns < room_ns (edge)
         && (edge->is_longer
             || (edge->answered_ns != 0 && edge->answered_ns - edge_ns (edge) < late_ns));
}

static void
run_outages (Edge *edges, int n)
{
  const gint64 until = wait_now_ms () + CLI_MS;
  gint64 before_ns = wait_now_ns ();
  int n_over = 0;

  while (n_over < n && wait_now_ms () < until) {
    wait_ms (1);
    const gint64 now_ns = wait_now_ns ();
    n_over = 0;
    for (int i = 0; i < n; i++) {
      edges[i].is_over = edges[i].is_over || step_edge (&edges[i], now_ns, now_ns - before_ns);
      n_over += edges[i].is_over;
    }
    before_ns = now_ns;
  }
  assert_int_equal (n_over, n);
}

static void
judge_edge (Edge *edge)
{
  Holder *holder = &edge->holder;
  const gint64 outage_ms = (edge->passed_ns - holder->silent_ns) / MS_IN_NS;

  /* The heartbeat was held back when it was due, so that this was the worst moment. */
  assert_about ("heartbeat", &edge->row, (holder->silent_ns - holder->confirmed_ns) / MS_IN_NS,
                edge->row.beat_ms);
  if (edge->is_longer) {
    cli_ends (holder->cli, 75, NULL);
    assert_true (cli_wait_lines (holder->cli->log, "GOT", 1, CLI_MS));
  } else {
    kill (holder->cli->pid, SIGTERM);
    const int code = cli_wait (holder->cli, CLI_MS);
    assert_int_not_equal (code, -1);
    const gint64 later_ns = 1000 * metronome_stalled_us (watched_until_ns (edge) / 1000);
    if (edge->has_ended || (code != 0 && later_ns < room_ns (edge))) {
      g_autofree char *err = cli_stderr (holder->cli);
      fail_msg ("T = %d s: an outage of %d ms ended the command: %s",
                (int) (edge->row.session_ms / 1000), (int) outage_ms, err);
    }
  }
  print_message ("T = %2d s: %s an outage of %.2f s, %.2f s after the last confirmed request; %.2f "
                 "s is the edge\n",
                 (int) (edge->row.session_ms / 1000), edge->is_longer ? "ended by" : "survived",
                 (double) (edge->passed_ns - holder->silent_ns) / 1e9,
                 (double) (edge->passed_ns - holder->confirmed_ns) / 1e9,
                 (double) edge->row.term_ms / 1000);
}

/* Measures those that are not yet; returns how many are. */
static int
measure_edges_once (Fixture *fixture, Edge *edges, int n, int round)
{
  int n_measured = 0;

  for (int i = 0; i < n; i++)
    if (!edges[i].is_measured)
      start_edge (fixture, &edges[i], round);
  for (int i = 0; i < n; i++)
    if (!edges[i].is_measured)
      silence_at_a_heartbeat (&edges[i].holder);
  run_outages (edges, n);
  for (int i = 0; i < n; i++) {
    if (!edges[i].is_measured) {
      edges[i].is_measured = is_on_time (&edges[i]);
      if (edges[i].is_measured)
        judge_edge (&edges[i]);
      free_holder (&edges[i].holder);
    }
    n_measured += edges[i].is_measured;
  }
  return n_measured;
}

static void
measure_edges (Fixture *fixture, const int *seconds, int n)
{
  Edge edges[2 * MAX_ROWS] = { 0 };
  int n_measured = 0;

  for (int i = 0; i < 2 * n; i++) {
    edges[i].row = timeline_of (seconds[i / 2]);
    edges[i].is_longer = i % 2 == 1;
  }
  for (int round = 0; n_measured < 2 * n && round < MOST_ROUNDS; round++)
    n_measured = measure_edges_once (fixture, edges, 2 * n, round);
  assert_int_equal (n_measured, 2 * n);
}

TEST (the_edge_of_what_is_survived)
{
  static const int seconds[] = { 4, 6, 10, 20, 30 };
  measure_edges (fixture, seconds, wants_all () ? (int) G_N_ELEMENTS (seconds) : 3);
}

static void
the_edge_of_what_a_long_session_survives (void **state)
{
  static const int seconds[] = { LONG_SESSION };
  measure_edges (*state, seconds, 1);
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
  const struct CMUnitTest of_long_sessions[] = {
    cmocka_unit_test (moments_of_a_long_session),
    cmocka_unit_test (the_edge_of_what_a_long_session_survives),
  };
  metronome_start ();
  const int failed = suite_run ("outage", start, fixture_stop);
  return failed != 0 || !wants_all ()
             ? failed
             : cmocka_run_group_tests (of_long_sessions, start_long, fixture_stop);
}
