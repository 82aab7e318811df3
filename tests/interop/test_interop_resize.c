/* Semaphores in C and Java that follow one shared count, which changes while they run. */
#include "contest.h"
#include "support/raw_zk.h"
#include "support/waiting.h"
#include "support/zk_server.h"

#include <curator/curator.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT_PATH "/interop/count"
/* A new number reaches everybody, and the leases given under the old one end, within this time. */
#define SETTLE_MS 1000
#define N_SIZES   3

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

typedef struct
{
  CuratorSharedCount *count;
  int sizes[N_SIZES];
  gint64 from_ns[N_SIZES];
  gint64 to_ns[N_SIZES];
  int failures;
} Resizes;

static void
resize (gpointer data)
{
  Resizes *resizes = data;
  for (int i = 0; i < N_SIZES; i++)
    {
      resizes->failures += !curator_shared_count_set (resizes->count, resizes->sizes[i], NULL);
      wait_ms (SETTLE_MS);
      resizes->from_ns[i] = wait_now_ns ();
      wait_ms (500);
      resizes->to_ns[i] = wait_now_ns ();
    }
}

static void
test_resize_while_running (void **state)
{
  ZkServer *server = *state;
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = curator_client_new (zk_server_address (server), NULL);
  assert_true (curator_client_start (client, &error));
  Resizes resizes = { .sizes = { 3, 1, 10 } };
  resizes.count = curator_shared_count_new (client, COUNT_PATH, 1, &error);
  assert_non_null (resizes.count);
  assert_true (curator_shared_count_start (resizes.count, &error));
  const ContestProcess processes[] = { { "counted:" COUNT_PATH, FALSE, 6, 80 },
                                       { "counted:" COUNT_PATH, FALSE, 6, 80 },
                                       { "counted:" COUNT_PATH, TRUE, 6, 80 },
                                       { NULL, FALSE, 0, 0 } };
  const ContestPlan plan = { .connect_string = zk_server_address (server),
                             .path = "/interop/resized",
                             .processes = processes,
                             .hold_ms = 10,
                             .limit = 10,
                             .meanwhile = resize,
                             .data = &resizes };
  g_autoptr (GArray) events = contest_run (&plan, 120000);
  assert_non_null (events);
  check_rules (events);
  assert_int_equal (resizes.failures, 0);
  for (int i = 0; i < N_SIZES; i++)
    {
      const int peak =
          contest_peak (events, RECORD_SEMAPHORE, resizes.from_ns[i], resizes.to_ns[i]);
      print_message ("%d leases: at most %d at a time\n", resizes.sizes[i], peak);
      assert_true (peak <= resizes.sizes[i]);
    }
  assert_int_equal (contest_grants (events, 0), 18 * 80);
  assert_nothing_left (server, "/interop/resized");
  curator_shared_count_unref (resizes.count);
  curator_client_close (client);
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
    cmocka_unit_test (test_resize_while_running),
  };
  return cmocka_run_group_tests_name ("interop: resize", tests, start, stop);
}
