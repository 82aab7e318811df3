/* One mutex, two C processes and one JVM with Apache Curator, four threads each: no two of the
 * twelve hold at the same time, fencing tokens rise from grant to grant in both languages, and
 * neither language starves. */
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

#define LOCK_PATH    "/interop/mutex"
#define THREADS      4
#define ACQUISITIONS 130 /* of each of the twelve threads */
#define TOTAL        (3 * THREADS * ACQUISITIONS)

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
check_tokens (const GArray *events)
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
  assert_int_equal (grants, TOTAL);
}

static void
test_mutex (void **state)
{
  ZkServer *server = *state;
  const InteropPlan plan = { .connect_string = zk_server_address (server),
                             .path = LOCK_PATH,
                             .java_recipe = "mutex",
                             .c_processes = 2,
                             .threads = THREADS,
                             .acquisitions = ACQUISITIONS,
                             .hold_ms = 1 };
  const CheckerRules rules = { .residue_ms = 1000 };
  g_autoptr (GArray) events = interop_run (&plan, 120000);
  assert_non_null (events);
  recorder_sort (events);
  g_autoptr (GPtrArray) violations = checker_run (events, &rules);
  assert_int_equal (checker_print (violations), 0);
  check_tokens (events);
  check_shares (events);

  RawZk *raw = raw_zk_open (zk_server_address (server));
  assert_true (raw_zk_count_children (raw, LOCK_PATH) <= 0);
  raw_zk_close (raw);
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
  const struct CMUnitTest tests[] = { cmocka_unit_test (test_mutex) };
  return cmocka_run_group_tests_name ("interop: mutex", tests, start, stop);
}
