/* Semaphore mutexes in C and Java on one path; and multi-locks in C against a mutex in Java. */
#include "contest_test.h"

static void
contend (Fixture *fixture, const char *path, const char *c_recipe, const char *java_recipe)
{
  const ContestPlan plan = { .connect_string = fixture_server (fixture),
                             .path = path,
                             .c_recipe = c_recipe,
                             .java_recipe = java_recipe,
                             .threads = 4,
                             .acquisitions = 90,
                             .hold_ms = 1 };
  g_array_unref (assert_contest (fixture->raw, &plan));
}

TEST (test_semaphore_mutex)
{
  contend (fixture, "/interop/semmutex", "semmutex", "semmutex");
}

/* A multi-lock of three kinds against Java's mutex on the path of its first member. */
TEST (test_multi_lock)
{
  contend (fixture, "/interop/multi", "multi", "mutex");
}

SUITE ("interop: semaphore mutexes and multi-locks", fixture_start_slow, fixture_stop)
