/* Counters and traced events: each occurrence is counted once and traced in order. */
#include "integration/fixture.h"
#include "support/held_lease.h"
#include "support/metronome.h"

#include <curator/stats.h>

#include <string.h>

#define N_KNOWN ((gsize) CURATOR_COUNTER_LOST_MAX_HOLD + 1)

typedef struct
{
  guint64 values[N_KNOWN];
} Counters;

static Counters
counters (CuratorClient *client)
{
  Counters now;
  assert_int_equal (curator_client_get_counters (client, now.values, N_KNOWN), N_KNOWN);
  return now;
}

/* The increase of one counter since then. */
static guint64
added (CuratorClient *client, const Counters *before, CuratorCounter counter)
{
  return counters (client).values[counter] - before->values[counter];
}

/* The value of a sample that curator_client_format_metrics() prints. */
static guint64
sample (CuratorClient *client, const char *name)
{
  g_autofree char *text = curator_client_format_metrics (client);
  g_autofree char *start = g_strdup_printf ("\n%s ", name);
  const char *line = strstr (text, start);

  assert_non_null (line);
  return g_ascii_strtoull (line + strlen (start), NULL, 10);
}

TEST (test_names)
{
  for (gsize i = 0; i < N_KNOWN; i++) {
    const char *name = curator_counter_to_string ((CuratorCounter) i);
    assert_non_null (name);
    for (gsize k = 0; k < i; k++)
      assert_string_not_equal (name, curator_counter_to_string ((CuratorCounter) k));
  }
  assert_null (curator_counter_to_string ((CuratorCounter) N_KNOWN));
}

TEST (test_room_for_counters)
{
  guint64 values[N_KNOWN + 3];
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  memset (values, 0xff, sizeof values);
  assert_int_equal (curator_client_get_counters (client, NULL, 0), N_KNOWN);
  assert_int_equal (curator_client_get_counters (client, values, 1), N_KNOWN);
  assert_int_equal (values[CURATOR_COUNTER_GRANTS], 0);
  assert_true (values[1] == G_MAXUINT64);
  assert_int_equal (curator_client_get_counters (client, values, N_KNOWN + 3), N_KNOWN);
  assert_int_equal (values[CURATOR_COUNTER_SESSIONS], 1);
  assert_int_equal (values[N_KNOWN + 2], 0);
}

/* Create, list and delete: three requests, by our count and by the server's. */
TEST (test_requests_of_a_round)
{
  enum
  {
    ROUNDS = 20
  };
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/stats/round");
  const gint64 session = curator_client_get_session_id (client);
  assert_acquired (lock); /* creates the parents */
  assert_released (lock);

  FourLetterPackets packets_before;
  FourLetterPackets packets_after;
  assert_true (four_letter_packets (fixture_server (fixture), session, &packets_before));
  const Counters before = counters (client);
  const gint64 begun = wait_now_ms ();
  for (int i = 0; i < ROUNDS; i++) {
    assert_acquired (lock);
    assert_released (lock);
  }
  const guint64 beats = added (client, &before, CURATOR_COUNTER_HEARTBEATS)
                        + added (client, &before, CURATOR_COUNTER_HEARTBEATS_MISSED);
  const guint64 requests = added (client, &before, CURATOR_COUNTER_REQUESTS);
  assert_true (four_letter_packets (fixture_server (fixture), session, &packets_after));
  /* A hold of 250 ms watches its own node, a connection that is idle for a third of T pings. */
  const gint64 lasted_ms = wait_now_ms () - begun;
  assert_in_range (requests, 3 * ROUNDS + beats, 3 * ROUNDS + beats + lasted_ms / 250);
  assert_in_range (packets_after.received - packets_before.received, requests,
                   requests + lasted_ms / (LONG_SESSION_MS / 3));

  assert_int_equal (added (client, &before, CURATOR_COUNTER_GRANTS), ROUNDS);
  assert_int_equal (added (client, &before, CURATOR_COUNTER_RELEASES), ROUNDS);
  assert_int_equal (added (client, &before, CURATOR_COUNTER_NODES_REAPED), ROUNDS);
  assert_int_equal (added (client, &before, CURATOR_COUNTER_WAITS), 0);
  assert_int_equal (added (client, &before, CURATOR_COUNTER_FAILURES), 0);
  assert_int_equal (sample (client, "curator_wait_seconds_count"),
                    counters (client).values[CURATOR_COUNTER_GRANTS]);
}

TEST (test_waits_and_failures)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorClient) other = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) theirs = mutex_new (other, "/stats/wait");
  g_autoptr (CuratorLock) lock = mutex_new (client, "/stats/wait");
  assert_acquired (theirs);
  const Counters before = counters (client);

  assert_not_acquired (lock, 4000, CURATOR_ERROR_TIMED_OUT);
  assert_int_equal (added (client, &before, CURATOR_COUNTER_FAILURES), 1);
  assert_int_equal (added (client, &before, CURATOR_COUNTER_WAITS), 1);
  g_autoptr (Contender) waiter = contender_start (lock, LONG_MS, NULL);
  assert_children (fixture, "/stats/wait", 2, LONG_MS);
  wait_ms (300);
  assert_released (theirs);
  assert_true (contender_wait (waiter, LONG_MS));
  contender_join (waiter);
  assert_int_equal (added (client, &before, CURATOR_COUNTER_WAITS), 2);
  assert_int_equal (added (client, &before, CURATOR_COUNTER_GRANTS), 1);
  assert_int_equal (sample (client, "curator_wait_seconds_bucket{le=\"0.256000\"}"), 0);
}

