/* curator_lock_dup_lease() for every kind of lock and at every depth, holds that are over while
 * their threads do not know, and multi-locks without members. */
#include "integration/taking.h"

#include <string.h>

#define BASE "/dup"

static CuratorLock *
multi_of_one (CuratorClient *client, const char *path)
{
  g_autoptr (CuratorLock) lock = mutex_new (client, path);
  return curator_multi_lock_new (&lock, 1);
}

static CuratorLock *
nested (CuratorClient *client, const char *path)
{
  g_autoptr (CuratorLock) inner = multi_lock_new (client, path);
  return curator_multi_lock_new (&inner, 1);
}

static CuratorLock *
nested_behind_empty (CuratorClient *client, const char *path)
{
  g_autoptr (CuratorLock) none = curator_multi_lock_new (NULL, 0);
  g_autoptr (CuratorLock) inner = multi_lock_new (client, path);
  return curator_multi_lock_new ((CuratorLock *const[]){ none, inner, none }, 3);
}

static const KindNew kinds[] = {
  mutex_new,    semaphore_mutex_new, reader_new, writer_new,         fixed_node_new,
  multi_of_one, multi_lock_new,      nested,     nested_behind_empty
};

/* Every getter, of a lease at any depth. */
static void
assert_is_held (CuratorLease *lease, CuratorClient *client, const char *path)
{
  assert_non_null (lease);
  assert_true (g_str_has_prefix (curator_lease_get_node_path (lease), path));
  assert_true (
      g_str_has_suffix (curator_lease_get_node_path (lease), curator_lease_get_node_name (lease)));
  assert_true (curator_lease_get_fencing_token (lease) > 0);
  assert_int_equal (curator_lease_get_session_id (lease), curator_client_get_session_id (client));
  G_GNUC_UNUSED g_autoptr (GBytes) data = data_of (lease);
  assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_STATE_HELD);
  assert_true (curator_lease_get_remaining_ms (lease) > 0);
}

static gpointer
dup_elsewhere (gpointer lock)
{
  return curator_lock_dup_lease (lock);
}

CLIENT_TEST (test_every_kind)
{
  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++) {
    g_autofree char *path = g_strdup_printf (BASE "/kind-%zu", i);
    g_autoptr (CuratorLock) lock = kinds[i](client, path);
    assert_null (curator_lock_dup_lease (lock));
    assert_acquired (lock);
    g_autoptr (CuratorLease) lease = curator_lock_dup_lease (lock);
    g_autoptr (CuratorLease) again = curator_lock_dup_lease (lock);
    assert_is_held (lease, client, path);
    assert_is_held (again, client, path);
    g_autoptr (CuratorLease) theirs = g_thread_join (g_thread_new ("dup", dup_elsewhere, lock));
    assert_true ((theirs != NULL) == (kinds[i] == semaphore_mutex_new));
    assert_released (lock);
    assert_null (curator_lock_dup_lease (lock));
    assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_STATE_RELEASED);
    assert_int_equal (curator_lease_get_state (again), CURATOR_LEASE_STATE_RELEASED);
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
CLIENT_TEST (test_each_copy_is_told)
{
  g_autoptr (CuratorLock) lock = nested (client, BASE "/copies");
  int counts[3][CURATOR_LEASE_STATE_RELEASED + 1] = { { 0 } };
  CuratorLease *copies[3];

  assert_acquired (lock);
  for (int i = 0; i < 3; i++) {
    copies[i] = curator_lock_dup_lease (lock);
    curator_lease_add_listener (copies[i], count_states, counts[i], NULL);
  }
  g_clear_pointer (&copies[1], curator_lease_unref);
  assert_int_equal (raw_zk_delete (fixture->raw, curator_lease_get_node_path (copies[0])), 0);
  assert_counter (&counts[0][CURATOR_LEASE_STATE_LOST], 1, LONG_MS);
  assert_counter (&counts[2][CURATOR_LEASE_STATE_LOST], 1, LONG_MS);
  assert_int_equal (counts[1][CURATOR_LEASE_STATE_LOST], 0);
  g_autoptr (CuratorLease) lost = curator_lock_dup_lease (lock);
  assert_int_equal (curator_lease_get_state (lost), CURATOR_LEASE_STATE_LOST);
  curator_lease_unref (copies[0]);
  curator_lease_unref (copies[2]);
  assert_released (lock);
}

