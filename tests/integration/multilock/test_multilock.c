/* Multi-locks: in order, all or nothing, mixtures of kinds, and one inside another. */
#include "integration/taking.h"
#include "support/held_lease.h"

#include <poll.h>
#include <string.h>

#define BASE "/multi"

/* A mutex, a write lock, a semaphore mutex, and below them another mixture: three levels deep. */
typedef struct
{
  CuratorLock *mutex;
  CuratorRwLock *rw_lock;
  CuratorLock *semaphore_mutex;
  CuratorLock *inner_mutex;
  CuratorLock *innermost;
  CuratorLock *inner;
  CuratorLock *whole;
} Mixture;

static const char *const queues[] = { BASE "/mutex", BASE "/rw",     BASE "/sem/leases",
                                      BASE "/inner", BASE "/deep-a", BASE "/deep-b" };

static void
mixture_init (Mixture *mixture, CuratorClient *client, CuratorClient *other)
{
  g_autoptr (GError) error = NULL;
  const char *const deep[] = { BASE "/deep-a", BASE "/deep-b", NULL };
  mixture->mutex = mutex_new (client, BASE "/mutex");
  mixture->rw_lock = rw_lock_new (other, BASE "/rw");
  mixture->semaphore_mutex = semaphore_mutex_new (client, BASE "/sem");
  mixture->inner_mutex = mutex_new (other, BASE "/inner");
  mixture->innermost = curator_multi_lock_new_for_paths (client, deep, &error);
  assert_ok (mixture->innermost != NULL, &error);
  mixture->inner = curator_multi_lock_new (
      (CuratorLock *const[]){ mixture->inner_mutex, mixture->innermost }, 2);
  CuratorLock *const locks[] = { mixture->mutex, curator_rw_lock_get_write_lock (mixture->rw_lock),
                                 mixture->semaphore_mutex, mixture->inner };
  mixture->whole = curator_multi_lock_new (locks, G_N_ELEMENTS (locks));
}

static void
mixture_clear (Mixture *mixture)
{
  curator_lock_unref (mixture->whole);
  curator_lock_unref (mixture->inner);
  curator_lock_unref (mixture->innermost);
  curator_lock_unref (mixture->inner_mutex);
  curator_lock_unref (mixture->semaphore_mutex);
  curator_rw_lock_unref (mixture->rw_lock);
  curator_lock_unref (mixture->mutex);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Mixture, mixture_clear)

/* A test with two clients, the second one through the proxy, and a mixture of their locks. */
#define MIXTURE_TEST(name)                                                                         \
  static void name##_of (Fixture *fixture, CuratorClient *client, CuratorClient *other,            \
                         Mixture *mixture);                                                        \
  CLIENT_TEST (name)                                                                               \
  {                                                                                                \
    g_autoptr (CuratorClient) other = client_connect (fixture_proxy (fixture));                    \
    g_auto (Mixture) mixture = { 0 };                                                              \
    mixture_init (&mixture, client, other);                                                        \
    name##_of (fixture, client, other, &mixture);                                                  \
  }                                                                                                \
  static void name##_of (Fixture *fixture, CuratorClient *client, CuratorClient *other,            \
                         Mixture *mixture)

static void
assert_each_has (Fixture *fixture, int n)
{
  for (gsize i = 0; i < G_N_ELEMENTS (queues); i++)
    assert_children (fixture, queues[i], n, LONG_MS);
}

static void
assert_all_gone (Fixture *fixture)
{
  assert_no_residue (fixture, BASE "/sem/locks", LONG_MS);
  for (gsize i = 0; i < G_N_ELEMENTS (queues); i++)
    assert_no_residue (fixture, queues[i], LONG_MS);
}

/* Whichever member is taken, those acquired before it are released. */
MIXTURE_TEST (test_p31_blocked_at_every_member)
{
  g_autoptr (CuratorClient) theirs = client_connect (fixture_server (fixture));
  g_auto (Mixture) blockers = { 0 };
  mixture_init (&blockers, theirs, theirs);
  CuratorLock *const members[] = { blockers.mutex, curator_rw_lock_get_read_lock (blockers.rw_lock),
                                   blockers.semaphore_mutex, blockers.inner_mutex,
                                   blockers.innermost };
  CuratorLock *const mine[] = { mixture->mutex,
                                curator_rw_lock_get_write_lock (mixture->rw_lock),
                                mixture->semaphore_mutex,
                                mixture->inner_mutex,
                                mixture->innermost,
                                mixture->inner,
                                mixture->whole };
  for (gsize i = 0; i < G_N_ELEMENTS (members); i++) {
    g_autoptr (Taking) blocker = taking_of_lock (members[i]);
    const gint64 before_ms = wait_now_ms ();
    assert_not_acquired (mixture->whole, 3000, CURATOR_ERROR_TIMED_OUT);
    assert_true (wait_now_ms () - before_ms >= 2999);
    for (gsize m = 0; m < G_N_ELEMENTS (mine); m++)
      assert_false (curator_lock_is_acquired_in_this_process (mine[m]));
    assert_not_acquired (mixture->whole, 0, CURATOR_ERROR_TIMED_OUT);
    taking_give_back (blocker);
    assert_all_gone (fixture);
    assert_acquired (mixture->whole);
    assert_each_has (fixture, 1);
    assert_released (mixture->whole);
  }
  assert_all_gone (fixture);
}

