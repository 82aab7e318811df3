/* Leader selectors and latches where Curator's own tests do not look: their nodes, their ends from
 * inside, arguments, threads and main contexts. */
#include "latches.h"
#include "leading.h"

#include <errno.h>
#include <string.h>

#define PATH "/test/election"

/* What happens to the next threads that this program or the library starts. All are atomic. */
enum
{
  THREADS_RUN,
  THREADS_REFUSED,
  THREADS_HELD /* they do not run before the gate is open */
};
static gint next_threads;
static gint gate_is_open;
static gint n_held;

typedef struct
{
  void *(*run) (void *);
  void *data;
} Held;

static void *
run_held (void *data)
{
  Held held = *(Held *) data;
  g_free (data);
  g_atomic_int_inc (&n_held);
  while (!g_atomic_int_get (&gate_is_open))
    wait_ms (1);
  return held.run (held.data);
}

int __real_pthread_create (pthread_t *thread, const pthread_attr_t *attr, void *(*run) (void *),
                           void *data);
int __wrap_pthread_create (pthread_t *thread, const pthread_attr_t *attr, void *(*run) (void *),
                           void *data);

int
__wrap_pthread_create (pthread_t *thread, const pthread_attr_t *attr, void *(*run) (void *),
                       void *data)
{
  const gint what = g_atomic_int_get (&next_threads);
  if (what == THREADS_REFUSED)
    return EAGAIN;
  if (what == THREADS_RUN)
    return __real_pthread_create (thread, attr, run, data);
  Held *held = g_new (Held, 1);
  *held = (Held){ run, data };
  return __real_pthread_create (thread, attr, run_held, held);
}

static int
open_gate_and_heal (void **state)
{
  g_atomic_int_set (&next_threads, THREADS_RUN);
  g_atomic_int_set (&gate_is_open, TRUE);
  return fixture_heal (state);
}

#undef SUITE_SETUP
#define SUITE_SETUP open_gate_and_heal

/* TestLeaderSelector.testRaceAtStateChanged: a leadership that ends before its thread runs is not
 * taken. */
PROXY_TEST (test_race_at_state_changed)
{
  g_autoptr (StateLog) log = state_log_new (client);
  g_atomic_int_set (&gate_is_open, FALSE);
  g_atomic_int_set (&next_threads, THREADS_HELD);
  g_autoptr (Leading) leading = leading_start_new (client, PATH, NULL, NULL);
  assert_soon (g_atomic_int_get (&n_held) > 0);
  g_atomic_int_set (&next_threads, THREADS_RUN);
  assert_true (leading_leads (leading));
  fixture_expire (fixture);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_LOST, 1, LONG_MS));
  assert_false (leading_leads (leading));
  g_atomic_int_set (&gate_is_open, TRUE);
  assert_soon (curator_leader_selector_requeue (leading->selector));
  assert_int_equal (g_atomic_int_get (&leading->entered), 0);
  curator_client_close (client);
}

/* Without a thread the leadership is given back, and the next attempt comes a while later. */
CLIENT_TEST (test_no_thread)
{
  g_atomic_int_set (&next_threads, THREADS_REFUSED);
  g_autoptr (Leading) once = leading_start_new (client, "/test/once", NULL, NULL);
  g_autoptr (Leading) again = leading_new (client, PATH, NULL, NULL);
  curator_leader_selector_set_auto_requeue (again->selector, TRUE);
  leading_start (again);
  assert_soon (curator_leader_selector_requeue (once->selector));
  g_atomic_int_set (&next_threads, THREADS_RUN);
  leading_assert_entered (again, 1);
  leading_assert_entered (once, 1);
}

