/* Semaphores under faults: no lease without a holder, no turn that is never released. */
#include "taking.h"

#include <poll.h>

#define SETTLE_MS 20000 /* no session expires meanwhile */

static void
assert_all_gone (Fixture *fixture, const char *path)
{
  g_autofree char *leases = g_strconcat (path, "/leases", NULL);
  g_autofree char *locks = g_strconcat (path, "/locks", NULL);
  assert_no_residue (fixture, leases, SETTLE_MS);
  assert_no_residue (fixture, locks, SETTLE_MS);
}

static void
make_both (Fixture *fixture, const char *path)
{
  g_autofree char *leases = g_strconcat (path, "/leases", NULL);
  g_autofree char *locks = g_strconcat (path, "/locks", NULL);
  raw_zk_make_path (fixture->raw, leases);
  raw_zk_make_path (fixture->raw, locks);
}

static void
test_p13_timeout_and_cancel_leave_nothing (void **state)
{
  Fixture *fixture = *state;
  const char *path = "/sem/gave-up";
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, path, 1);
  g_autoptr (Taking) held = taking_of (semaphore, 1);
  /* One waits for a lease, one for its turn; both time out, and both are cancelled. */
  g_autoptr (Taking) with_turn = taking_start (semaphore, 1, 1500, NULL);
  assert_children (fixture, "/sem/gave-up/leases", 2, LONG_MS);
  g_autoptr (Taking) without = taking_start (semaphore, 1, 1400, NULL);
  assert_true (taking_wait (with_turn, LONG_MS));
  assert_curator_error (&with_turn->error, CURATOR_ERROR_TIMED_OUT);
  assert_true (taking_wait (without, LONG_MS));
  assert_curator_error (&without->error, CURATOR_ERROR_TIMED_OUT);
  assert_children (fixture, "/sem/gave-up/leases", 1, SETTLE_MS);
  assert_children (fixture, "/sem/gave-up/locks", 0, SETTLE_MS);

  g_autoptr (Taking) first = taking_start (semaphore, 1, CURATOR_WAIT_FOREVER, cancellable);
  assert_children (fixture, "/sem/gave-up/leases", 2, LONG_MS);
  g_autoptr (Taking) second = taking_start (semaphore, 1, CURATOR_WAIT_FOREVER, cancellable);
  assert_children (fixture, "/sem/gave-up/locks", 2, LONG_MS);
  g_cancellable_cancel (cancellable);
  assert_true (taking_wait (first, 2000));
  assert_error (&first->error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  assert_true (taking_wait (second, 2000));
  assert_error (&second->error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  assert_children (fixture, "/sem/gave-up/leases", 1, SETTLE_MS);
  assert_children (fixture, "/sem/gave-up/locks", 0, SETTLE_MS);
  taking_give_back (held);
  g_autoptr (Taking) next = taking_of (semaphore, 1);
  taking_give_back (next);
  assert_all_gone (fixture, path);
}

static void
test_p35_close_wakes_and_frees (void **state)
{
  Fixture *fixture = *state;
  const char *path = "/sem/close";
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, path, 1);
  g_autoptr (Taking) held = taking_of (semaphore, 1);
  struct pollfd pfd = { .fd = curator_lease_get_fd (taking_lease (held, 0)), .events = POLLIN };
  g_autoptr (Taking) first = taking_start (semaphore, 1, CURATOR_WAIT_FOREVER, NULL);
  assert_children (fixture, "/sem/close/leases", 2, LONG_MS);
  g_autoptr (Taking) second = taking_start (semaphore, 1, CURATOR_WAIT_FOREVER, NULL);
  assert_children (fixture, "/sem/close/locks", 2, LONG_MS);
  curator_client_close (client);
  assert_true (taking_wait (first, 2000));
  assert_curator_error (&first->error, CURATOR_ERROR_CLOSED);
  assert_true (taking_wait (second, 2000));
  assert_curator_error (&second->error, CURATOR_ERROR_CLOSED);
  assert_int_equal (poll (&pfd, 1, LONG_MS), 1);
  assert_int_equal (curator_lease_get_state (taking_lease (held, 0)), CURATOR_LEASE_LOST);
  assert_null (curator_semaphore_acquire (semaphore, 1000, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_CLOSED);
  assert_int_equal (first->times + second->times, 2);
  assert_all_gone (fixture, path);
}

/* The session expires: holds are lost, a waiter starts over and gets its lease in the new
 * session. */
static void
test_session_expiry (void **state)
{
  Fixture *fixture = *state;
  const char *path = "/sem/expiry";
  g_autoptr (CuratorClient) direct = client_connect (fixture_server (fixture));
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorSemaphore) theirs = semaphore_new (direct, path, 3);
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, path, 3);
  g_autoptr (Taking) blocker = taking_of (theirs, 2);
  g_autoptr (Taking) held = taking_of (semaphore, 1);
  /* Holds one of two leases with its turn; another caller is still queued for the turn. */
  g_autoptr (Taking) waiter = taking_start (semaphore, 2, 60000, NULL);
  assert_children (fixture, "/sem/expiry/leases", 4, LONG_MS);
  g_autoptr (Taking) queued = taking_start (semaphore, 1, 60000, NULL);
  assert_children (fixture, "/sem/expiry/locks", 2, LONG_MS);
  gint64 dead = fixture_expire (fixture);
  assert_lease_state (taking_lease (held, 0), CURATOR_LEASE_LOST, 5000);
  taking_give_back (held);
  taking_give_back (blocker);
  taking_assert_granted (waiter);
  taking_assert_granted (queued);
  for (guint i = 0; i < 2; i++)
    {
      CuratorLease *lease = taking_lease (waiter, i);
      assert_int_not_equal (curator_lease_get_session_id (lease), dead);
      assert_int_equal (raw_zk_owner (fixture->raw, curator_lease_get_node_path (lease)),
                        curator_client_get_session_id (client));
    }
  assert_children (fixture, "/sem/expiry/leases", 3, SETTLE_MS);
  taking_give_back (waiter);
  taking_give_back (queued);
  assert_all_gone (fixture, path);
}