/* Java gives every member the whole timeout; here one timeout covers them all. */
PAIR_TEST (test_p17_one_timeout_for_all)
{
  g_autoptr (CuratorLock) a = mutex_new (client, BASE "/time-a");
  g_autoptr (CuratorLock) b = mutex_new (client, BASE "/time-b");
  g_autoptr (CuratorLock) their_a = mutex_new (peer, BASE "/time-a");
  g_autoptr (CuratorLock) their_b = mutex_new (peer, BASE "/time-b");
  g_autoptr (CuratorLock) both = curator_multi_lock_new ((CuratorLock *const[]){ a, b }, 2);
  g_autoptr (Taking) first = taking_of_lock (their_a);
  g_autoptr (Taking) second = taking_of_lock (their_b);
  g_autoptr (Taking) taking = taking_start_lock (both, 6000, NULL);
  wait_ms (300);
  taking_give_back (first);
  assert_children (fixture, BASE "/time-b", 2, LONG_MS);
  assert_true (taking_wait (taking, LONG_MS));
  assert_curator_error (&taking->error, CURATOR_ERROR_TIMED_OUT);
  taking_give_back (second);
  assert_no_residue (fixture, BASE "/time-a", LONG_MS);
  assert_no_residue (fixture, BASE "/time-b", LONG_MS);
}

MIXTURE_TEST (test_cancel_and_close)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (CuratorClient) theirs = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) last = mutex_new (theirs, BASE "/deep-b");
  g_autoptr (Taking) blocker = taking_of_lock (last);
  g_autoptr (Contender) thread =
      contender_start (mixture->whole, CURATOR_WAIT_FOREVER, cancellable);
  assert_children (fixture, BASE "/deep-b", 2, LONG_MS);
  g_cancellable_cancel (cancellable);
  assert_true (contender_wait (thread, LONG_MS));
  assert_error (&thread->error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  assert_false (curator_lock_is_acquired_in_this_process (mixture->mutex));
  assert_false (curator_lock_is_acquired_in_this_process (mixture->inner_mutex));
  assert_children (fixture, BASE "/deep-b", 1, LONG_MS);
  assert_no_residue (fixture, BASE "/mutex", LONG_MS);
  /* The second client closes under a chain that belongs to the first one. */
  g_autoptr (CuratorLock) inner = mutex_new (theirs, BASE "/inner");
  g_autoptr (Taking) inner_blocker = taking_of_lock (inner);
  g_autoptr (Taking) waiter = taking_start_lock (mixture->whole, CURATOR_WAIT_FOREVER, NULL);
  assert_children (fixture, BASE "/inner", 2, LONG_MS);
  curator_client_close (other);
  assert_true (taking_wait (waiter, LONG_MS));
  assert_curator_error (&waiter->error, CURATOR_ERROR_CLOSED);
  assert_no_residue (fixture, BASE "/mutex", LONG_SESSION_MS / 2);
  assert_no_residue (fixture, BASE "/sem/leases", LONG_SESSION_MS / 2);
  assert_no_residue (fixture, BASE "/rw", LONG_SESSION_MS / 2);
  taking_give_back (blocker);
  taking_give_back (inner_blocker);
  assert_all_gone (fixture);
}

static void
count_lost (CuratorLease *lease, CuratorLeaseState state, gpointer user_data)
{
  if (state == CURATOR_LEASE_STATE_LOST)
    g_atomic_int_inc ((int *) user_data);
}

/* One lease for all members: its state is the worst of theirs, and its release releases all. */
MIXTURE_TEST (test_lease_of_a_mixture)
{
  int lost = 0;
  g_autoptr (Taking) taking = taking_of_lock (mixture->whole);
  CuratorLease *lease = taking_lease (taking, 0);
  assert_each_has (fixture, 1);
  assert_true (g_str_has_prefix (curator_lease_get_node_path (lease), BASE "/mutex/"));
  assert_true (curator_lease_get_fencing_token (lease) > 0);
  assert_int_equal (curator_lease_get_session_id (lease), curator_client_get_session_id (client));
  assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_STATE_HELD);
  assert_true (curator_lease_get_remaining_ms (lease) > 0);
  G_GNUC_UNUSED g_autoptr (GBytes) data = data_of (lease);
  curator_lease_add_listener (lease, count_lost, &lost, NULL);
  struct pollfd pfd = { .fd = curator_lease_get_fd (lease), .events = POLLIN };
  assert_int_equal (poll (&pfd, 1, 0), 0);
  /* Two of the members belong to the other client, whose session expires. */
  fixture_expire (fixture);
  assert_int_equal (poll (&pfd, 1, LONG_MS), 1);
  assert_lease_state (lease, CURATOR_LEASE_STATE_LOST, LONG_MS);
  assert_int_equal (curator_lease_get_remaining_ms (lease), 0);
  assert_counter (&lost, 1, LONG_MS);
  assert_children (fixture, BASE "/mutex", 1, LONG_MS);
  taking_give_back (taking);
  assert_all_gone (fixture);
  g_autoptr (Taking) again = taking_of_lock (mixture->whole);
  g_clear_pointer (&again, taking_free);
  assert_all_gone (fixture);
}

