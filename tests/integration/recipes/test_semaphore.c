/* Semaphores: the limit, the order, all or nothing, resizing while running, and leases. */
#include "integration/taking.h"

#include <string.h>

#define LEASES "/leases"
#define LOCKS  "/locks"

/* Of Curator's own tests. */
#define CURATORS "/test/semaphore"

#define N_WAITERS 10
static void
assert_all_gone (Fixture *fixture, const char *path)
{
  g_autofree char *leases = g_strconcat (path, LEASES, NULL);
  g_autofree char *locks = g_strconcat (path, LOCKS, NULL);
  assert_no_residue (fixture, leases, LONG_MS);
  assert_no_residue (fixture, locks, LONG_MS);
}

/* The nodes are those of Curator: a turn under locks, a lease under leases. */
CLIENT_TEST (test_layout)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, "/semaphore/layout", 2);
  curator_semaphore_set_node_data (semaphore, "data", 4);
  g_autoptr (CuratorLease) lease = curator_semaphore_acquire (semaphore, LONG_MS, NULL, &error);
  assert_ok (lease != NULL, &error);
  assert_true (g_regex_match_simple ("^/semaphore/layout/leases/_c_[0-9a-f-]{36}-lease-[0-9]{10}$",
                                     curator_lease_get_node_path (lease), 0, 0));
  assert_children (fixture, "/semaphore/layout/locks", 0, LONG_MS);
  g_autoptr (GBytes) data = data_of (lease);
  assert_memory_equal (g_bytes_get_data (data, NULL), "data", 4);
  g_auto (GStrv) nodes =
      curator_semaphore_get_participant_nodes (semaphore, CURATOR_WAIT_DEFAULT, NULL, &error);
  assert_ok (nodes != NULL, &error);
  assert_int_equal (g_strv_length (nodes), 1);
  assert_string_equal (nodes[0], curator_lease_get_node_path (lease));
  assert_int_equal (curator_semaphore_get_max_leases (semaphore), 2);
  /* The first waiter has the turn, and those behind it have no lease nodes. */
  g_autoptr (Taking) second = taking_of (semaphore, 1);
  g_autoptr (Taking) third = taking_start (semaphore, 1, LONG_MS, NULL);
  assert_children (fixture, "/semaphore/layout/leases", 3, LONG_MS);
  g_autoptr (Taking) fourth = taking_start (semaphore, 1, LONG_MS, NULL);
  assert_children (fixture, "/semaphore/layout/locks", 2, LONG_MS);
  assert_int_equal (raw_zk_count_children (fixture->raw, "/semaphore/layout/leases"), 3);
  taking_give_back (second);
  taking_assert_granted (third);
  taking_assert_waits (fourth);
  assert_ok (curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
  taking_assert_granted (fourth);
  taking_give_back (third);
  taking_give_back (fourth);
  assert_all_gone (fixture, "/semaphore/layout");
}

/* Only some of the leases are available: none is kept, and one timeout covers all of them. */
CLIENT_TEST (test_p30_all_or_nothing)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, "/semaphore/all", 3);
  g_autoptr (Taking) one = taking_of (semaphore, 1);
  const gint64 before_ms = wait_now_ms ();
  assert_null (curator_semaphore_acquire_n (semaphore, 3, 3000, NULL, &error));
  assert_true (wait_now_ms () - before_ms >= 2999);
  assert_curator_error (&error, CURATOR_ERROR_TIMED_OUT);
  assert_children (fixture, "/semaphore/all/leases", 1, LONG_MS);
  assert_children (fixture, "/semaphore/all/locks", 0, LONG_MS);
  assert_null (curator_semaphore_acquire_n (semaphore, 3, 0, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_TIMED_OUT);
  assert_children (fixture, "/semaphore/all/leases", 1, LONG_MS);
  g_autoptr (GPtrArray) two = curator_semaphore_acquire_n (semaphore, 2, 0, NULL, &error);
  assert_ok (two != NULL, &error);
  assert_int_equal (two->len, 2);
  curator_semaphore_return_all (semaphore, two, CURATOR_WAIT_DEFAULT, NULL, NULL);
  taking_give_back (one);
  assert_all_gone (fixture, "/semaphore/all");
}

