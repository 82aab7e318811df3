/* Semaphore mutexes in C and Java on one path; and multi-locks in C against a mutex in Java. */
#include "contest_test.h"

TEST (test_semaphore_mutex)
{
  const ContestProcess processes[] = { { "semmutex", FALSE, 4, 90 },
                                       { "semmutex", FALSE, 4, 90 },
                                       { "semmutex", TRUE, 4, 90 },
                                       { NULL, FALSE, 0, 0 } };
  const ContestPlan plan = { .connect_string = zk_server_address (server),
                             .path = "/interop/semmutex",
                             .processes = processes,
                             .hold_ms = 1,
                             .limit = 1 };
  g_autoptr (GArray) events = contest_run (&plan, 90000);
  assert_non_null (events);
  assert_good_history (events);
  assert_int_equal (contest_grants (events, 0), 1080);
  assert_semaphore_is_free (server, "/interop/semmutex");
}

/* A multi-lock of three kinds against Java's mutex on the path of its first member. */
TEST (test_multi_lock)
{
  const ContestProcess processes[] = { { "multi", FALSE, 4, 90 },
                                       { "multi", FALSE, 4, 90 },
                                       { "mutex", TRUE, 4, 90 },
                                       { NULL, FALSE, 0, 0 } };
  const ContestPlan plan = { .connect_string = zk_server_address (server),
                             .path = "/interop/multi",
                             .processes = processes,
                             .hold_ms = 1,
                             .limit = 1 };
  g_autoptr (GArray) events = contest_run (&plan, 90000);
  assert_non_null (events);
  assert_good_history (events);
  assert_int_equal (contest_grants (events, 0), 1080);
  assert_semaphore_is_free (server, "/interop/multi-second");
  assert_none_below (server, "/interop/multi");
  assert_none_below (server, "/interop/multi-third");
}

SUITE ("interop: semaphore mutexes and multi-locks", contest_server_start, contest_server_stop)
