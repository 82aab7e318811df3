#include "taking.h"

CuratorSemaphore *
semaphore_new (CuratorClient *client, const char *path, guint max_leases)
{
  g_autoptr (GError) error = NULL;
  CuratorSemaphore *semaphore = curator_semaphore_new (client, path, max_leases, &error);
  assert_ok (semaphore != NULL, &error);
  return semaphore;
}

CuratorRwLock *
rw_lock_new (CuratorClient *client, const char *path)
{
  g_autoptr (GError) error = NULL;
  CuratorRwLock *rw_lock = curator_rw_lock_new (client, path, NULL, 0, &error);
  assert_ok (rw_lock != NULL, &error);
  return rw_lock;
}

CuratorSharedCount *
shared_count_of (CuratorClient *client, const char *path, gint32 seed)
{
  g_autoptr (GError) error = NULL;
  CuratorSharedCount *count = curator_shared_count_new (client, path, seed, &error);
  assert_ok (count != NULL
                 && curator_shared_count_start (count, CURATOR_WAIT_DEFAULT, NULL, &error),
             &error);
  return count;
}

static Taking *
taking_new (void)
{
  Taking *taking = g_new0 (Taking, 1);
  taking->refs = 2;
  return taking;
}

static void
taking_unref (Taking *taking)
{
  if (g_atomic_int_dec_and_test (&taking->refs)) {
    g_clear_pointer (&taking->leases, g_ptr_array_unref);
    g_clear_error (&taking->error);
    g_free (taking);
  }
}

static void
note (Taking *taking, GPtrArray *leases, const GError *error)
{
  taking->leases = leases;
  taking->error = error != NULL ? g_error_copy (error) : NULL;
  taking->returned_ms = wait_now_ms ();
  g_atomic_int_inc (&taking->times);
  g_atomic_int_set (&taking->returned, TRUE);
  taking_unref (taking);
}

static void
on_leases (CuratorSemaphore *semaphore, GPtrArray *leases, const GError *error, gpointer user_data)
{
  note (user_data, leases, error);
}

static void
on_lease (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer user_data)
{
  GPtrArray *leases = NULL;
  if (lease != NULL) {
    leases = g_ptr_array_new_with_free_func ((GDestroyNotify) curator_lease_unref);
    g_ptr_array_add (leases, lease);
  }
  note (user_data, leases, error);
}

Taking *
taking_start (CuratorSemaphore *semaphore, int n, gint64 timeout_ms, GCancellable *cancellable)
{
  Taking *taking = taking_new ();
  curator_semaphore_acquire_n_then (semaphore, n, timeout_ms, cancellable, on_leases, taking);
  return taking;
}

Taking *
taking_start_lock (CuratorLock *lock, gint64 timeout_ms, GCancellable *cancellable)
{
  Taking *taking = taking_new ();
  curator_lock_acquire_then (lock, timeout_ms, cancellable, on_lease, taking);
  return taking;
}

Taking *
taking_of (CuratorSemaphore *semaphore, int n)
{
  Taking *taking = taking_start (semaphore, n, LONG_MS, NULL);
  taking_assert_granted (taking);
  return taking;
}

Taking *
taking_of_lock (CuratorLock *lock)
{
  Taking *taking = taking_start_lock (lock, LONG_MS, NULL);
  taking_assert_granted (taking);
  return taking;
}

gboolean
taking_has_returned (Taking *taking)
{
  return g_atomic_int_get (&taking->returned);
}

gboolean
taking_wait (Taking *taking, int timeout_ms)
{
  return holds_within (taking_has_returned (taking), timeout_ms);
}

void
taking_assert_granted (Taking *taking)
{
  assert_true (taking_wait (taking, LONG_MS));
  assert_ok (taking->leases != NULL, &taking->error);
}

static int
first_returned (Taking *const takings[], int n)
{
  int i = 0;
  while (i < n && (takings[i] == NULL || !taking_has_returned (takings[i])))
    i++;
  return i;
}

int
takings_wait (Taking *const takings[], int n)
{
  int first;
  assert_soon ((first = first_returned (takings, n)) < n);
  taking_assert_granted (takings[first]);
  return first;
}

void
taking_assert_waits (Taking *taking)
{
  wait_ms (100);
  assert_false (taking_has_returned (taking));
}

CuratorLease *
taking_lease (Taking *taking, guint i)
{
  assert_non_null (taking->leases);
  assert_true (i < taking->leases->len);
  return g_ptr_array_index (taking->leases, i);
}

void
taking_give_back (Taking *taking)
{
  g_autoptr (GError) error = NULL;
  assert_true (taking_has_returned (taking));
  for (guint i = 0; taking->leases != NULL && i < taking->leases->len; i++)
    assert_ok (curator_lease_release (taking_lease (taking, i), CURATOR_WAIT_DEFAULT, NULL, &error),
               &error);
}

void
taking_free (Taking *taking)
{
  if (taking != NULL) {
    taking_wait (taking, 2 * LONG_MS);
    taking_unref (taking);
  }
}

void
ear_on_asked (CuratorLock *lock, gpointer ear)
{
  g_atomic_int_inc (&((Ear *) ear)->asked);
}

void
ear_on_lease_asked (CuratorSemaphore *semaphore, CuratorLease *lease, gpointer ear)
{
  g_atomic_pointer_set (&((Ear *) ear)->lease, lease);
  g_atomic_int_inc (&((Ear *) ear)->asked);
}

void
ear_on_destroyed (gpointer ear)
{
  g_atomic_int_inc (&((Ear *) ear)->destroyed);
}

CuratorLock *
revocable_new (CuratorClient *client, const char *path, Ear *ear)
{
  g_autoptr (GError) error = NULL;
  CuratorLock *lock = mutex_new (client, path);
  assert_ok (curator_lock_make_revocable (lock, ear_on_asked, ear, ear_on_destroyed, &error),
             &error);
  return lock;
}

void
ask_back (CuratorClient *client, const char *node)
{
  g_autoptr (GError) error = NULL;
  assert_ok (curator_client_attempt_revoke (client, node, CURATOR_WAIT_DEFAULT, NULL, &error),
             &error);
}

void
assert_lease_state (CuratorLease *lease, CuratorLeaseState state, int timeout_ms)
{
  if (!holds_within (curator_lease_get_state (lease) == state, timeout_ms)) {
    fail_msg ("the lease is %s, not %s, after %d ms",
              curator_lease_state_to_string (curator_lease_get_state (lease)),
              curator_lease_state_to_string (state), timeout_ms);
  }
}

void
assert_counter (int *counter, int n, int timeout_ms)
{
  if (!holds_within (g_atomic_int_get (counter) >= n, timeout_ms))
    fail_msg ("%d of %d after %d ms", g_atomic_int_get (counter), n, timeout_ms);
}
