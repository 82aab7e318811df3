/* Semaphores in C and Java on one path: never more leases than there are. */
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
  check_rules (events);
  assert_int_equal (contest_grants (events, 0), 1080);
  const int peak = contest_peak (events, RECORD_SEMAPHORE, 0, G_MAXINT64);
  print_message ("%d leases: at most %d at a time\n", size, peak);
  assert_true (peak <= size && peak >= MIN (size, 3));
  assert_nothing_left (server, path);
}

static void
test_size_1 (void **state)
{
  run_size (*state, 1);
}

static void
test_size_3 (void **state)
{
  run_size (*state, 3);
}

static void
test_size_10 (void **state)
{
  run_size (*state, 10);
}

/* Leases wanted two at a time in C, one at a time in Java. */
static void
test_several_at_a_time (void **state)
{
  ZkServer *server = *state;
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
  check_rules (events);
  assert_int_equal (contest_grants (events, 0), 540);
  assert_nothing_left (server, "/interop/several");
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
    cmocka_unit_test (test_size_1),
    cmocka_unit_test (test_size_3),
    cmocka_unit_test (test_size_10),
    cmocka_unit_test (test_several_at_a_time),
  };
  return cmocka_run_group_tests_name ("interop: semaphores", tests, start, stop);
}
