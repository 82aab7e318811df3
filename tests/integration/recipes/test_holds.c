/* Holds: ownership, re-entrance, and leases that move between threads. */
#include "integration/fixture.h"
#include "support/held_lease.h"

#include <string.h>

PROXY_TEST (test_reentrance)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) lock = mutex_new (client, "/holds/deep");
  assert_acquired (lock);
  CuratorLease *lease = held_lease (lock);
  guint64 token = curator_lease_get_fencing_token (lease);
  proxy_reset_counts (fixture->proxy);
  for (int i = 0; i < 3; i++) {
    assert_ok (curator_lock_acquire (lock, 0, NULL, &error), &error);
    assert_true (held_lease (lock) == lease);
  }
  assert_int_equal (curator_lease_get_fencing_token (lease), token);
  for (int i = 0; i < 3; i++) {
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
  assert_no_residue (fixture, "/holds/deep", LONG_MS);
}

/* TestInterProcessMutexBase.testReentrant2Threads: the second thread must not be granted while the
 * first is nested. */
CLIENT_TEST (test_reentrant_2_threads)
{
  g_autoptr (CuratorLock) lock = mutex_new (client, "/holds/two");
  assert_acquired (lock);
  g_autoptr (Contender) other = contender_start (lock, LONG_MS, NULL);
  assert_children (fixture, "/holds/two", 2, LONG_MS);
  for (int i = 0; i < 2; i++)
    assert_acquired (lock);
  for (int i = 0; i < 2; i++) {
    assert_released (lock);
    wait_ms (50);
    assert_false (contender_has_returned (other));
  }
  assert_released (lock);
  contender_assert_granted (other);
}

static gpointer
release_lock (gpointer lock)
{
  return GINT_TO_POINTER (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL));
}

/* The semaphore mutex. */
CLIENT_TEST (test_not_reentrant_and_released_by_any_thread)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) lock = semaphore_mutex_new (client, "/holds/permit");
  assert_false (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_NOT_OWNER);
  assert_acquired (lock);
  CuratorLease *lease = held_lease (lock);
  assert_non_null (lease);
  assert_true (curator_lock_is_acquired_in_this_process (lock));
  assert_true (curator_lock_is_owned_by_current_thread (lock));
  assert_not_acquired (lock, 0, CURATOR_ERROR_TIMED_OUT);
  assert_not_acquired (lock, 3000, CURATOR_ERROR_TIMED_OUT);
  /* The failed tries have not replaced the hold. */
  assert_true (held_lease (lock) == lease);
  assert_children (fixture, "/holds/permit/leases", 1, LONG_MS);
  assert_non_null (g_thread_join (g_thread_new ("release", release_lock, lock)));
  assert_false (curator_lock_is_acquired_in_this_process (lock));
  assert_null (curator_lock_dup_lease (lock));
  assert_false (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_NOT_OWNER);
  assert_no_residue (fixture, "/holds/permit/leases", LONG_MS);
  assert_no_residue (fixture, "/holds/permit/locks", LONG_MS);
}

/* Another thread holds: this one neither owns nor can release. */
CLIENT_TEST (test_holds_belong_to_threads)
{
  g_autoptr (GError) error = NULL;
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
  pthread_t dead; /* who acquired it */
  gboolean acquired;
  gboolean reused; /* a thread with its number has run */
  gboolean inherited;
} Heir;

/* The first thread ends while it holds; the others check that they do not own the lock. */
static void *
inherit (void *data)
{
  Heir *heir = data;
  if (!heir->acquired) {
    heir->dead = pthread_self ();
    heir->acquired = curator_lock_acquire (heir->lock, LONG_MS, NULL, NULL);
  } else if (pthread_equal (pthread_self (), heir->dead) != 0) {
    heir->reused = TRUE;
    heir->inherited = curator_lock_is_owned_by_current_thread (heir->lock)
                      || held_lease (heir->lock) != NULL
                      || curator_lock_release (heir->lock, CURATOR_WAIT_DEFAULT, NULL, NULL)
                      || curator_lock_acquire (heir->lock, 100, NULL, NULL);
  }
  return NULL;
}

CLIENT_TEST (test_p34_no_inheritance_from_a_dead_thread)
{
  g_autoptr (CuratorLock) lock = mutex_new (client, "/holds/dead");
  Heir heir = { .lock = lock };
  for (int i = 0; i < 1000 && !heir.reused; i++) {
    pthread_t thread;
    pthread_create (&thread, NULL, inherit, &heir);
    pthread_join (thread, NULL);
    assert_true (heir.acquired);
  }
  assert_true (heir.reused);
  assert_false (heir.inherited);
  assert_children (fixture, "/holds/dead", 1, LONG_MS);
  curator_client_close (client);
  assert_no_residue (fixture, "/holds/dead", LONG_SESSION_MS / 2);
}

CLIENT_TEST (test_lease_is_no_hold_of_its_thread)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) lock = mutex_new (client, "/holds/lease");
  g_autoptr (CuratorLease) lease G_GNUC_UNUSED = lease_of (lock);
  assert_false (curator_lock_is_owned_by_current_thread (lock));
  assert_false (curator_lock_is_acquired_in_this_process (lock));
  assert_false (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_NOT_OWNER);
}

/* A dropped lease is released, and so is the hold of a thread when its lock is dropped. */
CLIENT_TEST (test_dropped_is_released)
{
  g_autoptr (CuratorLock) lock = mutex_new (client, "/holds/dropped");
  for (int i = 0; i < 20; i++)
    curator_lease_unref (lease_of (lock));
  assert_no_residue (fixture, "/holds/dropped", LONG_MS);
  assert_acquired (lock);
  g_clear_pointer (&lock, curator_lock_unref);
  assert_no_residue (fixture, "/holds/dropped", LONG_MS);
}

/* In the context of a thread that never runs it. */
TEST (test_cancellable_at_the_end)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  g_autoptr (GError) error = NULL;
  curator_client_set_callback_context (client, context);
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/holds/released");
  g_autoptr (CuratorLock) other = mutex_new (client, "/holds/lost");
  g_autoptr (CuratorLock) third = mutex_new (client, "/holds/dropped");
  g_autoptr (CuratorLock) multi = curator_multi_lock_new ((CuratorLock *[]){ lock, other }, 2);

  /* Released. Afterwards it is cancelled at once. */
  g_autoptr (CuratorLease) lease = lease_of (lock);
  GCancellable *end = curator_lease_get_cancellable (lease);
  assert_true (curator_lease_get_cancellable (lease) == end);
  assert_false (g_cancellable_is_cancelled (end));
  assert_ok (curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
  assert_soon (g_cancellable_is_cancelled (end));

  /* The last reference to the lease is dropped. */
  CuratorLease *dropped = lease_of (third);
  g_autoptr (GCancellable) kept = g_object_ref (curator_lease_get_cancellable (dropped));
  curator_lease_unref (dropped);
  assert_soon (g_cancellable_is_cancelled (kept));

  /* Lost: of a multi-lock, and asked for afterwards only. */
  g_autoptr (CuratorLease) whole = lease_of (multi);
  g_autoptr (CuratorLease) late = lease_of (third);
  end = curator_lease_get_cancellable (whole);
  assert_false (g_cancellable_is_cancelled (end));
  curator_client_close (client);
  assert_soon (g_cancellable_is_cancelled (end));
  assert_true (g_cancellable_is_cancelled (curator_lease_get_cancellable (late)));
}

SUITE ("holds", fixture_start_calm, fixture_stop)
