/* One mutex, C processes and one JVM with Apache Curator: no two threads hold at the same time,
 * fencing tokens rise from grant to grant in both languages, and neither language starves. */
#include "contest_test.h"

#define LOCK_PATH "/interop/mutex"

/* Two C processes and the JVM. */
#define THREADS      4
#define ACQUISITIONS 130 /* of each of the twelve threads */
#define TOTAL        (3 * THREADS * ACQUISITIONS)

/* So many sessions that those that come back take the shortcuts of a long queue. */
#define MANY_PROCESSES   22
#define FEW_ACQUISITIONS 40
#define LONGER_MS        5 /* a JVM that begins alone does not end before the others begin */

#define JAVA_PROCESS 1

static gboolean
is_grant (const RecordEvent *event)
{
  return event->op == RECORD_ACQUIRE_RETURNED && event->result == RECORD_OK;
}

static gboolean
is_java (const RecordEvent *event)
{
  return event->process == JAVA_PROCESS;
}

/* While both languages compete, a third of the threads is Java's and so should be about a third of
 * the grants. Each must get at least half of its fair share. */
static void
check_shares (const GArray *events)
{
  gint64 first[2] = { G_MAXINT64, G_MAXINT64 };
  gint64 last[2] = { 0, 0 };
  for (guint i = 0; i < events->len; i++)
    {
      const RecordEvent *event = &g_array_index (events, RecordEvent, i);
      int language = is_java (event) ? 1 : 0;
      first[language] = MIN (first[language], event->time_ns);
      last[language] = MAX (last[language], event->time_ns);
    }
  gint64 from = MAX (first[0], first[1]);
  gint64 to = MIN (last[0], last[1]);
  int grants[2] = { 0, 0 };
  for (guint i = 0; i < events->len; i++)
    {
      const RecordEvent *event = &g_array_index (events, RecordEvent, i);
      if (is_grant (event) && event->time_ns >= from && event->time_ns <= to)
        grants[is_java (event) ? 1 : 0]++;
    }
  print_message ("while both competed: %d grants to C, %d to Java\n", grants[0], grants[1]);
  assert_true (grants[0] + grants[1] >= TOTAL / 3);
  assert_true (grants[1] * 6 >= grants[0] + grants[1]);
  assert_true (grants[0] * 3 >= grants[0] + grants[1]);
}

static void
check_tokens (const GArray *events, int total)
{
  guint64 token = 0;
  int grants = 0;
  for (guint i = 0; i < events->len; i++)
    {
      const RecordEvent *event = &g_array_index (events, RecordEvent, i);
      if (is_grant (event))
        {
          assert_true (event->token > token);
          token = event->token;
          grants++;
        }
    }
  assert_int_equal (grants, total);
}

static GArray *
contend (ZkServer *server, int c_processes, int threads, int acquisitions, int hold_ms)
{
  ContestProcess processes[1 + MANY_PROCESSES + 1] = { { "mutex", TRUE, threads, acquisitions } };
  const ContestPlan plan = { .connect_string = zk_server_address (server),
                             .path = LOCK_PATH,
                             .processes = processes,
                             .hold_ms = hold_ms,
                             .limit = 1 };
  for (int i = 1; i <= c_processes; i++)
    processes[i] = (ContestProcess){ "mutex", FALSE, threads, acquisitions };
  GArray *events = contest_run (&plan, 120000);
  assert_non_null (events);
  assert_good_history (events);
  check_tokens (events, (c_processes + 1) * threads * acquisitions);
  assert_none_below (server, LOCK_PATH);
  return events;
}

TEST (test_mutex)
{
  g_autoptr (GArray) events = contend (server, 2, THREADS, ACQUISITIONS, 1);
  check_shares (events);
}

TEST (test_many_sessions)
{
  g_autoptr (GArray) events = contend (server, MANY_PROCESSES, 1, FEW_ACQUISITIONS, LONGER_MS);
  gboolean c_has_begun = FALSE;
  int java_grants = 0;
  for (guint i = 0; i < events->len; i++)
    {
      const RecordEvent *event = &g_array_index (events, RecordEvent, i);
      c_has_begun = c_has_begun || (is_grant (event) && !is_java (event));
      java_grants += c_has_begun && is_grant (event) && is_java (event) ? 1 : 0;
    }
  print_message ("%d grants to Java among those to %d processes in C\n", java_grants,
                 MANY_PROCESSES);
  assert_true (java_grants > 0);
}

SUITE ("interop: mutex", contest_server_start, contest_server_stop)