/* A session expires during a thread's hold: the other members can be released, and acquired
 * again. */
MIXTURE_TEST (test_expiry_of_some_members)
{
  g_autoptr (GError) error = NULL;
  assert_acquired (mixture->whole);
  assert_true (curator_lock_is_owned_by_current_thread (mixture->whole));
  assert_null (
      curator_lock_get_participant_nodes (mixture->whole, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_UNSUPPORTED);
  fixture_expire (fixture);
  assert_lease_state (held_lease (mixture->inner_mutex), CURATOR_LEASE_STATE_LOST, LONG_MS);
  assert_false (curator_lock_is_acquired_in_this_process (mixture->whole));
  assert_false (curator_lock_is_owned_by_current_thread (mixture->whole));
  assert_true (curator_lock_is_owned_by_current_thread (mixture->mutex));
  assert_not_acquired (mixture->whole, 300, CURATOR_ERROR_LOCK_LOST);
  assert_true (curator_lock_is_owned_by_current_thread (mixture->mutex));
  assert_released (mixture->whole);
  assert_false (curator_lock_release (mixture->whole, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_NOT_OWNER);
  assert_all_gone (fixture);
  assert_acquired (mixture->whole);
  assert_released (mixture->whole);
  assert_all_gone (fixture);
}

CLIENT_TEST (test_of_paths)
{
  g_autoptr (GError) error = NULL;
  const char *const twice[] = { BASE "/p", BASE "/q", BASE "/p", NULL };
  assert_null (curator_multi_lock_new_for_paths (client, twice, &error));
  assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
  const char *const bad[] = { BASE "/p", "q", NULL };
  assert_null (curator_multi_lock_new_for_paths (client, bad, &error));
  assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
  /* Opposite orders, sorted: two threads never wait for each other. */
  const char *const forth[] = { BASE "/p", BASE "/q", NULL };
  const char *const back[] = { BASE "/q", BASE "/p", NULL };
  g_autoptr (CuratorLock) one = curator_multi_lock_new_for_paths_sorted (client, forth, &error);
  g_autoptr (CuratorLock) two = curator_multi_lock_new_for_paths_sorted (client, back, &error);
  for (int i = 0; i < 30; i++) {
    g_autoptr (Contender) first = contender_start (one, LONG_MS, NULL);
    g_autoptr (Contender) second = contender_start (two, LONG_MS, NULL);
    contender_tell_release (first);
    contender_tell_release (second);
    contender_join (first);
    contender_join (second);
    assert_true (first->acquired && first->released);
    assert_true (second->acquired && second->released);
  }
  assert_no_residue (fixture, BASE "/p", LONG_MS);
  assert_no_residue (fixture, BASE "/q", LONG_MS);
}

/* TestInterProcessMultiMutex.testSomeReleasesFail: the error is returned, the other lock is
 * released. */
CLIENT_TEST (test_some_releases_fail)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) good = mutex_new (client, "/test/good");
  g_autoptr (CuratorLock) bad = mutex_new (client, "/test/bad");
  g_autoptr (CuratorLock) multi = curator_multi_lock_new ((CuratorLock *const[]){ good, bad }, 2);
  assert_acquired (multi);
  assert_true (curator_lock_is_acquired_in_this_process (multi));
  assert_released (bad);
  assert_false (curator_lock_is_acquired_in_this_process (multi));
  assert_false (curator_lock_release (multi, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_NOT_OWNER);
  assert_false (curator_lock_is_acquired_in_this_process (good));
  assert_no_residue (fixture, "/test/good", LONG_MS);
}

/* TestInterProcessMultiMutex.testSomeLocksFailToLock: the first is acquired and released; the error
 * of the second is returned. */
PAIR_TEST (test_some_locks_fail_to_lock)
{
  g_autoptr (CuratorLock) good = mutex_new (client, "/test/good");
  g_autoptr (CuratorLock) bad = mutex_new (peer, "/test/bad");
  g_autoptr (CuratorLock) multi = curator_multi_lock_new ((CuratorLock *const[]){ good, bad }, 2);
  curator_client_close (peer);
  assert_not_acquired (multi, LONG_MS, CURATOR_ERROR_CLOSED);
  assert_false (curator_lock_is_acquired_in_this_process (good));
  assert_no_residue (fixture, "/test/good", LONG_MS);
}

SUITE ("multi-lock", fixture_start_calm, fixture_stop)