/* While only a part is released the whole is not usable, but not lost either. */
CLIENT_TEST (test_partly_released)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) a = mutex_new (client, BASE "/part-a");
  g_autoptr (CuratorLock) b = mutex_new (client, BASE "/part-b");
  g_autoptr (CuratorLock) both = curator_multi_lock_new ((CuratorLock *const[]){ a, b }, 2);
  int counts[CURATOR_LEASE_STATE_RELEASED + 1] = { 0 };

  assert_acquired (both);
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (both);
  curator_lease_add_listener (lease, count_states, counts, NULL);
  assert_released (b);
  assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_STATE_SUSPECT);
  assert_int_equal (curator_lease_get_remaining_ms (lease), 0);
  assert_counter (&counts[CURATOR_LEASE_STATE_SUSPECT], 1, LONG_MS);
  assert_null (curator_lock_dup_lease (both));
  assert_released (a);
  assert_counter (&counts[CURATOR_LEASE_STATE_RELEASED], 1, LONG_MS);

  /* Released as a whole: RELEASED is the only change. */
  g_autoptr (CuratorLease) whole = lease_of (both);
  int wholly[CURATOR_LEASE_STATE_RELEASED + 1] = { 0 };
  curator_lease_add_listener (whole, count_states, wholly, NULL);
  assert_ok (curator_lease_release (whole, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
  assert_counter (&wholly[CURATOR_LEASE_STATE_RELEASED], 1, LONG_MS);
  assert_int_equal (wholly[CURATOR_LEASE_STATE_SUSPECT], 0);
}

/* Why a hold is over. */
typedef enum
{
  RELEASED, /* through its lease */
  DELETED,
  TOO_LONG, /* its maximum has passed */
  N_REASONS
} Reason;

static void
hold_until_over (Fixture *fixture, CuratorLock *lock, Reason reason)
{
  g_autoptr (GError) error = NULL;

  curator_lock_set_max_hold (lock, reason == TOO_LONG ? 300 : CURATOR_WAIT_FOREVER);
  assert_acquired (lock);
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (lock);
  if (reason == RELEASED)
    assert_ok (curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
  else if (reason == DELETED)
    raw_zk_delete (fixture->raw, curator_lease_get_node_path (lease));
  assert_soon (curator_lease_get_state (lease)
               == (reason == RELEASED ? CURATOR_LEASE_STATE_RELEASED : CURATOR_LEASE_STATE_LOST));
}

/* Such a hold is no hold: not owned, and not to be entered again before it is released. */
CLIENT_TEST (test_over_for_its_thread)
{
  g_autoptr (GError) error = NULL;

  for (Reason reason = 0; reason < N_REASONS; reason++) {
    for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++) {
      g_autofree char *path = g_strdup_printf (BASE "/over-%zu", i);
      g_autoptr (CuratorLock) lock = kinds[i](client, path);
      hold_until_over (fixture, lock, reason);
      assert_false (curator_lock_is_owned_by_current_thread (lock));
      assert_false (curator_lock_is_acquired_in_this_process (lock));
      assert_false (curator_lock_acquire (lock, LONG_MS, NULL, &error));
      assert_non_null (strstr (error->message, reason == RELEASED ? "was released through its lease"
                                                                  : "is lost: release it first"));
      assert_curator_error (&error, CURATOR_ERROR_LOCK_LOST);
      assert_released (lock);
      /* Its own node may still be there for a moment. */
      assert_acquired (lock);
      assert_released (lock);
    }
  }
  g_autoptr (CuratorRwLock) pair = rw_lock_new (client, BASE "/downgrade");
  hold_until_over (fixture, curator_rw_lock_get_write_lock (pair), RELEASED);
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
      && curator_lock_acquire (owner->both, LONG_MS, NULL, &owner->error)) {
    while (!g_atomic_int_get (&owner->done))
      wait_ms (1);
    curator_lock_release (owner->both, CURATOR_WAIT_DEFAULT, NULL, NULL);
    curator_lock_release (owner->mutex, CURATOR_WAIT_DEFAULT, NULL, NULL);
  }
  return NULL;
}

/* A release grants the next one on the releasing thread, where a multi-lock goes on and enters the
 * waiting thread's hold. The releasing thread must not take that hold for its own. */
CLIENT_TEST (test_entered_by_the_releasing_thread)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) first = mutex_new (client, BASE "/first");
  g_autoptr (CuratorLock) second = mutex_new (client, BASE "/second");
  g_autoptr (CuratorLock) both =
      curator_multi_lock_new ((CuratorLock *const[]){ first, second }, 2);

  for (int i = 0; i < 20; i++) {
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

static void
on_released (CuratorLock *lock, const GError *error, gpointer n_released)
{
  g_atomic_int_add ((gint *) n_released, error == NULL ? 1 : G_MININT);
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

  g_autoptr (Taking) taking = taking_start_lock (none, 0, NULL);
  assert_true (taking_wait (taking, LONG_MS));
  assert_null (taking->leases);
  assert_curator_error (&taking->error, CURATOR_ERROR_UNSUPPORTED);

  gint n_released = 0;
  curator_lock_release_then (none, CURATOR_WAIT_DEFAULT, NULL, on_released, &n_released);
  assert_counter (&n_released, 1, LONG_MS);
  curator_lock_release_then (none, CURATOR_WAIT_DEFAULT, NULL, NULL, NULL);
}

CLIENT_TEST (test_without_members)
{
  g_autoptr (GError) error = NULL;
  const char *const no_paths[] = { NULL };
  g_autoptr (CuratorLock) none = curator_multi_lock_new (NULL, 0);
  g_autoptr (CuratorLock) of_none =
      curator_multi_lock_new ((CuratorLock *const[]){ none, none }, 2);
  g_autoptr (CuratorLock) of_that = curator_multi_lock_new (&of_none, 1);
  g_autoptr (CuratorLock) paths = curator_multi_lock_new_for_paths (client, no_paths, &error);
  g_autoptr (CuratorLock) sorted =
      curator_multi_lock_new_for_paths_sorted (client, no_paths, &error);

  CuratorLock *const all[] = { none, of_none, of_that, paths, sorted };
  for (gsize i = 0; i < G_N_ELEMENTS (all); i++)
    check_empty (all[i]);
}

SUITE ("leases of threads' holds", fixture_start_calm, fixture_stop)
