/* Leader selectors and latches where Curator's own tests do not look: their nodes, their ends from
 * inside, arguments, threads and main contexts. */
#include "latches.h"
#include "leading.h"

#include <errno.h>
#include <string.h>

#define PATH "/test/election"

/* What happens to the next threads that this program or the library starts. */
static struct
{
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  gboolean refuse;
  gboolean hold; /* they do not run before gate_open() */
  int held;
} gate = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, FALSE, FALSE, 0 };

typedef struct
{
  void *(*run) (void *);
  void *data;
} Held;

static void
gate_set (gboolean refuse, gboolean hold)
{
  pthread_mutex_lock (&gate.mutex);
  gate.refuse = refuse;
  gate.hold = hold;
  pthread_mutex_unlock (&gate.mutex);
}

static void
gate_open (void)
{
  pthread_mutex_lock (&gate.mutex);
  gate.held = 0;
  pthread_cond_broadcast (&gate.changed);
  pthread_mutex_unlock (&gate.mutex);
}

static void *
run_held (void *data)
{
  Held held = *(Held *) data;
  g_free (data);
  pthread_mutex_lock (&gate.mutex);
  gate.held++;
  while (gate.held > 0)
    pthread_cond_wait (&gate.changed, &gate.mutex);
  pthread_mutex_unlock (&gate.mutex);
  return held.run (held.data);
}

static gboolean
is_held (void)
{
  pthread_mutex_lock (&gate.mutex);
  const gboolean held = gate.held > 0;
  pthread_mutex_unlock (&gate.mutex);
  return held;
}

int __real_pthread_create (pthread_t *thread, const pthread_attr_t *attr, void *(*run) (void *),
                           void *data);
int __wrap_pthread_create (pthread_t *thread, const pthread_attr_t *attr, void *(*run) (void *),
                           void *data);

int
__wrap_pthread_create (pthread_t *thread, const pthread_attr_t *attr, void *(*run) (void *),
                       void *data)
{
  pthread_mutex_lock (&gate.mutex);
  const gboolean refuse = gate.refuse;
  const gboolean hold = gate.hold;
  pthread_mutex_unlock (&gate.mutex);
  if (refuse)
    return EAGAIN;
  if (!hold)
    return __real_pthread_create (thread, attr, run, data);
  Held *held = g_new (Held, 1);
  *held = (Held){ run, data };
  return __real_pthread_create (thread, attr, run_held, held);
}

static int
open_gate_and_heal (void **state)
{
  gate_set (FALSE, FALSE);
  gate_open ();
  return fixture_heal (state);
}

#undef SUITE_SETUP
#define SUITE_SETUP open_gate_and_heal

static gboolean
selector_leads (Leading *leading)
{
  return curator_leader_selector_has_leadership (leading->selector);
}

/* TestLeaderSelector.testRaceAtStateChanged: a leadership that ends before its thread runs is not
 * taken. */
TEST (test_race_at_state_changed)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (StateLog) log = state_log_new (client);
  gate_set (FALSE, TRUE);
  g_autoptr (Leading) leading = leading_start_new (client, PATH, NULL, NULL);
  assert_soon (is_held ());
  gate_set (FALSE, FALSE);
  assert_true (selector_leads (leading));
  fixture_expire (fixture);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_LOST, 1, LONG_MS));
  assert_false (selector_leads (leading));
  gate_open ();
  assert_soon (curator_leader_selector_requeue (leading->selector));
  assert_int_equal (leading_entered (leading), 0);
  curator_client_close (client);
}

