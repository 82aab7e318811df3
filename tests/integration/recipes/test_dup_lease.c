/* curator_lock_dup_lease() for every kind of lock and at every depth, holds that end through their
 * lease, and multi-locks without members. */
#include "integration/taking.h"

#include <string.h>

#define BASE              "/dup"
#define STEADY_SESSION_MS 30000

typedef enum
{
  KIND_MUTEX,
  KIND_SEMAPHORE_MUTEX,
  KIND_READ,
  KIND_WRITE,
  KIND_FIXED_NODE,
  KIND_MULTI_OF_ONE,
  KIND_MULTI_OF_TWO,
  KIND_NESTED,
  KIND_NESTED_BEHIND_EMPTY,
  N_KINDS
} Kind;

static CuratorLock *
side_new (CuratorClient *client, const char *path, gboolean write)
{
  g_autoptr (CuratorRwLock) pair = rw_lock_new (client, path);
  return curator_lock_ref (write ? curator_rw_lock_get_write_lock (pair)
                                 : curator_rw_lock_get_read_lock (pair));
}

static CuratorLock *
multi_new (CuratorClient *client, Kind kind, const char *path)
{
  g_autofree char *other = g_strconcat (path, "-2", NULL);
  g_autoptr (CuratorLock) none = curator_multi_lock_new (NULL, 0);
  g_autoptr (CuratorLock) first = mutex_new (client, path);
  g_autoptr (CuratorLock) second = side_new (client, other, TRUE);
  CuratorLock *const two[] = { first, second };
  if (kind == KIND_MULTI_OF_ONE || kind == KIND_MULTI_OF_TWO)
    return curator_multi_lock_new (two, kind == KIND_MULTI_OF_ONE ? 1 : 2);
  g_autoptr (CuratorLock) inner = curator_multi_lock_new (two, 2);
  CuratorLock *const outer[] = { none, inner, none };
  return kind == KIND_NESTED ? curator_multi_lock_new (&inner, 1)
                             : curator_multi_lock_new (outer, 3);
}

static CuratorLock *
lock_new (CuratorClient *client, Kind kind)
{
  g_autofree char *path = g_strdup_printf (BASE "/kind-%d", (int) kind);
  g_autoptr (GError) error = NULL;
  CuratorLock *lock = NULL;

  switch (kind)
    {
    case KIND_MUTEX:
      return mutex_new (client, path);
    case KIND_SEMAPHORE_MUTEX:
      lock = curator_semaphore_mutex_new (client, path, &error);
      break;
    case KIND_READ:
    case KIND_WRITE:
      return side_new (client, path, kind == KIND_WRITE);
    case KIND_FIXED_NODE:
      lock = curator_fixed_node_lock_new (client, path, &error);
      break;
    case KIND_MULTI_OF_ONE:
    case KIND_MULTI_OF_TWO:
    case KIND_NESTED:
    case KIND_NESTED_BEHIND_EMPTY:
    case N_KINDS:
      return multi_new (client, kind, path);
    }
  assert_ok (lock != NULL, &error);
  return lock;
}

/* Every getter, of a lease at any depth. */
static void
assert_is_held (CuratorLease *lease, CuratorClient *client, Kind kind)
{
  g_autofree char *path = g_strdup_printf (BASE "/kind-%d", (int) kind);
  g_autoptr (GError) error = NULL;

  assert_non_null (lease);
  assert_true (g_str_has_prefix (curator_lease_get_node_path (lease), path));
  assert_true (
      g_str_has_suffix (curator_lease_get_node_path (lease), curator_lease_get_node_name (lease)));
  assert_true (curator_lease_get_fencing_token (lease) > 0);
  assert_int_equal (curator_lease_get_session_id (lease), curator_client_get_session_id (client));
  g_autoptr (GBytes) data = curator_lease_get_data (lease, CURATOR_WAIT_DEFAULT, NULL, &error);
  assert_ok (data != NULL, &error);
  assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_HELD);
  assert_true (curator_lease_get_remaining_ms (lease) > 0);
}

static gpointer
dup_elsewhere (gpointer lock)
{
  return curator_lock_dup_lease (lock);
}

TEST (test_every_kind)
{
  g_autoptr (CuratorClient) client =
      client_connect_for (fixture_server (fixture), STEADY_SESSION_MS);

  for (Kind kind = 0; kind < N_KINDS; kind++)
    {
      g_autoptr (CuratorLock) lock = lock_new (client, kind);
      assert_null (curator_lock_dup_lease (lock));
      assert_acquired (lock);
      g_autoptr (CuratorLease) lease = curator_lock_dup_lease (lock);
      g_autoptr (CuratorLease) again = curator_lock_dup_lease (lock);
      assert_is_held (lease, client, kind);
      assert_is_held (again, client, kind);
      g_autoptr (CuratorLease) theirs = g_thread_join (g_thread_new ("dup", dup_elsewhere, lock));
      assert_true ((theirs != NULL) == (kind == KIND_SEMAPHORE_MUTEX));
      assert_released (lock);
      assert_null (curator_lock_dup_lease (lock));
      assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_RELEASED);
      assert_int_equal (curator_lease_get_state (again), CURATOR_LEASE_RELEASED);
      assert_int_equal (curator_lease_get_remaining_ms (lease), 0);
    }
}

