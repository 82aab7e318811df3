/* Holds: ownership, re-entrance, try calls, and leases that move between threads. */
#include "integration/fixture.h"
#include "support/held_lease.h"

#include <string.h>

TEST (test_reentrance)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/holds/deep");
  assert_acquired (lock);
  CuratorLease *lease = held_lease (lock);
  guint64 token = curator_lease_get_fencing_token (lease);
  proxy_reset_counts (fixture->proxy);
  for (int i = 0; i < 3; i++)
    {
      assert_ok (curator_lock_acquire (lock, 0, NULL, &error), &error);
      assert_true (held_lease (lock) == lease);
    }
  assert_int_equal (curator_lease_get_fencing_token (lease), token);
  for (int i = 0; i < 3; i++)
    {
      assert_released (lock);
      assert_true (curator_lock_is_owned_by_current_thread (lock));
    }
  /* Re-entry sends no request; only a heartbeat may have been sent meanwhile. */
  assert_int_equal (proxy_count (fixture->proxy, PROXY_CREATE2), 0);
  assert_int_equal (proxy_count (fixture->proxy, PROXY_DELETE), 0);
  assert_released (lock);
  assert_false (curator_lock_is_owned_by_current_thread (lock));
  assert_null (curator_lock_dup_lease (lock));
  assert_false (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_NOT_OWNER);
  assert_no_residue (fixture, "/holds/deep", 3000);
}

TEST (test_try)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/holds/try");
  assert_ok (curator_lock_acquire (lock, 0, NULL, &error), &error);
  g_autoptr (Contender) other = contender_start (lock, 0, NULL);
  assert_true (contender_wait (other, LONG_MS));
  assert_false (other->acquired);
  assert_curator_error (&other->error, CURATOR_ERROR_TIMED_OUT);
  assert_children (fixture, "/holds/try", 1, 3000);
  assert_released (lock);
  g_autoptr (Contender) later = contender_start (lock, 0, NULL);
  contender_assert_granted (later);
}

/* Another thread holds: this one neither owns nor can release. */
TEST (test_holds_belong_to_threads)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/holds/thread");
  g_autoptr (Contender) holder G_GNUC_UNUSED = contender_of (lock);
  assert_true (curator_lock_is_acquired_in_this_process (lock));
  assert_false (curator_lock_is_owned_by_current_thread (lock));
  assert_null (curator_lock_dup_lease (lock));
  assert_false (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_NOT_OWNER);
  assert_int_equal (raw_zk_count_children (fixture->raw, "/holds/thread"), 1);
}

typedef struct
{
  CuratorLock *lock;
  pthread_t wanted;
  gboolean first;
  gboolean reused;
  gboolean acquired;
  gboolean owned;
  gboolean had_lease;
  gboolean released;
} Heir;

/* The first thread ends while it holds; the others check that they do not own the lock. */
static void *
inherit (void *data)
{
  Heir *heir = data;
  if (heir->first)
    {
      heir->wanted = pthread_self ();
      heir->acquired = curator_lock_acquire (heir->lock, LONG_MS, NULL, NULL);
      return NULL;
    }
  heir->reused = pthread_equal (pthread_self (), heir->wanted) != 0;
  if (heir->reused)
    {
      heir->owned = curator_lock_is_owned_by_current_thread (heir->lock);
      heir->had_lease = held_lease (heir->lock) != NULL;
      heir->released = curator_lock_release (heir->lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
      heir->acquired = curator_lock_acquire (heir->lock, 100, NULL, NULL);
    }
  return NULL;
}

TEST (test_p34_no_inheritance_from_a_dead_thread)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/holds/dead");
  Heir heir = { .lock = lock, .first = TRUE };
  for (int i = 0; i < 1000 && !heir.reused; i++)
    {
      pthread_t thread;
      pthread_create (&thread, NULL, inherit, &heir);
      pthread_join (thread, NULL);
      assert_true (!heir.first || heir.acquired);
      heir.acquired = heir.acquired && !heir.first;
      heir.first = FALSE;
    }
  assert_true (heir.reused);
  assert_false (heir.owned);
  assert_false (heir.had_lease);
  assert_false (heir.released);
  assert_false (heir.acquired);
  assert_children (fixture, "/holds/dead", 1, 3000);
  curator_client_close (client);
  assert_no_residue (fixture, "/holds/dead", 3000);
}