/* Without a thread the leadership is given back, and the next attempt comes a while later. */
TEST (test_no_thread)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  gate_set (TRUE, FALSE);
  g_autoptr (Leading) once = leading_start_new (client, "/test/once", NULL, NULL);
  g_autoptr (Leading) again = leading_new (client, PATH, NULL, NULL);
  curator_leader_selector_set_auto_requeue (again->selector, TRUE);
  leading_start (again);
  assert_soon (curator_leader_selector_requeue (once->selector));
  gate_set (FALSE, FALSE);
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
  for (gsize i = 0; i < G_N_ELEMENTS (expected); i++)
    {
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

typedef struct
{
  pthread_mutex_t mutex;
  CuratorClient *client;
  gboolean closes_client;
  gboolean releases;
  gint cancelled;
  gint destroyed;
} Inside;

static void
end_from_inside (CuratorLeaderSelector *selector, CuratorLease *lease, GCancellable *cancellable,
                 gpointer user_data)
{
  Inside *inside = user_data;
  pthread_mutex_lock (&inside->mutex);
  if (inside->closes_client)
    curator_client_close (inside->client);
  else if (inside->releases)
    curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL);
  else
    curator_leader_selector_close (selector);
  pthread_mutex_unlock (&inside->mutex);
  GPollFD wait;
  if (g_cancellable_make_pollfd (cancellable, &wait))
    {
      g_poll (&wait, 1, LONG_MS);
      g_cancellable_release_fd (cancellable);
    }
  if (g_cancellable_is_cancelled (cancellable)
      && !curator_leader_selector_has_leadership (selector)
             == (inside->closes_client || inside->releases))
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
  for (int i = 0; i < 3; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
      Inside inside = { .mutex = PTHREAD_MUTEX_INITIALIZER,
                        .client = client,
                        .closes_client = i == 1,
                        .releases = i == 2 };
      pthread_mutex_lock (&inside.mutex);
      CuratorLeaderSelector *selector = curator_leader_selector_new (
          client, PATH, end_from_inside, &inside, count_destroyed, &error);
      assert_ok (selector != NULL, &error);
      assert_ok (curator_leader_selector_start (selector, &error), &error);
      assert_false (curator_leader_selector_start (selector, &error));
      assert_curator_error (&error, CURATOR_ERROR_ALREADY_STARTED);
      assert_children (fixture, PATH, 1, LONG_MS);
      pthread_mutex_unlock (&inside.mutex);
      assert_soon (g_atomic_int_get (&inside.cancelled) == 1);
      assert_int_equal (g_atomic_int_get (&inside.destroyed), 0);
      curator_leader_selector_unref (selector);
      assert_soon (g_atomic_int_get (&inside.destroyed) == 1);
      assert_no_residue (fixture, PATH, LONG_MS);
    }
}

/* The last reference is dropped while another candidate leads, and then while the function runs: it
 * is cancelled, and all is freed. */
TEST (test_unref_while_leading)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (Leading) leading = leading_start_new (client, PATH, NULL, NULL);
  Leading *queued = leading_start_new (client, PATH, NULL, NULL);
  leading_assert_entered (leading, 1);
  assert_children (fixture, PATH, 2, LONG_MS);
  leading_free (queued);
  assert_true (selector_leads (leading));
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
  assert_int_equal (leading_cancelled (leading), 1);
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

static gboolean
await_names_the_cause (CuratorLeaderLatch *latch)
{
  g_autoptr (GError) error = NULL;

  assert_false (curator_leader_latch_await (latch, 0, NULL, &error));
  return g_error_matches (error, CURATOR_ZK_ERROR, ZNOAUTH)
         && strstr (error->message, "/not-to-be-written") != NULL;
}

/* As Curator's TestLeaderAcls waits for its listener. */
static void
on_unhandled_error (CuratorClient *client, const GError *error, gpointer n_told)
{
  if (g_error_matches (error, CURATOR_ZK_ERROR, ZNOAUTH)
      && strstr (error->message, "the ACL does not grant CREATE") != NULL
      && strstr (error->message, "/not-to-be-written") != NULL)
    g_atomic_int_inc ((gint *) n_told);
}

/* A latch that may not create its node says so, and leads as soon as it may. */
TEST (test_await_on_a_forbidden_path)
{
  static const char path[] = "/not-to-be-written";
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));

  assert_int_equal (raw_zk_make_path (fixture->raw, path), ZOK);
  assert_int_equal (raw_zk_set_world_acl (fixture->raw, path, ZOO_PERM_READ | ZOO_PERM_ADMIN), ZOK);
  gint n_told = 0;
  const guint id =
      curator_client_add_connection_error_listener (client, on_unhandled_error, &n_told, NULL);
  g_autoptr (Latch) latch = latch_start_new (client, path, NULL);
  assert_soon (await_names_the_cause (latch->latch));
  assert_soon (g_atomic_int_get (&n_told) == 1);
  curator_client_remove_connection_error_listener (client, id);
  assert_int_equal (raw_zk_set_world_acl (fixture->raw, path, ZOO_PERM_ALL), ZOK);
  latch_assert_leads (latch);
}

/* The pauses between leaderships that end at once: none, then 10 ms, and each twice the one
 * before. */
TEST (test_pauses_of_a_function_that_returns_at_once)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
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

SUITE ("leaders", fixture_start, fixture_stop)
