/* Semaphores in C and Java on one path: never more leases than there are. */
#include "contest_test.h"

static void
run_size (ZkServer *server, int size)
{
  g_autofree char *path = g_strdup_printf ("/interop/semaphore-%d", size);
  g_autofree char *recipe = g_strdup_printf ("semaphore:%d", size);
  const ContestProcess processes[] = { { recipe, FALSE, 6, 60 },
                                       { recipe, FALSE, 6, 60 },
                                       { recipe, TRUE, 6, 60 },
                                       { NULL, FALSE, 0, 0 } };
  const ContestPlan plan = { .connect_string = zk_server_address (server),
                             .path = path,
                             .processes = processes,
                             .hold_ms = size > 1 ? 5 : 1,
                             .limit = size };
  g_autoptr (GArray) events = contest_run (&plan, 90000);
  assert_non_null (events);
  assert_good_history (events);
  assert_int_equal (contest_grants (events, 0), 1080);
  const int peak = contest_peak (events, RECORD_SEMAPHORE, 0, G_MAXINT64);
  print_message ("%d leases: at most %d at a time\n", size, peak);
  assert_true (peak <= size && peak >= MIN (size, 3));
  assert_semaphore_is_free (server, path);
}

TEST (test_size_1)
{
  run_size (server, 1);
}

TEST (test_size_3)
{
  run_size (server, 3);
}

TEST (test_size_10)
{
  run_size (server, 10);
}

/* Leases wanted two at a time in C, one at a time in Java. */
TEST (test_several_at_a_time)
{
  const ContestProcess processes[] = { { "semaphore:3:2", FALSE, 3, 60 },
                                       { "semaphore:3:2", FALSE, 3, 60 },
                                       { "semaphore:3", TRUE, 3, 60 },
                                       { NULL, FALSE, 0, 0 } };
  const ContestPlan plan = { .connect_string = zk_server_address (server),
                             .path = "/interop/several",
                             .processes = processes,
                             .hold_ms = 2,
                             .limit = 3 };
  g_autoptr (GArray) events = contest_run (&plan, 90000);
  assert_non_null (events);
  assert_good_history (events);
  assert_int_equal (contest_grants (events, 0), 540);
  assert_semaphore_is_free (server, "/interop/several");
}

SUITE ("interop: semaphores", contest_server_start, contest_server_stop)
