/* One mutex, C processes and one JVM with Apache Curator: no two threads hold at the same time,
 * fencing tokens rise from grant to grant in both languages, and neither language starves. */
#include "contest_test.h"

#define ACQUISITIONS 130 /* of each of the twelve threads */

/* So many sessions that those that come back take the shortcuts of a long queue. */
#define MANY_PROCESSES   22
#define FEW_ACQUISITIONS 40
#define LONGER_MS        5 /* who begins alone does not end before the others begin */

/* While all compete, a third of the threads is Java's and so should be about a third of the grants.
 * Each language must get at least half of its fair share. */
TEST (test_mutex)
{
  const ContestPlan plan = { .connect_string = fixture_server (fixture),
                             .path = "/interop/mutex",
                             .c_recipe = "mutex",
                             .threads = 4,
                             .acquisitions = ACQUISITIONS,
                             .hold_ms = LONGER_MS };
  gint64 from_ns;
  gint64 to_ns;
  g_autoptr (GArray) events = assert_contest (fixture->raw, &plan);
  contest_common_time (events, 1, 3, &from_ns, &to_ns);
  const int all = contest_grants (events, 0, from_ns, to_ns);
  const int java = contest_grants (events, 3, from_ns, to_ns);
  print_message ("while all competed: %d grants to C, %d to Java\n", all - java, java);
  assert_true (all >= 4 * ACQUISITIONS);
  assert_true (java * 6 >= all);
  assert_true ((all - java) * 3 >= all);
}

TEST (test_many_sessions)
{
  const ContestPlan plan = { .connect_string = fixture_server (fixture),
                             .path = "/interop/many",
                             .c_recipe = "mutex",
                             .n_c = MANY_PROCESSES,
                             .threads = 1,
                             .acquisitions = FEW_ACQUISITIONS,
                             .hold_ms = LONGER_MS };
  gint64 from_ns;
  gint64 to_ns;
  g_autoptr (GArray) events = assert_contest (fixture->raw, &plan);
  contest_common_time (events, MANY_PROCESSES + 1, MANY_PROCESSES + 1, &from_ns, &to_ns);
  const int among = contest_grants (events, 0, from_ns, to_ns) - FEW_ACQUISITIONS;
  print_message ("%d grants to processes in C among those to Java\n", among);
  assert_true (among > 0);
}

SUITE ("interop: mutex", fixture_start_slow, fixture_stop)
