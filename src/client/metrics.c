/* The statistics of a client as OpenMetrics text.
 *
 * Curator has no counterpart: its TracerDriver leaves that to the program. Threads: any; the
 * client's mutex is held while the figures are copied, not while they are formatted.
 */
#include "curator/client.h"

#include "base/tag.h"
#include "core/client-record.h"
#include "core/monitor.h"
#include "core/stats-private.h"
#include "session/lease_clock.h"
#include "session/session.h"

#include <string.h>

/* All figures of one moment. */
typedef struct
{
  CuratorStats stats;
  guint64 in_flight;
  gint64 margin_ms; /* -1: nothing is held that the clock could end */
  gint64 timeout_ms;
  CuratorConnectionState state;
} Figures;

/* A row with the name of the row before is another sample of the same metric. */
typedef struct
{
  const char *name;
  const char *label; /* or NULL */
  CuratorCounter counter;
  const char *help;
} CounterRow;

/* clang-format off */
static const CounterRow counter_rows[] = {
  { "grants", NULL, CURATOR_COUNTER_GRANTS,
    "Holds granted: locks, leases, and turns to take leases." },
  { "waits", NULL, CURATOR_COUNTER_WAITS,
    "Attempts, granted or failed, that found another contender ahead." },
  { "failures", NULL, CURATOR_COUNTER_FAILURES,
    "Attempts that ended with an error, a timeout or a cancellation." },
  { "releases", NULL, CURATOR_COUNTER_RELEASES, "Holds released." },
  { "lost_holds", "reason=\"session\"", CURATOR_COUNTER_LOST_SESSION,
    "Holds that ended without a release." },
  { "lost_holds", "reason=\"clock\"", CURATOR_COUNTER_LOST_CLOCK, NULL },
  { "lost_holds", "reason=\"deleted\"", CURATOR_COUNTER_LOST_DELETED, NULL },
  { "lost_holds", "reason=\"closed\"", CURATOR_COUNTER_LOST_CLOSED, NULL },
  { "lost_holds", "reason=\"max-hold\"", CURATOR_COUNTER_LOST_MAX_HOLD, NULL },
  { "nodes_reaped", NULL, CURATOR_COUNTER_NODES_REAPED,
    "Nodes deleted, by releases and in the background." },
  { "names_ignored", NULL, CURATOR_COUNTER_NAMES_IGNORED,
    "Children of lock paths that are not lock nodes, in each listing." },
  { "heartbeats", "result=\"confirmed\"", CURATOR_COUNTER_HEARTBEATS,
    "Heartbeats, by whether they were answered in time to extend the holds." },
  { "heartbeats", "result=\"missed\"", CURATOR_COUNTER_HEARTBEATS_MISSED, NULL },
  { "confirmations", NULL, CURATOR_COUNTER_CONFIRMATIONS,
    "Checks of the session and the node right before a grant." },
  { "sessions", NULL, CURATOR_COUNTER_SESSIONS, "Sessions begun." },
  { "requests", NULL, CURATOR_COUNTER_REQUESTS, "Requests sent." },
};

static const struct
{
  const char *name;
  const char *help;
} duration_rows[CURATOR_N_DURATIONS] = {
  [CURATOR_DURATION_WAIT] = { "wait", "Time from the call to the grant." },
  [CURATOR_DURATION_HOLD] = { "hold", "Length of ended holds." },
  [CURATOR_DURATION_ROUND_TRIP] = { "round_trip", "Time from a request to a server's answer." },
};
/* clang-format on */

/* Without a decimal point of the locale. */
static char *
format_seconds (gint64 us)
{
  return g_strdup_printf ("%" G_GINT64_FORMAT ".%06d", us / G_USEC_PER_SEC,
                          (int) (us % G_USEC_PER_SEC));
}

static void
append_head (GString *text, const char *name, const char *type, const char *unit, const char *help)
{
  g_string_append_printf (text, "# TYPE curator_%s %s\n", name, type);
  if (unit != NULL)
    g_string_append_printf (text, "# UNIT curator_%s %s\n", name, unit);
  g_string_append_printf (text, "# HELP curator_%s %s\n", name, help);
}

static void
append_gauge (GString *text, const char *name, const char *help, guint64 value)
{
  append_head (text, name, "gauge", NULL, help);
  g_string_append_printf (text, "curator_%s %" G_GUINT64_FORMAT "\n", name, value);
}

