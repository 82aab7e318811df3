/* Semaphore mutexes in C and Java on one path; and multi-locks in C against a mutex in Java. */
#include "contest.h"
#include "support/raw_zk.h"
#include "support/zk_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
check_rules (const GArray *events)
{
  const CheckerRules rules = { .residue_ms = 1000 };
  g_autoptr (GPtrArray) violations = checker_run (events, &rules);
  assert_int_equal (checker_print (violations), 0);
}

static void
assert_nothing_left (ZkServer *server, const char *path)
{
  g_autofree char *leases = g_strconcat (path, "/leases", NULL);
  g_autofree char *locks = g_strconcat (path, "/locks", NULL);
  RawZk *raw = raw_zk_open (zk_server_address (server));
  assert_true (raw_zk_count_children (raw, leases) <= 0);
  assert_true (raw_zk_count_children (raw, locks) <= 0);
  raw_zk_close (raw);
}

static void
test_semaphore_mutex (void **state)
{
  ZkServer *server = *state;
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
  check_rules (events);
  assert_int_equal (contest_grants (events, 0), 1080);
  assert_nothing_left (server, "/interop/semmutex");
}

/* A multi-lock of three kinds against Java's mutex on the path of its first member. */
static void
test_multi_lock (void **state)
{
  ZkServer *server = *state;
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
  check_rules (events);
  assert_int_equal (contest_grants (events, 0), 1080);
  assert_nothing_left (server, "/interop/multi-second");
  RawZk *raw = raw_zk_open (zk_server_address (server));
  assert_true (raw_zk_count_children (raw, "/interop/multi") <= 0);
  assert_true (raw_zk_count_children (raw, "/interop/multi-third") <= 0);
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
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_semaphore_mutex),
    cmocka_unit_test (test_multi_lock),
  };
  return cmocka_run_group_tests_name ("interop: semaphore mutexes and multi-locks", tests, start,
                                      stop);
}