/* Cuts the connection at every request in turn of a contended acquire of two leases and their
 * release. */
static gboolean
cut_at (Fixture *fixture, CuratorClient *direct, int k, int times, ProxyAction action)
{
  g_autofree char *path = g_strdup_printf ("/sem/sweep-%d-%d-%d", (int) action, times, k);
  g_autofree char *leases = g_strconcat (path, "/leases", NULL);
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorSemaphore) theirs = semaphore_new (direct, path, 2);
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, path, 2);
  make_both (fixture, path);
  g_autoptr (Taking) holder = taking_of (theirs, 1);
  proxy_arm (fixture->proxy, PROXY_ANY_REQUEST, k, times, action);
  g_autoptr (Taking) taking = taking_start (semaphore, 2, LONG_MS, NULL);
  assert_children (fixture, leases, 3, LONG_MS);
  wait_ms (20);
  assert_false (taking_has_returned (taking));
  taking_give_back (holder);
  taking_assert_granted (taking);
  assert_children (fixture, leases, 2, SETTLE_MS);
  for (guint i = 0; i < 2; i++)
    {
      CuratorLease *lease = taking_lease (taking, i);
      g_autoptr (GError) error = NULL;
      assert_int_equal (raw_zk_owner (fixture->raw, curator_lease_get_node_path (lease)),
                        curator_lease_get_session_id (lease));
      if (!curator_lease_release (lease, 0, NULL, &error))
        assert_curator_error (&error, CURATOR_ERROR_RELEASE_PENDING);
    }
  gboolean fired = proxy_fired (fixture->proxy) > 0;
  proxy_disarm (fixture->proxy);
  assert_all_gone (fixture, path);
  return fired;
}

static void
sweep (Fixture *fixture, int times, ProxyAction action)
{
  g_autoptr (CuratorClient) direct = client_connect (fixture_server (fixture));
  int k = 1;
  while (k <= 30 && cut_at (fixture, direct, k, times, action))
    k++;
  print_message ("cut at each of %d requests\n", k - 1);
  assert_true (k > 6);
}

static void
test_sweep_cut_before (void **state)
{
  sweep (*state, 1, PROXY_CUT_BEFORE);
}

static void
test_sweep_cut_before_reply (void **state)
{
  sweep (*state, 1, PROXY_CUT_BEFORE_REPLY);
  sweep (*state, 2, PROXY_CUT_BEFORE_REPLY);
}

/* The reply to the k-th create is held back when the caller gives up: turn and lease must still be
 * deleted. */
