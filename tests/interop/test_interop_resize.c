/* Semaphores in C and Java that follow one shared count, which changes while they run. */
#include "contest_test.h"

#define COUNT_PATH "/interop/count"
/* Within this time all clients that have read a new number, and watch it again, use it, and the
 * leases granted under the old one end. */
#define SETTLE_MS 1000
#define N_SIZES   3

typedef struct
{
  const char *server;
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
  for (int i = 0; i < N_SIZES; i++) {
    const int n = four_letter_watchers_of (resizes->server, COUNT_PATH);
    resizes->failures += !curator_shared_count_set (resizes->count, resizes->sizes[i],
                                                    CURATOR_WAIT_DEFAULT, NULL, NULL);
    (void) holds_within (four_letter_watchers_of (resizes->server, COUNT_PATH) >= n, LONG_MS);
    wait_ms (SETTLE_MS);
    resizes->from_ns[i] = wait_now_ns ();
    wait_ms (500);
    resizes->to_ns[i] = wait_now_ns ();
  }
}

TEST (test_resize_while_running)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  Resizes resizes = { .server = fixture_server (fixture), .sizes = { 3, 1, 10 } };
  resizes.count = curator_shared_count_new (client, COUNT_PATH, 1, &error);
  assert_ok (curator_shared_count_start (resizes.count, CURATOR_WAIT_DEFAULT, NULL, &error),
             &error);
  const ContestPlan plan = { .connect_string = fixture_server (fixture),
                             .path = "/interop/resized",
                             .c_recipe = "counted:" COUNT_PATH,
                             .threads = 6,
                             .acquisitions = 80,
                             .hold_ms = 10,
                             .limit = 10,
                             .meanwhile = resize,
                             .data = &resizes };
  g_autoptr (GArray) events = assert_contest (fixture->raw, &plan);
  assert_int_equal (resizes.failures, 0);
  for (int i = 0; i < N_SIZES; i++) {
    const int peak = contest_peak (events, RECORD_SEMAPHORE, resizes.from_ns[i], resizes.to_ns[i]);
    print_message ("%d leases: at most %d at a time\n", resizes.sizes[i], peak);
    assert_true (peak <= resizes.sizes[i]);
  }
  curator_shared_count_unref (resizes.count);
}

SUITE ("interop: resize", fixture_start_calm, fixture_stop)