static void
count_states (CuratorLease *lease, CuratorLeaseState state, gpointer user_data)
{
  int *counts = user_data;
  g_atomic_int_inc (&counts[state]);
}

/* Several leases over the same members, of which each is told. */
TEST (test_each_copy_is_told)
{
  g_autoptr (CuratorClient) client =
      client_connect_for (fixture_server (fixture), STEADY_SESSION_MS);
  g_autoptr (CuratorLock) lock = lock_new (client, KIND_NESTED);
  int counts[3][CURATOR_LEASE_RELEASED + 1] = { { 0 } };
  CuratorLease *copies[3];

  assert_acquired (lock);
  for (int i = 0; i < 3; i++)
    {
      copies[i] = curator_lock_dup_lease (lock);
      curator_lease_add_listener (copies[i], count_states, counts[i], NULL);
    }
  g_clear_pointer (&copies[1], curator_lease_unref);
  assert_int_equal (raw_zk_delete (fixture->raw, curator_lease_get_node_path (copies[0])), 0);
  assert_counter (&counts[0][CURATOR_LEASE_LOST], 1, LONG_MS);
  assert_counter (&counts[2][CURATOR_LEASE_LOST], 1, LONG_MS);
  assert_int_equal (counts[1][CURATOR_LEASE_LOST], 0);
  g_autoptr (CuratorLease) lost = curator_lock_dup_lease (lock);
  assert_int_equal (curator_lease_get_state (lost), CURATOR_LEASE_LOST);
  curator_lease_unref (copies[0]);
  curator_lease_unref (copies[2]);
  assert_released (lock);
}

