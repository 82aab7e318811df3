/* One mutex, C processes and one JVM with Apache Curator: no two threads hold at the same time, fencing
 * tokens rise from grant to grant in both languages, and neither language starves. */
#include "interop.h"
#include "support/checker.h"
#include "support/raw_zk.h"
#include "support/zk_server.h"
#include "worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define LOCK_PATH "/interop/mutex"

/* Two C processes and the JVM. */
#define THREADS      4
#define ACQUISITIONS 130 /* of each of the twelve threads */
#define TOTAL        (3 * THREADS * ACQUISITIONS)

/* So many sessions that those that come back take the shortcuts of a long queue. */
#define MANY_PROCESSES   22
#define FEW_ACQUISITIONS 40
#define LONGER_MS        5 /* a JVM that begins alone does not end before the others begin */

static gboolean
is_grant (const RecordEvent *event)
{
  return event->op == RECORD_ACQUIRE_RETURNED && event->result == RECORD_OK;
}

static gboolean
is_java (const RecordEvent *event)
{
  return event->process == INTEROP_JAVA_PROCESS;
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
        {
          grants[is_java (event) ? 1 : 0]++;
        }
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
  const InteropPlan plan = { .connect_string = zk_server_address (server),
                             .path = LOCK_PATH,
                             .java_recipe = "mutex",
                             .c_processes = c_processes,
                             .threads = threads,
                             .acquisitions = acquisitions,
                             .hold_ms = hold_ms };
  const CheckerRules rules = { .residue_ms = 1000 };
  GArray *events = interop_run (&plan, 120000);
  assert_non_null (events);
  recorder_sort (events);
  g_autoptr (GPtrArray) violations = checker_run (events, &rules);
  assert_int_equal (checker_print (violations), 0);
  check_tokens (events, (c_processes + 1) * threads * acquisitions);

  RawZk *raw = raw_zk_open (zk_server_address (server));
  assert_true (raw_zk_count_children (raw, LOCK_PATH) <= 0);
  raw_zk_close (raw);
  return events;
}

static void
test_mutex (void **state)
{
  g_autoptr (GArray) events = contend (*state, 2, THREADS, ACQUISITIONS, 1);
  check_shares (events);
}

static void
test_many_sessions (void **state)
{
  g_autoptr (GArray) events = contend (*state, MANY_PROCESSES, 1, FEW_ACQUISITIONS, LONGER_MS);
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

static int
start (void **state)
{
  *state = zk_server_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
  return *state != NULL ? 0 : -1;
}

static int
stop (void **state)
{
  zk_server_stop (*state);
  return 0;
}

int
main (int argc, char **argv)
{
  if (argc > 1 && strcmp (argv[1], "worker") == 0)
    {
      return worker_main (argc, argv);
    }
  const struct CMUnitTest tests[] = { cmocka_unit_test (test_mutex),
                                      cmocka_unit_test (test_many_sessions) };
  return cmocka_run_group_tests_name ("interop: mutex", tests, start, stop);
}
