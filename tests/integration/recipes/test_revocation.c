/* Revocation: the listener is called once for each request, and no other listener is. */
#include "integration/taking.h"

#define PATH     "/revoke/lock"
#define QUIET_MS 200 /* a superfluous call would come within this time */

static void
assert_asked (Ear *ear, int n)
{
  assert_counter (&ear->asked, n, LONG_MS);
  wait_ms (QUIET_MS);
  assert_int_equal (g_atomic_int_get (&ear->asked), n);
}

/* Ten writes, each seen before the next: ten calls, no more. */
PAIR_TEST (test_one_call_per_write)
{
  Ear ear = { 0 };
  g_autoptr (CuratorLock) lock = revocable_new (client, PATH, &ear);
  g_autoptr (Taking) held = taking_of_lock (lock);
  const char *node = curator_lease_get_node_path (taking_lease (held, 0));
  /* Other data, even nearly the right one, is no request. */
  const char *const words[] = { "", "__REVOKE", "__REVOKE__ ", "__revoke__" };
  for (gsize i = 0; i < G_N_ELEMENTS (words); i++)
    assert_int_equal (raw_zk_set (fixture->raw, node, words[i]), ZOK);
  assert_asked (&ear, 0);
  for (int i = 1; i <= 10; i++) {
    ask_back (peer, node);
    assert_counter (&ear.asked, i, LONG_MS);
  }
  assert_asked (&ear, 10);
  /* In quick succession several writes may be seen as one. */
  for (int i = 0; i < 10; i++)
    ask_back (peer, node);
  assert_counter (&ear.asked, 11, LONG_MS);
  wait_ms (QUIET_MS);
  assert_true (g_atomic_int_get (&ear.asked) <= 20);
  /* Only a request: the hold does not change. */
  assert_int_equal (curator_lease_get_state (taking_lease (held, 0)), CURATOR_LEASE_STATE_HELD);
  taking_give_back (held);
  ask_back (peer, node);
  assert_no_residue (fixture, PATH, LONG_MS);
}

/* Written after the node was created but before its owner knew: Java misses that. */
PROXY_TEST (test_early_request_is_not_missed)
{
  Ear ear = { 0 };
  g_autoptr (CuratorLock) lock = revocable_new (client, PATH, &ear);
  raw_zk_make_path (fixture->raw, PATH);
  proxy_arm (fixture->proxy, PROXY_CREATE2, 1, 1, PROXY_HOLD_REPLY);
  g_autoptr (Taking) held = taking_start_lock (lock, LONG_MS, NULL);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  g_auto (GStrv) names = raw_zk_children (fixture->raw, PATH);
  assert_int_equal (g_strv_length (names), 1);
  g_autofree char *node = g_strconcat (PATH "/", names[0], NULL);
  assert_int_equal (raw_zk_set (fixture->raw, node, "__REVOKE__"), ZOK);
  proxy_let_go (fixture->proxy);
  taking_assert_granted (held);
  assert_asked (&ear, 1);
  taking_give_back (held);
  assert_no_residue (fixture, PATH, LONG_MS);
}

/* A request during an outage is reported once, afterwards. */
PROXY_TEST (test_request_during_an_outage)
{
  Ear ear = { 0 };
  g_autoptr (StateLog) log = state_log_new (client);
  g_autoptr (CuratorLock) lock = revocable_new (client, PATH, &ear);
  g_autoptr (Taking) held = taking_of_lock (lock);
  const char *node = curator_lease_get_node_path (taking_lease (held, 0));
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_SUSPENDED, 1, LONG_MS));
  assert_int_equal (raw_zk_set (fixture->raw, node, "__REVOKE__"), ZOK);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_asked (&ear, 1);
  /* Reconnecting alone repeats nothing. */
  proxy_cut (fixture->proxy);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 2, LONG_MS));
  assert_asked (&ear, 1);
  taking_give_back (held);
  assert_no_residue (fixture, PATH, LONG_MS);
  curator_client_close (client);
}

/* The registration stays: for waiters, for the next hold, and in the next session. */
PAIR_TEST (test_registration_stays)
{
  Ear ear = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) theirs = mutex_new (peer, PATH);
  g_autoptr (CuratorLock) lock = revocable_new (client, PATH, &ear);
  g_autoptr (Taking) holder = taking_of_lock (theirs);
  g_autoptr (Taking) waiter = taking_start_lock (lock, 60000, NULL);
  assert_children (fixture, PATH, 2, LONG_MS);
  g_auto (GStrv) nodes = participants_of (lock);
  assert_int_equal (g_strv_length (nodes), 2);
  ask_back (peer, nodes[1]);
  assert_asked (&ear, 1);
  assert_false (taking_has_returned (waiter));
  fixture_expire (fixture);
  taking_give_back (holder);
  taking_assert_granted (waiter);
  ask_back (peer, curator_lease_get_node_path (taking_lease (waiter, 0)));
  assert_asked (&ear, 2);
  taking_give_back (waiter);
  g_autoptr (Taking) again = taking_of_lock (lock);
  ask_back (peer, curator_lease_get_node_path (taking_lease (again, 0)));
  assert_asked (&ear, 3);
  taking_give_back (again);
  /* Until it is cleared: then the node has its usual data again, and the listener is not called. */
  assert_ok (curator_lock_make_revocable (lock, NULL, NULL, NULL, &error), &error);
  assert_counter (&ear.destroyed, 1, LONG_MS);
  g_autoptr (Taking) plain = taking_of_lock (lock);
  g_autoptr (GBytes) data = data_of (taking_lease (plain, 0));
  assert_true (g_bytes_get_size (data) > 0);
  ask_back (peer, curator_lease_get_node_path (taking_lease (plain, 0)));
  assert_asked (&ear, 3);
  taking_give_back (plain);
  assert_no_residue (fixture, PATH, LONG_MS);
}

