/* Counters and trace events.
 *
 * Mirrors TracerDriver and AdvancedTracerDriver. Threads: any; the client's mutex guards the
 * counters. The trace function is constant after start and runs on the callback lane.
 */
#include "core/stats-private.h"

#include "base/tag.h"
#include "core/client-record.h"
#include "core/monitor.h"
#include "core/namespace.h"

#include <string.h>

struct _CuratorTraceEvent
{
  CuratorTag tag;
  CuratorClient *client; /* a memory reference */
  CuratorTraceKind kind;
  char *path;
  gint64 duration_us;
  gint64 session_id;
};

static const char *const names[] = { "grants",        "waits",        "failures",
                                     "releases",      "lost-session", "lost-clock",
                                     "lost-deleted",  "lost-closed",  "nodes-reaped",
                                     "names-ignored", "heartbeats",   "heartbeats-missed",
                                     "sessions",      "requests",     "confirmations",
                                     "lost-max-hold" };

G_STATIC_ASSERT (G_N_ELEMENTS (names) == CURATOR_N_COUNTERS);

void
curator_count (CuratorClient *client, CuratorCounter counter, guint64 n)
{
  client->stats.counters[counter] += n;
}

void
curator_count_waiting (CuratorClient *client, int change)
{
  client->stats.n_waiting += (guint) change;
}

const CuratorScale curator_duration_scales[CURATOR_N_DURATIONS] = {
  [CURATOR_DURATION_WAIT] = { .first_us = 1000, .doublings = 2, .n_limits = 9 },
  [CURATOR_DURATION_HOLD] = { .first_us = 1000, .doublings = 2, .n_limits = 14 },
  [CURATOR_DURATION_ROUND_TRIP] = { .first_us = 250, .doublings = 1, .n_limits = 17 },
};

void
curator_count_duration (CuratorClient *client, CuratorDuration kind, gint64 duration_us)
{
  curator_histogram_add (&client->stats.durations[kind], &curator_duration_scales[kind],
                         duration_us);
}

gsize
curator_client_get_counters (CuratorClient *client, guint64 *values, gsize n)
{
  g_return_val_if_fail (CURATOR_IS_CLIENT (client) && (values != NULL || n == 0), 0);
  if (n == 0)
    return CURATOR_N_COUNTERS;
  const CuratorStats all = CURATOR_UNLESS_FORKED (client, client->stats, (CuratorStats){ 0 });
  memset (values, 0, n * sizeof *values);
  memcpy (values, all.counters, MIN (n, CURATOR_N_COUNTERS) * sizeof *values);
  return CURATOR_N_COUNTERS;
}

const char *
curator_counter_to_string (CuratorCounter counter)
{
  return (guint) counter < G_N_ELEMENTS (names) ? names[counter] : NULL;
}

static void
deliver_event (gpointer data)
{
  CuratorTraceEvent *event = data;
  event->client->settings.trace (event, event->client->settings.trace_data);
}

static void
free_event (gpointer data)
{
  CuratorTraceEvent *event = data;
  curator_client_memory_unref (event->client);
  g_free (event->path);
  curator_tag_clear (event);
  g_free (event);
}

void
curator_trace (CuratorClient *client, CuratorTraceKind kind, const char *path, gint64 duration_us,
               gint64 session_id)
{
  if (client->settings.trace == NULL)
    return;
  CuratorTraceEvent *event = g_new (CuratorTraceEvent, 1);
  event->tag = CURATOR_TAG_TRACE_EVENT;
  curator_client_memory_ref (client);
  event->client = client;
  event->kind = kind;
  event->path = g_strdup (curator_client_user_path (client, path));
  event->duration_us = duration_us;
  event->session_id = session_id;
  curator_dispatch_push (client, CURATOR_LANE_CALLS, deliver_event, event, free_event);
}

CURATOR_GETTER (CuratorTraceKind, curator_trace_event_get_kind, const CuratorTraceEvent,
                TRACE_EVENT, kind, CURATOR_TRACE_KIND_GRANTED)
CURATOR_GETTER (const char *, curator_trace_event_get_path, const CuratorTraceEvent, TRACE_EVENT,
                path, NULL)
CURATOR_GETTER (gint64, curator_trace_event_get_duration_us, const CuratorTraceEvent, TRACE_EVENT,
                duration_us, 0)
CURATOR_GETTER (gint64, curator_trace_event_get_session_id, const CuratorTraceEvent, TRACE_EVENT,
                session_id, 0)