static void *
release_lease (void *data)
{
  GError *error = NULL;
  gboolean released = curator_lease_release (data, CURATOR_WAIT_DEFAULT, NULL, &error);
  g_clear_error (&error);
  return GINT_TO_POINTER (released);
}

TEST (test_lease_released_by_another_thread)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/holds/lease");
  g_autoptr (CuratorLease) lease = lease_of (lock);
  assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_HELD);
  assert_false (curator_lock_is_owned_by_current_thread (lock));
  assert_false (curator_lock_is_acquired_in_this_process (lock));
  assert_null (curator_lock_acquire_lease (lock, 50, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_TIMED_OUT);
  assert_false (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_NOT_OWNER);

  pthread_t thread;
  void *released = NULL;
  pthread_create (&thread, NULL, release_lease, lease);
  pthread_join (thread, &released);
  assert_true (GPOINTER_TO_INT (released));
  assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_RELEASED);
  assert_ok (curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
  assert_no_residue (fixture, "/holds/lease", 3000);
}

/* A dropped lease is released. */
TEST (test_dropped_lease_is_released)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/holds/dropped");
  for (int i = 0; i < 20; i++)
    {
      CuratorLease *lease = lease_of (lock);
      curator_lease_unref (lease);
    }
  assert_no_residue (fixture, "/holds/dropped", 3000);
}

/* The lock object is unreferenced while a thread holds it. */
TEST (test_unref_while_held)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  CuratorLock *lock = mutex_new (client, "/holds/unref");
  assert_acquired (lock);
  curator_lock_unref (lock);
  assert_no_residue (fixture, "/holds/unref", 3000);
}

typedef struct
{
  pthread_mutex_t mutex;
  GQueue leases;
  GError *error;
  int acquired;
  int failed;
  int released;
  GThread *thread;
} Results;

static void
on_acquired (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer user_data)
{
  Results *results = user_data;
  pthread_mutex_lock (&results->mutex);
  results->thread = g_thread_self ();
  if (lease != NULL)
    {
      g_queue_push_tail (&results->leases, lease);
      results->acquired++;
    }
  else
    {
      g_clear_error (&results->error);
      results->error = g_error_copy (error);
      results->failed++;
    }
  pthread_mutex_unlock (&results->mutex);
}

static void
on_released (CuratorLock *lock, const GError *error, gpointer user_data)
{
  Results *results = user_data;
  pthread_mutex_lock (&results->mutex);
  results->released++;
  g_clear_error (&results->error);
  results->error = error != NULL ? g_error_copy (error) : NULL;
  pthread_mutex_unlock (&results->mutex);
}

static gboolean
wait_results (Results *results, GMainContext *context, int acquired, int failed, int released)
{
  gint64 deadline = wait_now_ms () + 5000;
  gboolean reached = FALSE;
  while (!reached && wait_now_ms () < deadline)
    {
      if (context != NULL)
        g_main_context_iteration (context, FALSE);
      pthread_mutex_lock (&results->mutex);
      reached = results->acquired == acquired && results->failed == failed
                && results->released == released;
      pthread_mutex_unlock (&results->mutex);
      wait_ms (1);
    }
  return reached;
}

static CuratorLease *
take_lease (Results *results)
{
  pthread_mutex_lock (&results->mutex);
  CuratorLease *lease = g_queue_pop_head (&results->leases);
  pthread_mutex_unlock (&results->mutex);
  return lease;
}