/* Each side of a read-write lock separately. */
CLIENT_TEST (test_read_and_write_locks)
{
  Ear readers = { 0 };
  Ear writers = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, "/revoke/rw");
  CuratorLock *read = curator_rw_lock_get_read_lock (rw_lock);
  CuratorLock *write = curator_rw_lock_get_write_lock (rw_lock);
  assert_ok (curator_lock_make_revocable (read, ear_on_asked, &readers, NULL, &error), &error);
  assert_ok (curator_lock_make_revocable (write, ear_on_asked, &writers, NULL, &error), &error);
  g_autoptr (Taking) r1 = taking_of_lock (read);
  g_autoptr (Taking) r2 = taking_of_lock (read);
  ask_back (client, curator_lease_get_node_path (taking_lease (r1, 0)));
  ask_back (client, curator_lease_get_node_path (taking_lease (r2, 0)));
  assert_asked (&readers, 2);
  taking_give_back (r1);
  taking_give_back (r2);
  g_autoptr (Taking) w = taking_of_lock (write);
  ask_back (client, curator_lease_get_node_path (taking_lease (w, 0)));
  assert_asked (&writers, 1);
  assert_int_equal (g_atomic_int_get (&readers.asked), 2);
  taking_give_back (w);
  assert_no_residue (fixture, "/revoke/rw", LONG_MS);
}

/* A request to a semaphore names a lease, and reaches none before it is held. */
CLIENT_TEST (test_semaphores)
{
  Ear ear = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, "/revoke/sem", 2);
  assert_ok (curator_semaphore_make_revocable (semaphore, ear_on_lease_asked, &ear,
                                               ear_on_destroyed, &error),
             &error);
  g_autoptr (Taking) held = taking_of (semaphore, 2);
  for (int i = 1; i >= 0; i--) {
    CuratorLease *lease = taking_lease (held, (guint) i);
    ask_back (client, curator_lease_get_node_path (lease));
    assert_asked (&ear, 2 - i);
    assert_true (g_atomic_pointer_get (&ear.lease) == lease);
  }
  g_autoptr (Taking) waiter = taking_start (semaphore, 1, LONG_MS, NULL);
  assert_children (fixture, "/revoke/sem/leases", 3, LONG_MS);
  g_auto (GStrv) nodes =
      curator_semaphore_get_participant_nodes (semaphore, CURATOR_WAIT_DEFAULT, NULL, &error);
  assert_ok (nodes != NULL && g_strv_length (nodes) == 3, &error);
  ask_back (client, nodes[2]);
  assert_asked (&ear, 2);
  taking_give_back (held);
  taking_assert_granted (waiter);
  assert_asked (&ear, 3);
  assert_true (g_atomic_pointer_get (&ear.lease) == taking_lease (waiter, 0));
  taking_give_back (waiter);
  assert_ok (curator_semaphore_make_revocable (semaphore, NULL, NULL, NULL, &error), &error);
  assert_counter (&ear.destroyed, 1, LONG_MS);
  assert_no_residue (fixture, "/revoke/sem/leases", LONG_MS);
}

CLIENT_TEST (test_refused)
{
  Ear ear = { 0 };
  g_autoptr (GError) error = NULL;
  const char *const paths[] = { "/revoke/a", "/revoke/b", NULL };
  g_autoptr (CuratorLock) multi = curator_multi_lock_new_for_paths (client, paths, &error);
  assert_ok (multi != NULL, &error);
  assert_false (curator_lock_make_revocable (multi, ear_on_asked, &ear, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_UNSUPPORTED);
  assert_false (
      curator_client_attempt_revoke (client, "no/path", CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
  ask_back (client, "/revoke/never-was");
  assert_false (raw_zk_exists (fixture->raw, "/revoke/never-was"));
}

static void
assert_refused_and_untouched (Fixture *fixture, CuratorClient *client, const char *path)
{
  g_autoptr (GError) error = NULL;
  struct Stat before;
  struct Stat after;

  assert_int_equal (raw_zk_stat (fixture->raw, path, &before), ZOK);
  assert_false (curator_client_attempt_revoke (client, path, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
  assert_int_equal (raw_zk_stat (fixture->raw, path, &after), ZOK);
  assert_int_equal (after.version, before.version);
}

/* Somebody names the lock instead of one of its nodes. */
CLIENT_TEST (test_path_of_a_lock)
{
  g_autoptr (CuratorLock) mutex = mutex_new (client, "/revoke/parent");

  assert_acquired (mutex);
  assert_refused_and_untouched (fixture, client, "/revoke/parent");
  assert_refused_and_untouched (fixture, client, "/revoke");
  assert_released (mutex);
  assert_refused_and_untouched (fixture, client, "/revoke/parent");
}

SUITE ("revocation", fixture_start_calm, fixture_stop)