/* More than there are would wait forever, and keep all others from their leases. */
CLIENT_TEST (test_more_than_there_are)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, "/semaphore/bad", 1);
  assert_null (curator_semaphore_acquire_n (semaphore, 2, CURATOR_WAIT_FOREVER, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
  g_autoptr (Taking) taking = taking_start (semaphore, 2, CURATOR_WAIT_FOREVER, NULL);
  assert_true (taking_wait (taking, LONG_MS));
  assert_curator_error (&taking->error, CURATOR_ERROR_INVALID_ARGUMENT);
  g_auto (GStrv) nodes =
      curator_semaphore_get_participant_nodes (semaphore, CURATOR_WAIT_DEFAULT, NULL, &error);
  assert_ok (nodes != NULL, &error);
  assert_int_equal (g_strv_length (nodes), 0);
  assert_false (raw_zk_exists (fixture->raw, "/semaphore/bad"));
}

/* The delete of the turn is lost after the lease was granted: Java leaks the lease then. */
PAIR_TEST (test_p30_turn_delete_lost)
{
  const char *path = "/semaphore/turn";
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorSemaphore) theirs = semaphore_new (peer, path, 2);
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, path, 2);
  raw_zk_make_path (fixture->raw, "/semaphore/turn/leases");
  raw_zk_make_path (fixture->raw, "/semaphore/turn/locks");
  proxy_arm (fixture->proxy, PROXY_DELETE, 1, 1, PROXY_CUT_BEFORE);
  g_autoptr (CuratorLease) lease = curator_semaphore_acquire (semaphore, LONG_MS, NULL, &error);
  assert_ok (lease != NULL, &error);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  g_autoptr (Taking) other = taking_of (theirs, 1);
  assert_lease_state (lease, CURATOR_LEASE_STATE_HELD, LONG_MS); /* connected again */
  assert_children (fixture, "/semaphore/turn/leases", 2, LONG_MS);
  assert_ok (curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
  taking_give_back (other);
  assert_all_gone (fixture, path);
}

/* A foreign node with a number takes a lease, as it does from Java's clients. */
CLIENT_TEST (test_numbered_node_of_another)
{
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, "/semaphore/foreign", 2);
  raw_zk_make_path (fixture->raw, "/semaphore/foreign/leases");
  raw_zk_create (fixture->raw, "/semaphore/foreign/leases/lease-", NULL, ZOO_PERSISTENT_SEQUENTIAL,
                 NULL);
  g_autoptr (Taking) held = taking_of (semaphore, 1);
  g_autoptr (Taking) waiter = taking_start (semaphore, 1, LONG_MS, NULL);
  taking_assert_waits (waiter);
  taking_give_back (held);
  taking_assert_granted (waiter);
  taking_give_back (waiter);
  assert_children (fixture, "/semaphore/foreign/leases", 1, LONG_MS);
}

/* --- Curator's own tests, by their names: TestInterProcessSemaphore --------------------------- */

/* testNoOrphanedNodes: the waiter's node is deleted by another client; the waiter recovers and
 * leaves nothing. */
CLIENT_TEST (test_no_orphaned_nodes)
{
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, CURATORS, 1);
  g_autoptr (Taking) held = taking_of (semaphore, 1);
  g_autoptr (Taking) waiter = taking_start (semaphore, 1, 60000, NULL);
  assert_children (fixture, CURATORS LEASES, 2, LONG_MS);
  g_auto (GStrv) names = raw_zk_children (fixture->raw, CURATORS LEASES);
  g_autofree char *path = g_strconcat (CURATORS LEASES "/", names[1], NULL);
  assert_int_equal (raw_zk_delete (fixture->raw, path), ZOK);
  taking_give_back (held);
  taking_assert_granted (waiter);
  assert_children (fixture, CURATORS LEASES, 1, LONG_MS);
  taking_give_back (waiter);
  assert_no_residue (fixture, CURATORS LEASES, LONG_MS);
}

/* testAcquireAfterLostServer: the server stops after one client has created its node and before it
 * has listed; after the restart all acquire. */
TEST (test_acquire_after_lost_server)
{
  Taking *takings[N_WAITERS];
  g_autoptr (CuratorClient) client = client_connect_for (fixture_proxy (fixture), 10000);
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, CURATORS, 1);
  raw_zk_make_path (fixture->raw, CURATORS LEASES);
  raw_zk_make_path (fixture->raw, CURATORS LOCKS);
  proxy_arm (fixture->proxy, PROXY_CREATE2, 2, 1, PROXY_HOLE_BEFORE_REPLY);
  for (int i = 0; i < N_WAITERS; i++)
    takings[i] = taking_start (semaphore, 1, 60000, NULL);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  assert_true (zk_server_restart (fixture->server));
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  for (int left = N_WAITERS; left > 0; left--) {
    const int granted = takings_wait (takings, N_WAITERS);
    taking_give_back (takings[granted]);
    g_clear_pointer (&takings[granted], taking_free);
  }
  assert_all_gone (fixture, CURATORS);
}

SUITE ("semaphore", fixture_start_calm, fixture_stop)