static void
append_seconds_gauge (GString *text, const char *name, const char *help, gint64 ms)
{
  append_head (text, name, "gauge", "seconds", help);
  if (ms >= 0) {
    g_autofree char *seconds = format_seconds (ms * 1000);
    g_string_append_printf (text, "curator_%s %s\n", name, seconds);
  }
}

static void
append_gauges (GString *text, const Figures *figures)
{
  /* Every hold that was granted and has not ended. */
  guint64 n_holds = figures->stats.counters[CURATOR_COUNTER_GRANTS];
  for (int i = CURATOR_COUNTER_RELEASES; i <= CURATOR_COUNTER_LOST_CLOSED; i++)
    n_holds -= figures->stats.counters[i];

  append_gauge (text, "holds", "Holds at present.", n_holds);
  append_gauge (text, "waiters", "Attempts that wait behind another contender.",
                figures->stats.n_waiting);
  append_gauge (text, "requests_in_flight", "Requests without an answer.", figures->in_flight);
  append_seconds_gauge (text, "least_lease_margin_seconds",
                        "Time for which all present holds are provable; no sample without a hold.",
                        figures->margin_ms);
  append_seconds_gauge (text, "session_timeout_seconds",
                        "Session timeout that the server granted; 0 before the first connection.",
                        figures->timeout_ms);
  append_head (text, "connection_state", "gauge", NULL,
               "1 for the present state of the connection.");
  for (CuratorConnectionState state = CURATOR_CONNECTION_STATE_CONNECTED;
       state <= CURATOR_CONNECTION_STATE_READ_ONLY; state++)
    g_string_append_printf (text, "curator_connection_state{curator_connection_state=\"%s\"} %d\n",
                            curator_connection_state_to_string (state), state == figures->state);
}

static void
append_histogram (GString *text, CuratorDuration kind, const CuratorHistogram *histogram)
{
  const CuratorScale *scale = &curator_duration_scales[kind];
  g_autofree char *name = g_strconcat (duration_rows[kind].name, "_seconds", NULL);
  g_autofree char *sum = format_seconds ((gint64) histogram->sum_us);
  guint64 below = 0;

  append_head (text, name, "histogram", "seconds", duration_rows[kind].help);
  for (guint i = 0; i < scale->n_limits; i++) {
    g_autofree char *limit = format_seconds (curator_scale_limit_us (scale, i));
    below += histogram->counts[i];
    g_string_append_printf (text, "curator_%s_bucket{le=\"%s\"} %" G_GUINT64_FORMAT "\n", name,
                            limit, below);
  }
  below += histogram->counts[scale->n_limits];
  g_string_append_printf (text,
                          "curator_%s_bucket{le=\"+Inf\"} %" G_GUINT64_FORMAT "\n"
                          "curator_%s_count %" G_GUINT64_FORMAT "\n"
                          "curator_%s_sum %s\n",
                          name, below, name, below, name, sum);
}

char *
curator_client_format_metrics (CuratorClient *client)
{
  Figures figures = { .margin_ms = -1 };

  g_return_val_if_fail (CURATOR_IS_CLIENT (client), NULL);
  if (!curator_client_check_forked (client, NULL))
    return NULL;
  curator_client_lock (client);
  CuratorSession *session = client->session;
  figures.stats = client->stats;
  figures.state = client->state;
  if (session != NULL) {
    figures.in_flight = session->in_flight.length + session->backlog.length;
    figures.timeout_ms = session->ever_connected ? session->timeout_ms : 0;
    if (curator_session_holds (session))
      figures.margin_ms = curator_lease_clock_remaining_ms (session);
  }
  curator_client_unlock (client);

  GString *text = g_string_sized_new (8192);
  for (gsize i = 0; i < G_N_ELEMENTS (counter_rows); i++) {
    const CounterRow *row = &counter_rows[i];
    if (row->help != NULL)
      append_head (text, row->name, "counter", NULL, row->help);
    g_string_append_printf (text, "curator_%s_total%s%s%s %" G_GUINT64_FORMAT "\n", row->name,
                            row->label != NULL ? "{" : "", row->label != NULL ? row->label : "",
                            row->label != NULL ? "}" : "", figures.stats.counters[row->counter]);
  }
  append_gauges (text, &figures);
  for (int i = 0; i < CURATOR_N_DURATIONS; i++)
    append_histogram (text, (CuratorDuration) i, &figures.stats.durations[i]);
  g_string_append (text, "# EOF\n");
  return g_string_free (text, FALSE);
}
