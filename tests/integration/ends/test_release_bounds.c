/* How long releases wait for a server that has stopped: as long as their caller said, or until it
 * is cancelled. The hold has ended by then, and the node is deleted when the server goes on. The
 * program test_release_bounds_then does the same with the calls that do not wait. extreme_headers
 * writes the calls. */
#include "extremes.h"
#include "support/metronome.h"

#include <string.h>

#define BOUND_MS        300
#define AT_ONCE_MS      50
#define SHARED_BOUND_MS 4000
/* Far less than the connection timeout, for which a release waits by default. */
#define SOON_MS       15000
#define CONNECTION_MS 1000

typedef struct
{
  Fixture *fixture;
  CuratorClient *client;
  CuratorLock *lock;
  CuratorSemaphore *semaphore;
  GPtrArray *leases; /* of the semaphore: two */
  CuratorLease *lease;
  gint64 session_id;
} Holds;

static void
holds_clear (Holds *holds)
{
  zk_server_thaw (holds->fixture->server);
  g_clear_pointer (&holds->leases, g_ptr_array_unref);
  g_clear_pointer (&holds->lease, curator_lease_unref);
  g_clear_pointer (&holds->lock, curator_lock_unref);
  g_clear_pointer (&holds->semaphore, curator_semaphore_unref);
  g_clear_pointer (&holds->client, curator_client_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Holds, holds_clear)

/* Holds everything, in two levels for the thread, and stops the server. */
static void
hold_all (Holds *holds, Fixture *fixture, gint64 connection_ms)
{
  g_autoptr (GError) error = NULL;

  holds->fixture = fixture;
  holds->client = client_new (fixture_server (fixture));
  curator_client_set_connection_timeout (holds->client, connection_ms);
  client_start (holds->client);
  holds->lock = mutex_new (holds->client, "/bounds/lock");
  holds->semaphore = curator_semaphore_new (holds->client, "/bounds/semaphore", 3, NULL);
  assert_acquired (holds->lock);
  assert_acquired (holds->lock);
  holds->leases = curator_semaphore_acquire_n (holds->semaphore, 2, LONG_MS, NULL, &error);
  assert_ok (holds->leases != NULL, &error);
  holds->lease = curator_semaphore_acquire (holds->semaphore, LONG_MS, NULL, &error);
  assert_ok (holds->lease != NULL, &error);
  holds->session_id = curator_client_get_session_id (holds->client);
  zk_server_freeze (fixture->server);
}

/* The i-th of them. */
#ifdef RELEASES_THEN
#define THEN "_then"
#else
#define THEN ""
#endif
static const char *const releases[] = { "curator_lock_release" THEN, "curator_lease_release" THEN,
                                        "curator_semaphore_return_all" THEN };

static gboolean
is_released (gpointer lease)
{
  return curator_lease_get_state (lease) == CURATOR_LEASE_STATE_RELEASED;
}

static gboolean
has_ended (Holds *holds, guint i)
{
  return i == 0   ? !curator_lock_is_acquired_in_this_process (holds->lock)
         : i == 1 ? is_released (holds->lease)
                  : is_released (g_ptr_array_index (holds->leases, 0))
                        && is_released (g_ptr_array_index (holds->leases, 1));
}

static gboolean
release (Holds *holds, guint i, gint64 timeout_ms, GCancellable *cancellable, GError **error)
{
  Stage stage = { .value = timeout_ms,
                  .cancellable = cancellable,
                  .lock = holds->lock,
                  .held_lease = holds->lease,
                  .semaphore = holds->semaphore,
                  .held_leases = holds->leases };
  Outcome outcome = { 0 };
  const Extreme *extreme = extremes;

  while (strcmp (extreme->function, releases[i]) != 0)
    extreme++;
  extreme->run (&stage, &outcome);
  /* Before the answer, unless the timeout is refused. */
  assert_int_equal (has_ended (holds, i), timeout_ms >= CURATOR_WAIT_DEFAULT);
  extreme_await (extreme, &outcome);
  if (outcome.error != NULL)
    g_propagate_error (error, outcome.error);
  return outcome.succeeded;
}

/* The first level of the thread's hold ends without a wait, whatever the call may wait for. */
static void
leave_one_level (Holds *holds)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GCancellable) cancelled = g_cancellable_new ();

  g_cancellable_cancel (cancelled);
  assert_ok (curator_lock_release (holds->lock, CURATOR_WAIT_FOREVER, cancelled, &error), &error);
  assert_true (curator_lock_is_owned_by_current_thread (holds->lock));
}

/* The session goes on, and it is the client that deletes the nodes. */
static void
assert_all_deleted (Holds *holds)
{
  zk_server_thaw (holds->fixture->server);
  assert_children (holds->fixture, "/bounds/lock", 0, LONG_MS);
  assert_children (holds->fixture, "/bounds/semaphore/leases", 0, LONG_MS);
  assert_int_equal (curator_client_get_session_id (holds->client), holds->session_id);
}