/* Names, payloads and parents, as Curator writes them. */
TEST (test_nodes)
{
  proxy_reset_counts (fixture->proxy);
  g_autoptr (CuratorClient) client = client_new (fixture_proxy (fixture));
  curator_client_set_default_data (client, "the host", strlen ("the host"));
  client_start (client);
  g_autoptr (Leading) named = leading_start_new (client, "/nodes/named", "selector id", NULL);
  g_autoptr (Leading) plain = leading_start_new (client, "/nodes/plain", NULL, NULL);
  g_autoptr (Latch) latch = latch_start_new (client, "/nodes/latch", "latch id");
  g_autoptr (Latch) bare = latch_start_new (client, "/nodes/bare", NULL);
  leading_assert_entered (named, 1);
  leading_assert_entered (plain, 1);
  latch_assert_leads (latch);
  latch_assert_leads (bare);
  static const struct
  {
    const char *parent;
    const char *name;
    const char *payload;
  } expected[] = { { "/nodes/named", "-lock-0000000000", "selector id" },
                   { "/nodes/plain", "-lock-0000000000", "the host" },
                   { "/nodes/latch", "-latch-0000000000", "latch id" },
                   { "/nodes/bare", "-latch-0000000000", "" } };
  for (gsize i = 0; i < G_N_ELEMENTS (expected); i++) {
    g_auto (GStrv) children = raw_zk_children (fixture->raw, expected[i].parent);
    assert_int_equal (g_strv_length (children), 1);
    assert_true (g_str_has_prefix (children[0], "_c_"));
    assert_true (g_str_has_suffix (children[0], expected[i].name));
    g_autofree char *path = g_strconcat (expected[i].parent, "/", children[0], NULL);
    g_autoptr (GBytes) payload = NULL;
    struct Stat stat;
    assert_int_equal (raw_zk_get (fixture->raw, path, &payload, &stat), ZOK);
    assert_int_equal (stat.ephemeralOwner, curator_client_get_session_id (client));
    assert_int_equal (g_bytes_get_size (payload), strlen (expected[i].payload));
    assert_memory_equal (g_bytes_get_data (payload, NULL), expected[i].payload,
                         strlen (expected[i].payload));
  }
  assert_true (proxy_count (fixture->proxy, PROXY_CREATE_CONTAINER) >= 4);
  assert_int_equal (proxy_count (fixture->proxy, PROXY_CREATE), 0);
}

typedef enum
{
  CLOSES_SELECTOR,
  CLOSES_CLIENT,
  RELEASES_LEASE,
  N_ENDS
} End;

typedef struct
{
  CuratorClient *client;
  End end;
  gint told; /* to end it; atomic, like the next */
  gint cancelled;
  gint destroyed;
} Inside;

static void
end_from_inside (CuratorLeaderSelector *selector, CuratorLease *lease, GCancellable *cancellable,
                 gpointer user_data)
{
  Inside *inside = user_data;
  while (!g_atomic_int_get (&inside->told))
    wait_ms (1);
  if (inside->end == CLOSES_CLIENT)
    curator_client_close (inside->client);
  else if (inside->end == RELEASES_LEASE)
    curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL);
  else
    curator_leader_selector_close (selector);
  if (holds_within (g_cancellable_is_cancelled (cancellable), LONG_MS)
      && curator_leader_selector_has_leadership (selector) == (inside->end == CLOSES_SELECTOR))
    g_atomic_int_inc (&inside->cancelled);
}

static void
count_destroyed (gpointer user_data)
{
  g_atomic_int_inc (&((Inside *) user_data)->destroyed);
}

/* The function closes its selector, its client, or releases its lease. */
TEST (test_end_from_inside)
{
  for (End end = 0; end < N_ENDS; end++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
    Inside inside = { .client = client, .end = end };
    CuratorLeaderSelector *selector = curator_leader_selector_new (
        client, PATH, end_from_inside, &inside, count_destroyed, &error);
    assert_ok (selector != NULL, &error);
    assert_ok (curator_leader_selector_start (selector, &error), &error);
    assert_false (curator_leader_selector_start (selector, &error));
    assert_curator_error (&error, CURATOR_ERROR_ALREADY_STARTED);
    assert_children (fixture, PATH, 1, LONG_MS);
    g_atomic_int_set (&inside.told, TRUE);
    assert_soon (g_atomic_int_get (&inside.cancelled) == 1);
    assert_int_equal (g_atomic_int_get (&inside.destroyed), 0);
    curator_leader_selector_unref (selector);
    assert_soon (g_atomic_int_get (&inside.destroyed) == 1);
    assert_no_residue (fixture, PATH, LONG_MS);
  }
}