TEST (test_names_ignored)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/stats/names");
  assert_int_equal (raw_zk_make_path (fixture->raw, "/stats/names/no-lock-node"), ZOK);
  assert_int_equal (raw_zk_make_path (fixture->raw, "/stats/names/lock-"), ZOK);
  const Counters before = counters (client);
  assert_acquired (lock);
  assert_released (lock);
  assert_int_equal (added (client, &before, CURATOR_COUNTER_NAMES_IGNORED), 2);
}

TEST (test_heartbeats)
{
  g_autoptr (CuratorClient) client = client_connect_for (fixture_proxy (fixture), 10000);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/stats/beat");
  assert_acquired (lock);
  Counters before = counters (client);
  const gint64 begun = wait_now_ms ();
  assert_soon (added (client, &before, CURATOR_COUNTER_HEARTBEATS) >= 2);
  /* An answer after more than a tenth of the session timeout is no proof. */
  assert_in_range (added (client, &before, CURATOR_COUNTER_HEARTBEATS_MISSED), 0,
                   metronome_stalled_us (begun * 1000) / G_USEC_PER_SEC);
  proxy_set_delay (fixture->proxy, 1250, 0);
  before = counters (client);
  assert_soon (added (client, &before, CURATOR_COUNTER_HEARTBEATS_MISSED) >= 1);
  proxy_set_delay (fixture->proxy, 0, 0);
  assert_released (lock);
}

/* One line for each event, without heartbeats: "GRANTED path". */
typedef struct
{
  pthread_mutex_t mutex;
  GString *lines;
  int n;
  int heartbeats;
  gint64 session;
  gint64 durations[8];
  gint destroyed;
} Trace;

static void
note_event (const CuratorTraceEvent *event, gpointer user_data)
{
  static const char *const kinds[] = { "GRANTED", "FAILED", "RELEASED", "LOST", "HEARTBEAT" };
  Trace *trace = user_data;
  const CuratorTraceKind kind = curator_trace_event_get_kind (event);

  pthread_mutex_lock (&trace->mutex);
  trace->session = curator_trace_event_get_session_id (event);
  if (kind == CURATOR_TRACE_KIND_HEARTBEAT) {
    trace->heartbeats += *curator_trace_event_get_path (event) == '\0';
  } else if (trace->n < 8) {
    g_string_append_printf (trace->lines, "%s %s\n", kinds[kind],
                            curator_trace_event_get_path (event));
    trace->durations[trace->n++] = curator_trace_event_get_duration_us (event);
  }
  pthread_mutex_unlock (&trace->mutex);
}

static void
note_destroyed (gpointer user_data)
{
  Trace *trace = user_data;
  g_atomic_int_set (&trace->destroyed, TRUE);
}

static gboolean
has_four (Trace *trace)
{
  pthread_mutex_lock (&trace->mutex);
  const gboolean yes = trace->n >= 4 && trace->heartbeats > 0;
  pthread_mutex_unlock (&trace->mutex);
  return yes;
}

TEST (test_trace)
{
  Trace trace = { .lines = g_string_new (NULL) };
  pthread_mutex_init (&trace.mutex, NULL);
  CuratorClient *client = client_new (fixture_server (fixture));
  curator_client_set_trace (client, note_event, &trace, note_destroyed);
  client_start (client);
  const gint64 session = curator_client_get_session_id (client);
  CuratorLock *lock = mutex_new (client, "/stats/trace");
  CuratorLock *behind = mutex_new (client, "/stats/trace");

  assert_acquired (lock);
  g_autofree char *node = g_strdup (curator_lease_get_node_path (held_lease (lock)));
  assert_not_acquired (behind, 4000, CURATOR_ERROR_TIMED_OUT);
  assert_released (lock);
  assert_acquired (lock);
  g_autofree char *second = g_strdup (curator_lease_get_node_path (held_lease (lock)));
  assert_soon (has_four (&trace));
  curator_client_close (client);
  curator_lock_unref (lock);
  curator_lock_unref (behind);
  curator_client_unref (client);
  assert_soon (g_atomic_int_get (&trace.destroyed));

  g_autofree char *wanted =
      g_strdup_printf ("GRANTED %s\nFAILED /stats/trace\nRELEASED %s\nGRANTED %s\nLOST %s\n", node,
                       node, second, second);
  pthread_mutex_lock (&trace.mutex);
  assert_string_equal (trace.lines->str, wanted);
  assert_int_equal (trace.session, session);
  assert_true (trace.durations[0] > 0 && trace.durations[0] < LONG_MS * 1000);
  /* The call's deadline is taken before its beginning: on a busy machine a little earlier. */
  assert_true (trace.durations[1] >= 450 * 1000 && trace.durations[1] <= trace.durations[2]);
  assert_true (trace.durations[2] >= 4000 * 1000);
  pthread_mutex_unlock (&trace.mutex);
  g_string_free (trace.lines, TRUE);
  pthread_mutex_destroy (&trace.mutex);
}

PROMPT_SUITE ("stats", fixture_start_calm, fixture_stop)
