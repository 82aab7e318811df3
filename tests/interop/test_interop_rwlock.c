/* Read-write locks in C and Java on one path: readers overlap, writers never, and no writer of
 * either language is granted during a downgrade in C. */
#include "contest_test.h"

TEST (test_readers_and_writers)
{
  const ContestPlan plan = { .connect_string = fixture_server (fixture),
                             .path = "/interop/rw",
                             .c_recipe = "rw",
                             .threads = 6,
                             .acquisitions = 70,
                             .hold_ms = 2 };
  g_autoptr (GArray) events = assert_contest (fixture->raw, &plan);
  const int readers = contest_peak (events, RECORD_READ, 0, G_MAXINT64);
  print_message ("at most %d readers at a time\n", readers);
  assert_true (readers > 1);
  assert_int_equal (contest_peak (events, RECORD_WRITE, 0, G_MAXINT64), 1);
}

TEST (test_downgrade)
{
  const ContestPlan plan = { .connect_string = fixture_server (fixture),
                             .path = "/interop/downgrade",
                             .c_recipe = "downgrade",
                             .java_recipe = "write",
                             .threads = 4,
                             .acquisitions = 60,
                             .hold_ms = 2 };
  g_array_unref (assert_contest (fixture->raw, &plan));
}

SUITE ("interop: read-write locks", fixture_start_slow, fixture_stop)