/* The last reference is dropped while another candidate leads, and then while the function runs: it
 * is cancelled, and all is freed. */
CLIENT_TEST (test_unref_while_leading)
{
  g_autoptr (Leading) leading = leading_start_new (client, PATH, NULL, NULL);
  Leading *queued = leading_start_new (client, PATH, NULL, NULL);
  leading_assert_entered (leading, 1);
  assert_children (fixture, PATH, 2, LONG_MS);
  leading_free (queued);
  assert_true (leading_leads (leading));
  assert_children (fixture, PATH, 1, LONG_MS);
}

/* A leader learns of its end although nobody iterates the context that the callbacks run in. */
TEST (test_context_that_nobody_iterates)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (CuratorClient) client = client_new (fixture_proxy (fixture));
  curator_client_set_callback_context (client, context);
  client_start (client);
  g_autoptr (Leading) leading = leading_start_new (client, PATH, NULL, NULL);
  leading_assert_entered (leading, 1);
  fixture_expire (fixture);
  leading_assert_left (leading, 1);
  assert_int_equal (g_atomic_int_get (&leading->cancelled), 1);
}

static void
never_called (CuratorLeaderLatch *latch, gboolean is_leader, gpointer user_data)
{
}

/* The last reference is dropped before a listener was told that the latch leads: it leads no more,
 * although nobody iterates the context that the listener would run in. */
TEST (test_unref_before_the_listener_ran)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  curator_client_set_callback_context (client, context);
  assert_ok (curator_client_start (client, &error), &error);
  CuratorLeaderLatch *latch = curator_leader_latch_new (client, PATH, NULL, &error);
  assert_ok (latch != NULL, &error);
  curator_leader_latch_add_listener (latch, never_called, NULL, NULL);
  assert_ok (curator_leader_latch_start (latch, &error), &error);
  assert_ok (curator_leader_latch_await (latch, LONG_MS, NULL, &error), &error);
  curator_leader_latch_unref (latch);
  assert_no_residue (fixture, PATH, LONG_MS);
}

/* The pauses between leaderships that end at once: none, then 10 ms, and each twice the one
 * before. */
CLIENT_TEST (test_pauses_of_a_function_that_returns_at_once)
{
  g_autoptr (Leading) leading = leading_new (client, PATH, NULL, NULL);
  const gint64 before_ms = wait_now_ms ();

  leading->at_once = TRUE;
  curator_leader_selector_set_auto_requeue (leading->selector, TRUE);
  leading_start (leading);
  leading_assert_left (leading, 9);
  assert_true (wait_now_ms () - before_ms >= 10 + 20 + 40 + 80 + 160 + 320 + 640);
}

/* What start and the constructors refuse. */
TEST (test_refused)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *long_id = g_strnfill (4097, 'x');
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  g_autoptr (Leading) leading = leading_new (client, PATH, NULL, NULL);
  g_autoptr (Latch) latch = latch_new (client, PATH, NULL);
  assert_false (curator_leader_selector_requeue (leading->selector));
  assert_false (curator_leader_selector_start (leading->selector, &error));
  assert_curator_error (&error, CURATOR_ERROR_NOT_STARTED);
  assert_false (curator_leader_latch_start (latch->latch, &error));
  assert_curator_error (&error, CURATOR_ERROR_NOT_STARTED);
  assert_null (curator_leader_latch_new (client, PATH, long_id, &error));
  assert_curator_error (&error, CURATOR_ERROR_LIMIT_EXCEEDED);
  client_start (client);
  assert_false (curator_leader_selector_requeue (leading->selector));
  curator_leader_selector_set_id (leading->selector, long_id);
  assert_false (curator_leader_selector_start (leading->selector, &error));
  assert_curator_error (&error, CURATOR_ERROR_LIMIT_EXCEEDED);
  latch_start (latch);
  assert_false (curator_leader_latch_start (latch->latch, &error));
  assert_curator_error (&error, CURATOR_ERROR_ALREADY_STARTED);
}

SUITE ("leaders", fixture_start_calm, fixture_stop)