static void
give_up_at_create (Fixture *fixture, int k, gboolean cancel)
{
  g_autofree char *path = g_strdup_printf ("/sem/hole-%d-%d", k, cancel);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, path, 2);
  make_both (fixture, path);
  proxy_arm (fixture->proxy, PROXY_CREATE2, k, 1, PROXY_HOLE_BEFORE_REPLY);
  g_autoptr (Taking) taking =
      taking_start (semaphore, 2, cancel ? CURATOR_WAIT_FOREVER : 300, cancellable);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  if (cancel)
    g_cancellable_cancel (cancellable);
  assert_true (taking_wait (taking, 2000));
  assert_null (taking->leases);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_all_gone (fixture, path);
  g_autoptr (Taking) next = taking_of (semaphore, 2);
  taking_give_back (next);
}

static void
test_p1_given_up_with_unknown_outcome (void **state)
{
  for (int k = 1; k <= 3; k++)
    {
      give_up_at_create (*state, k, FALSE);
      give_up_at_create (*state, k, TRUE);
    }
}

/* The delete of the turn is lost after the lease was granted: Java leaks the lease then. */
static void
test_p30_turn_delete_lost (void **state)
{
  Fixture *fixture = *state;
  const char *path = "/sem/turn";
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) direct = client_connect (fixture_server (fixture));
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorSemaphore) theirs = semaphore_new (direct, path, 2);
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, path, 2);
  make_both (fixture, path);
  proxy_arm (fixture->proxy, PROXY_DELETE, 1, 1, PROXY_CUT_BEFORE);
  g_autoptr (CuratorLease) lease = curator_semaphore_acquire (semaphore, LONG_MS, NULL, &error);
  assert_ok (lease != NULL, &error);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  g_autoptr (Taking) other = taking_of (theirs, 1);
  assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_HELD);
  assert_children (fixture, "/sem/turn/leases", 2, SETTLE_MS);
  assert_ok (curator_lease_release (lease, 0, NULL, &error), &error);
  taking_give_back (other);
  assert_all_gone (fixture, path);
}

/* Foreign children do not count, but a foreign node with a number takes a lease. */
static void
test_p8_foreign_children (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, "/sem/foreign", 2);
  make_both (fixture, "/sem/foreign");
  raw_zk_create (fixture->raw, "/sem/foreign/locks/zlock-0", NULL, ZOO_PERSISTENT, NULL);
  raw_zk_create (fixture->raw, "/sem/foreign/locks/0", NULL, ZOO_PERSISTENT, NULL);
  raw_zk_create (fixture->raw, "/sem/foreign/leases/stranger", NULL, ZOO_PERSISTENT, NULL);
  raw_zk_create (fixture->raw, "/sem/foreign/leases/lease-", NULL, ZOO_PERSISTENT_SEQUENTIAL, NULL);
  g_autoptr (Taking) held = taking_of (semaphore, 1);
  g_autoptr (Taking) waiter = taking_start (semaphore, 1, LONG_MS, NULL);
  taking_assert_waits (waiter);
  taking_give_back (held);
  taking_assert_granted (waiter);
  taking_give_back (waiter);
  assert_children (fixture, "/sem/foreign/leases", 2, SETTLE_MS);
  assert_children (fixture, "/sem/foreign/locks", 2, SETTLE_MS);
}

static void
test_p24_lease_deleted_by_another (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, "/sem/deleted", 1);
  g_autoptr (Taking) held = taking_of (semaphore, 1);
  g_autoptr (Taking) waiter = taking_start (semaphore, 1, LONG_MS, NULL);
  assert_children (fixture, "/sem/deleted/leases", 2, LONG_MS);
  assert_int_equal (
      raw_zk_delete (fixture->raw, curator_lease_get_node_path (taking_lease (held, 0))), ZOK);
  taking_assert_granted (waiter);
  assert_lease_state (taking_lease (held, 0), CURATOR_LEASE_LOST, 2000);
  taking_give_back (waiter);
  taking_give_back (held);
  assert_all_gone (fixture, "/sem/deleted");
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    heal_and_test (test_p13_timeout_and_cancel_leave_nothing),
    heal_and_test (test_p35_close_wakes_and_frees),
    heal_and_test (test_session_expiry),
    heal_and_test (test_sweep_cut_before),
    heal_and_test (test_sweep_cut_before_reply),
    heal_and_test (test_p1_given_up_with_unknown_outcome),
    heal_and_test (test_p30_turn_delete_lost),
    heal_and_test (test_p8_foreign_children),
    heal_and_test (test_p24_lease_deleted_by_another),
  };
  return cmocka_run_group_tests_name ("semaphore faults", tests, fixture_start_calm, fixture_stop);
}
