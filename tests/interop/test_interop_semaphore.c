/* Semaphores in C and Java on one path: never more leases than there are. */
#include "contest_test.h"

TEST (test_sizes)
{
  static const int sizes[] = { 1, 3, 10 };

  for (gsize i = 0; i < G_N_ELEMENTS (sizes); i++) {
    const int size = sizes[i];
    g_autofree char *path = g_strdup_printf ("/interop/semaphore-%d", size);
    g_autofree char *recipe = g_strdup_printf ("semaphore:%d", size);
    const ContestPlan plan = { .connect_string = fixture_server (fixture),
                               .path = path,
                               .c_recipe = recipe,
                               .threads = 6,
                               .acquisitions = 60,
                               .hold_ms = size > 1 ? 5 : 1,
                               .limit = size };
    g_autoptr (GArray) events = assert_contest (fixture->raw, &plan);
    const int peak = contest_peak (events, RECORD_SEMAPHORE, 0, G_MAXINT64);
    print_message ("%d leases: at most %d at a time\n", size, peak);
    assert_true (peak <= size && peak >= MIN (size, 3));
  }
}

/* Leases wanted two at a time in C, one at a time in Java. */
TEST (test_several_at_a_time)
{
  const ContestPlan plan = { .connect_string = fixture_server (fixture),
                             .path = "/interop/several",
                             .c_recipe = "semaphore:3:2",
                             .java_recipe = "semaphore:3",
                             .threads = 3,
                             .acquisitions = 60,
                             .hold_ms = 2,
                             .limit = 3 };
  g_array_unref (assert_contest (fixture->raw, &plan));
}

SUITE ("interop: semaphores", fixture_start_slow, fixture_stop)