/* Each is not confirmed, after at least and at most so long. */
static void
release_in_vain (Fixture *fixture, gint64 connection_ms, gboolean is_frozen, gint64 timeout_ms,
                 gint64 least_ms, gint64 most_ms)
{
  g_autoptr (GError) error = NULL;
  g_auto (Holds) holds = { NULL };

  hold_all (&holds, fixture, connection_ms);
  if (!is_frozen)
    zk_server_thaw (fixture->server);
  leave_one_level (&holds);
  for (guint i = 0; i < G_N_ELEMENTS (releases); i++) {
    const gint64 start = wait_now_ms ();
    assert_false (release (&holds, i, timeout_ms, NULL, &error));
    const gint64 took = wait_now_ms () - start;
    assert_curator_error (&error, CURATOR_ERROR_RELEASE_PENDING);
    assert_true (took >= least_ms);
    /* types.h: 0 does not wait; the connection timeout by default; or timeout_ms. */
    assert_promised_ms (took, most_ms, start);
  }
  assert_false (release (&holds, 0, LONG_MS, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_NOT_OWNER);
  assert_all_deleted (&holds);
}

/* A program passes on what is left of its time. */
TEST (test_nothing_left)
{
  static const gint64 nothings[] = { 0, -1, -20, G_MININT64 + 1 };

  for (gsize i = 0; i < G_N_ELEMENTS (nothings); i++)
    release_in_vain (fixture, LONG_SESSION_MS, TRUE, nothings[i], 0, AT_ONCE_MS);
}

TEST (test_nothing_left_before_a_server_that_answers)
{
  release_in_vain (fixture, LONG_SESSION_MS, FALSE, 0, 0, AT_ONCE_MS);
}

TEST (test_default)
{
  release_in_vain (fixture, CONNECTION_MS, TRUE, CURATOR_WAIT_DEFAULT, CONNECTION_MS - 1,
                   CONNECTION_MS + SOON_MS);
}

TEST (test_bounded)
{
  release_in_vain (fixture, LONG_SESSION_MS, TRUE, BOUND_MS, BOUND_MS - 1, SOON_MS);
}

/* The client is closed before the server goes on: the end of the session deletes the node. */
TEST (test_nothing_left_of_a_session)
{
  g_autoptr (GError) error = NULL;
  g_auto (Holds) holds = { NULL };
  hold_all (&holds, fixture, LONG_SESSION_MS);

  leave_one_level (&holds);
  assert_false (release (&holds, 0, 0, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_RELEASE_PENDING);
  curator_client_close (holds.client);
  zk_server_thaw (fixture->server);
  assert_children (fixture, "/bounds/lock", 0, LONG_MS);
}

/* Both leases are waited for at once: in turn, they would take twice as long. */
TEST (test_leases_share_their_bound)
{
  g_autoptr (GError) error = NULL;
  g_auto (Holds) holds = { NULL };
  hold_all (&holds, fixture, LONG_SESSION_MS);

  const gint64 start = wait_now_ms ();
  assert_false (release (&holds, 2, SHARED_BOUND_MS, NULL, &error));
  /* semaphore.h: one time for all leases. */
  assert_promised_ms (wait_now_ms () - start, 2 * SHARED_BOUND_MS - 1, start);
  for (guint i = 0; i < holds.leases->len; i++) {
    const char *node = curator_lease_get_node_path (g_ptr_array_index (holds.leases, i));
    assert_non_null (strstr (error->message, node));
  }
}

TEST (test_cancelled_before)
{
  g_autoptr (GCancellable) cancelled = g_cancellable_new ();
  g_auto (Holds) holds = { NULL };
  hold_all (&holds, fixture, LONG_SESSION_MS);

  leave_one_level (&holds);
  g_cancellable_cancel (cancelled);
  for (guint i = 0; i < G_N_ELEMENTS (releases); i++) {
    g_autoptr (GError) error = NULL;
    assert_false (release (&holds, i, CURATOR_WAIT_FOREVER, cancelled, &error));
    assert_error (&error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  }
  /* What has ended is nothing to wait for. */
  for (guint i = 1; i < G_N_ELEMENTS (releases); i++) {
    g_autoptr (GError) error = NULL;
    assert_ok (release (&holds, i, CURATOR_WAIT_FOREVER, cancelled, &error), &error);
  }
  assert_all_deleted (&holds);
}

static gpointer
cancel_soon (gpointer cancellable)
{
  wait_ms (BOUND_MS);
  g_cancellable_cancel (cancellable);
  return NULL;
}

TEST (test_cancelled_meanwhile)
{
  g_auto (Holds) holds = { NULL };
  hold_all (&holds, fixture, LONG_SESSION_MS);

  leave_one_level (&holds);
  for (guint i = 0; i < G_N_ELEMENTS (releases); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (GCancellable) cancellable = g_cancellable_new ();
    GThread *other = g_thread_new ("canceller", cancel_soon, cancellable);
    assert_false (release (&holds, i, CURATOR_WAIT_FOREVER, cancellable, &error));
    g_thread_join (other);
    assert_error (&error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  }
  assert_all_deleted (&holds);
}

static gpointer
thaw_soon (gpointer server)
{
  wait_ms (3 * CONNECTION_MS / 2);
  zk_server_thaw (server);
  return NULL;
}

/* Without a bound: for longer than the connection timeout. */
TEST (test_forever)
{
  for (guint i = 0; i < G_N_ELEMENTS (releases); i++) {
    g_autoptr (GError) error = NULL;
    g_auto (Holds) holds = { NULL };
    hold_all (&holds, fixture, CONNECTION_MS);
    leave_one_level (&holds);
    GThread *other = g_thread_new ("thawer", thaw_soon, fixture->server);
    const gboolean released = release (&holds, i, CURATOR_WAIT_FOREVER, NULL, &error);
    g_thread_join (other);
    assert_ok (released, &error);
  }
}

PROMPT_SUITE ("release_bounds", fixture_start_calm, fixture_stop)