/* While only a part is released the whole is not usable, but not lost either. */
TEST (test_partly_released)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client =
      client_connect_for (fixture_server (fixture), STEADY_SESSION_MS);
  g_autoptr (CuratorLock) a = mutex_new (client, BASE "/part-a");
  g_autoptr (CuratorLock) b = mutex_new (client, BASE "/part-b");
  CuratorLock *const two[] = { a, b };
  g_autoptr (CuratorLock) both = curator_multi_lock_new (two, 2);
  int counts[CURATOR_LEASE_RELEASED + 1] = { 0 };

  assert_acquired (both);
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (both);
  curator_lease_add_listener (lease, count_states, counts, NULL);
  assert_released (b);
  assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_SUSPECT);
  assert_int_equal (curator_lease_get_remaining_ms (lease), 0);
  assert_counter (&counts[CURATOR_LEASE_SUSPECT], 1, LONG_MS);
  assert_null (curator_lock_dup_lease (both));
  assert_released (a);
  assert_counter (&counts[CURATOR_LEASE_RELEASED], 1, LONG_MS);

  /* Released as a whole: RELEASED is the only change. */
  g_autoptr (CuratorLease) whole = curator_lock_acquire_lease (both, LONG_MS, NULL, &error);
  int wholly[CURATOR_LEASE_RELEASED + 1] = { 0 };
  assert_ok (whole != NULL, &error);
  curator_lease_add_listener (whole, count_states, wholly, NULL);
  assert_ok (curator_lease_release (whole, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
  assert_counter (&wholly[CURATOR_LEASE_RELEASED], 1, LONG_MS);
  assert_int_equal (wholly[CURATOR_LEASE_SUSPECT], 0);
}

/* A hold that its lease released is no hold: not owned, and not to be entered again. */
TEST (test_released_through_the_lease)
{
  g_autoptr (CuratorClient) client =
      client_connect_for (fixture_server (fixture), STEADY_SESSION_MS);

  for (Kind kind = 0; kind < N_KINDS; kind++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (CuratorLock) lock = lock_new (client, kind);
      assert_acquired (lock);
      g_autoptr (CuratorLease) lease = curator_lock_dup_lease (lock);
      assert_ok (curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
      assert_false (curator_lock_is_owned_by_current_thread (lock));
      assert_false (curator_lock_is_acquired_in_this_process (lock));
      assert_not_acquired (lock, LONG_MS, CURATOR_ERROR_LOCK_LOST);
      assert_released (lock);
      assert_acquired (lock);
      assert_released (lock);
    }
  g_autoptr (CuratorRwLock) pair = rw_lock_new (client, BASE "/downgrade");
  g_autoptr (GError) error = NULL;
  assert_acquired (curator_rw_lock_get_write_lock (pair));
  g_autoptr (CuratorLease) written = curator_lock_dup_lease (curator_rw_lock_get_write_lock (pair));
  assert_ok (curator_lease_release (written, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
  assert_not_acquired (curator_rw_lock_get_read_lock (pair), LONG_MS, CURATOR_ERROR_LOCK_LOST);
}

typedef struct
{
  CuratorLock *mutex;
  CuratorLock *both;
  GError *error;
  gint done; /* atomic */
} Owner;

static gpointer
enter_twice (gpointer data)
{
  Owner *owner = data;

  if (curator_lock_acquire (owner->mutex, LONG_MS, NULL, &owner->error)
      && curator_lock_acquire (owner->both, LONG_MS, NULL, &owner->error))
    {
      while (!g_atomic_int_get (&owner->done))
        wait_ms (1);
      curator_lock_release (owner->both, CURATOR_WAIT_DEFAULT, NULL, NULL);
      curator_lock_release (owner->mutex, CURATOR_WAIT_DEFAULT, NULL, NULL);
    }
  return NULL;
}

/* A release grants the next one on the releasing thread, where a multi-lock goes on and enters the
 * waiting thread's hold. The releasing thread must not take that hold for its own. */
TEST (test_entered_by_the_releasing_thread)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client =
      client_connect_for (fixture_server (fixture), STEADY_SESSION_MS);
  g_autoptr (CuratorLock) first = mutex_new (client, BASE "/first");
  g_autoptr (CuratorLock) second = mutex_new (client, BASE "/second");
  CuratorLock *const two[] = { first, second };
  g_autoptr (CuratorLock) both = curator_multi_lock_new (two, 2);

  for (int i = 0; i < 20; i++)
    {
      Owner owner = { .mutex = second, .both = both };
      assert_acquired (first);
      GThread *thread = g_thread_new ("owner", enter_twice, &owner);
      assert_children (fixture, BASE "/first", 2, LONG_MS);
      assert_released (first);
      assert_soon (curator_lock_is_acquired_in_this_process (both));
      assert_not_acquired (second, 0, CURATOR_ERROR_TIMED_OUT);
      assert_false (curator_lock_release (second, CURATOR_WAIT_DEFAULT, NULL, &error));
      assert_curator_error (&error, CURATOR_ERROR_NOT_OWNER);
      g_atomic_int_set (&owner.done, TRUE);
      g_thread_join (thread);
      assert_null (owner.error);
    }
}

typedef struct
{
  int n_called;
  int n_held;
  GThread *thread;
  GError *error;
} Told;

static void
on_acquired (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer user_data)
{
  Told *told = user_data;
  told->n_held += lease != NULL ? 1 : 0;
  told->error = error != NULL ? g_error_copy (error) : NULL;
  told->thread = g_thread_self ();
  g_atomic_int_inc (&told->n_called);
}

static void
on_released (CuratorLock *lock, const GError *error, gpointer user_data)
{
  on_acquired (lock, NULL, error, user_data);
}

/* A thread's acquire succeeds and protects nothing; there is no lease to be had. */
static void
check_empty (CuratorLock *none)
{
  g_autoptr (GError) error = NULL;

  assert_ok (curator_lock_acquire (none, 0, NULL, &error), &error);
  assert_ok (curator_lock_acquire (none, CURATOR_WAIT_FOREVER, NULL, &error), &error);
  assert_true (curator_lock_is_acquired_in_this_process (none));
  assert_true (curator_lock_is_owned_by_current_thread (none));
  assert_null (curator_lock_dup_lease (none));
  assert_null (curator_lock_dup_lease (none));
  assert_released (none);
  assert_null (curator_lock_acquire_lease (none, 0, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_UNSUPPORTED);
  assert_null (curator_lock_get_participant_nodes (none, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_UNSUPPORTED);
  assert_false (curator_lock_make_revocable (none, NULL, NULL, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_UNSUPPORTED);

  Told told = { 0 };
  curator_lock_acquire_then (none, 0, NULL, on_acquired, &told);
  assert_counter (&told.n_called, 1, LONG_MS);
  assert_int_equal (told.n_held, 0);
  assert_ptr_not_equal (told.thread, g_thread_self ());
  assert_curator_error (&told.error, CURATOR_ERROR_UNSUPPORTED);

  Told freed = { 0 };
  curator_lock_release_then (none, CURATOR_WAIT_DEFAULT, NULL, on_released, &freed);
  assert_counter (&freed.n_called, 1, LONG_MS);
  assert_null (freed.error);
  curator_lock_release_then (none, CURATOR_WAIT_DEFAULT, NULL, NULL, NULL);
}

TEST (test_without_members)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client =
      client_connect_for (fixture_server (fixture), STEADY_SESSION_MS);
  const char *const no_paths[] = { NULL };
  g_autoptr (CuratorLock) none = curator_multi_lock_new (NULL, 0);
  CuratorLock *const twice[] = { none, none };
  g_autoptr (CuratorLock) of_none = curator_multi_lock_new (twice, 2);
  g_autoptr (CuratorLock) of_that = curator_multi_lock_new (&of_none, 1);
  g_autoptr (CuratorLock) paths = curator_multi_lock_new_for_paths (client, no_paths, &error);
  g_autoptr (CuratorLock) sorted =
      curator_multi_lock_new_for_paths_sorted (client, no_paths, &error);

  check_empty (none);
  check_empty (of_none);
  check_empty (of_that);
  check_empty (paths);
  check_empty (sorted);
}

SUITE ("leases of threads' holds", fixture_start_slow, fixture_stop)