TEST (test_async_queue)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/holds/async");
  Results results = { .mutex = PTHREAD_MUTEX_INITIALIZER, .leases = G_QUEUE_INIT };
  for (int i = 0; i < 5; i++)
    curator_lock_acquire_then (lock, 60000, NULL, on_acquired, &results);
  guint64 token = 0;
  for (int i = 1; i <= 5; i++)
    {
      assert_true (wait_results (&results, NULL, i, 0, 0));
      g_autoptr (CuratorLease) lease = take_lease (&results);
      assert_true (curator_lease_get_fencing_token (lease) > token);
      token = curator_lease_get_fencing_token (lease);
      assert_ok (curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
    }
  assert_true (results.thread != g_thread_self ());

  /* Failures: timed out, cancelled. */
  assert_acquired (lock);
  curator_lock_acquire_then (lock, 50, NULL, on_acquired, &results);
  assert_true (wait_results (&results, NULL, 5, 1, 0));
  assert_curator_error (&results.error, CURATOR_ERROR_TIMED_OUT);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  curator_lock_acquire_then (lock, CURATOR_WAIT_FOREVER, cancellable, on_acquired, &results);
  g_cancellable_cancel (cancellable);
  assert_true (wait_results (&results, NULL, 5, 2, 0));
  assert_error (&results.error, G_IO_ERROR, G_IO_ERROR_CANCELLED);

  /* Released asynchronously: ownership ends at once, the confirmation comes later. */
  curator_lock_release_then (lock, CURATOR_WAIT_DEFAULT, NULL, on_released, &results);
  assert_false (curator_lock_is_owned_by_current_thread (lock));
  assert_true (wait_results (&results, NULL, 5, 2, 1));
  assert_null (results.error);
  curator_lock_release_then (lock, CURATOR_WAIT_DEFAULT, NULL, on_released, &results);
  assert_true (wait_results (&results, NULL, 5, 2, 2));
  assert_curator_error (&results.error, CURATOR_ERROR_NOT_OWNER);
  assert_no_residue (fixture, "/holds/async", 3000);
}

/* With a main context the callback runs there, and not before it is iterated; closing the client
 * completes outstanding calls. */
TEST (test_async_in_context)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  curator_client_set_callback_context (client, context);
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/holds/context");
  Results results = { .mutex = PTHREAD_MUTEX_INITIALIZER, .leases = G_QUEUE_INIT };
  curator_lock_acquire_then (lock, LONG_MS, NULL, on_acquired, &results);
  assert_children (fixture, "/holds/context", 1, LONG_MS);
  wait_ms (100);
  assert_int_equal (results.acquired, 0);
  assert_true (wait_results (&results, context, 1, 0, 0));
  assert_true (results.thread == g_thread_self ());
  g_autoptr (CuratorLease) lease = take_lease (&results);
  curator_lock_acquire_then (lock, CURATOR_WAIT_FOREVER, NULL, on_acquired, &results);
  assert_children (fixture, "/holds/context", 2, LONG_MS);
  curator_client_close (client);
  assert_true (wait_results (&results, context, 1, 1, 0));
  assert_curator_error (&results.error, CURATOR_ERROR_CLOSED);
  assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_LOST);
}

static gboolean
is_cancelled (gpointer cancellable)
{
  return g_cancellable_is_cancelled (cancellable);
}

/* In the context of a thread that never runs it. */
TEST (test_cancellable_at_the_end)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  g_autoptr (GError) error = NULL;
  curator_client_set_callback_context (client, context);
  client_start (client);
  assert_ok (curator_client_block_until_connected (client, LONG_MS, NULL, &error), &error);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/holds/released");
  g_autoptr (CuratorLock) other = mutex_new (client, "/holds/lost");
  g_autoptr (CuratorLock) third = mutex_new (client, "/holds/dropped");
  CuratorLock *both[] = { lock, other };
  g_autoptr (CuratorLock) multi = curator_multi_lock_new (both, 2);

  /* Released. Afterwards it is cancelled at once. */
  g_autoptr (CuratorLease) lease = lease_of (lock);
  GCancellable *end = curator_lease_get_cancellable (lease);
  assert_true (curator_lease_get_cancellable (lease) == end);
  assert_false (g_cancellable_is_cancelled (end));
  assert_ok (curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
  assert_true (wait_until (is_cancelled, end, LONG_MS));

  /* The last reference to the lease is dropped. */
  CuratorLease *dropped = lease_of (third);
  g_autoptr (GCancellable) kept = g_object_ref (curator_lease_get_cancellable (dropped));
  curator_lease_unref (dropped);
  assert_true (wait_until (is_cancelled, kept, LONG_MS));

  /* Lost: of a multi-lock, and asked for afterwards only. */
  g_autoptr (CuratorLease) whole = lease_of (multi);
  g_autoptr (CuratorLease) late = lease_of (third);
  end = curator_lease_get_cancellable (whole);
  assert_false (g_cancellable_is_cancelled (end));
  curator_client_close (client);
  assert_true (wait_until (is_cancelled, end, LONG_MS));
  assert_true (g_cancellable_is_cancelled (curator_lease_get_cancellable (late)));
}

SUITE ("holds", fixture_start, fixture_stop)
