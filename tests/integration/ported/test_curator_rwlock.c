/* Curator's own tests of read-write locks, multi-locks and ACLs, by their names:
 * TestInterProcessReadWriteLock, TestInterProcessMultiMutex, TestLockACLs. */
#include "integration/taking.h"
#include "support/held_lease.h"

#include <string.h>

#define PATH "/test/rw"

/* testGetParticipantNodes: 20 readers hold, 8 writers wait. */
static void
test_get_participant_nodes (void **state)
{
  Fixture *fixture = *state;
  enum
  {
    READERS = 20,
    WRITERS = 8
  };
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, PATH);
  CuratorLock *read = curator_rw_lock_read_lock (rw_lock);
  CuratorLock *write = curator_rw_lock_write_lock (rw_lock);
  Taking *takings[READERS + WRITERS];
  for (int i = 0; i < READERS + WRITERS; i++)
    takings[i] = i < READERS ? taking_of_lock (read) : taking_start_lock (write, 60000, NULL);
  assert_children (fixture, PATH, READERS + WRITERS, LONG_MS);
  g_auto (GStrv) readers = curator_lock_get_participant_nodes (read, 0, NULL, &error);
  assert_ok (readers != NULL, &error);
  g_auto (GStrv) writers = curator_lock_get_participant_nodes (write, 0, NULL, &error);
  assert_ok (writers != NULL, &error);
  assert_int_equal (g_strv_length (readers), READERS);
  assert_int_equal (g_strv_length (writers), WRITERS);
  for (int i = 0; i < READERS + WRITERS; i++)
    {
      taking_assert_granted (takings[i]);
      taking_give_back (takings[i]);
      taking_free (takings[i]);
    }
  assert_no_residue (fixture, PATH, 3000);
}

/* testThatUpgradingIsDisallowed: Java times out; here the call fails at once. */
static void
test_that_upgrading_is_disallowed (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, PATH);
  CuratorLock *read = curator_rw_lock_read_lock (rw_lock);
  CuratorLock *write = curator_rw_lock_write_lock (rw_lock);
  assert_ok (curator_lock_acquire (read, LONG_MS, NULL, &error), &error);
  assert_false (curator_lock_acquire (write, 5000, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_UNSUPPORTED);
  assert_children (fixture, PATH, 1, 3000);
  assert_ok (curator_lock_release (read, 0, NULL, &error), &error);
  assert_ok (curator_lock_acquire (write, LONG_MS, NULL, &error), &error);
  assert_ok (curator_lock_release (write, 0, NULL, &error), &error);
}

/* testThatDowngradingRespectsThreads: while one thread holds the write lock, no other thread may
 * read. */
static void
test_that_downgrading_respects_threads (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, PATH);
  g_autoptr (Contender) writer =
      contender_start (curator_rw_lock_write_lock (rw_lock), LONG_MS, NULL);
  assert_true (contender_wait (writer, LONG_MS));
  assert_false (curator_lock_acquire (curator_rw_lock_read_lock (rw_lock), 500, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_TIMED_OUT);
}

/* testDowngrading, testContendingDowngrading: the writer acquires the read lock and releases the
 * write lock; the waiting writer is not granted until the read lock is released. */
static void
test_contending_downgrading (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, PATH);
  CuratorLock *read = curator_rw_lock_read_lock (rw_lock);
  CuratorLock *write = curator_rw_lock_write_lock (rw_lock);
  assert_ok (curator_lock_acquire (write, LONG_MS, NULL, &error), &error);
  g_autoptr (Taking) other = taking_start_lock (write, LONG_MS, NULL);
  assert_children (fixture, PATH, 2, LONG_MS);
  assert_ok (curator_lock_acquire (read, LONG_MS, NULL, &error), &error);
  assert_ok (curator_lock_release (write, 0, NULL, &error), &error);
  taking_assert_waits (other);
  assert_ok (curator_lock_release (read, 0, NULL, &error), &error);
  taking_assert_granted (other);
  taking_give_back (other);
  assert_no_residue (fixture, PATH, 3000);
}

/* testSetNodeData: the payload is a copy of the constructor's argument. */
static void
test_set_node_data (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (GError) error = NULL;
  char data[] = "node data";
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorRwLock) rw_lock =
      curator_rw_lock_new (client, PATH, data, strlen (data), &error);
  assert_ok (rw_lock != NULL, &error);
  memset (data, 'x', strlen (data));
  g_autoptr (Taking) writer = taking_of_lock (curator_rw_lock_write_lock (rw_lock));
  g_autoptr (GBytes) payload = NULL;
  assert_int_equal (raw_zk_get (fixture->raw,
                                curator_lease_get_node_path (taking_lease (writer, 0)), &payload,
                                NULL),
                    ZOK);
  assert_int_equal (g_bytes_get_size (payload), strlen ("node data"));
  assert_memory_equal (g_bytes_get_data (payload, NULL), "node data", strlen ("node data"));
  taking_give_back (writer);
}

/* testLockPath: the writer's session expires; a reader is granted, the writer's node is gone, and
 * its release still succeeds. */
static void
test_lock_path (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) direct = client_connect (fixture_server (fixture));
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorRwLock) theirs = rw_lock_new (direct, PATH);
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, PATH);
  CuratorLock *write = curator_rw_lock_write_lock (rw_lock);
  assert_ok (curator_lock_acquire (write, LONG_MS, NULL, &error), &error);
  g_autofree char *node = g_strdup (curator_lease_get_node_path (held_lease (write)));
  fixture_expire (fixture);
  g_autoptr (Taking) reader = taking_of_lock (curator_rw_lock_read_lock (theirs));
  assert_false (raw_zk_exists (fixture->raw, node));
  assert_lease_state (held_lease (write), CURATOR_LEASE_LOST, LONG_MS);
  assert_string_equal (curator_lease_get_node_path (held_lease (write)), node);
  assert_ok (curator_lock_release (write, 0, NULL, &error), &error);
  taking_give_back (reader);
  assert_no_residue (fixture, PATH, 3000);
}

/* TestInterProcessMultiMutex.testSomeReleasesFail: the error is returned, the other lock is
 * released. */
static void
test_some_releases_fail (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) good = mutex_new (client, "/test/good");
  g_autoptr (CuratorLock) bad = mutex_new (client, "/test/bad");
  CuratorLock *const locks[] = { good, bad };
  g_autoptr (CuratorLock) multi = curator_multi_lock_new (locks, G_N_ELEMENTS (locks));
  assert_ok (curator_lock_acquire (multi, LONG_MS, NULL, &error), &error);
  assert_true (curator_lock_is_acquired_in_this_process (multi));
  assert_ok (curator_lock_release (bad, 0, NULL, &error), &error);
  assert_false (curator_lock_is_acquired_in_this_process (multi));
  assert_false (curator_lock_release (multi, 0, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_NOT_OWNER);
  assert_false (curator_lock_is_acquired_in_this_process (good));
  assert_no_residue (fixture, "/test/good", 3000);
}

/* TestInterProcessMultiMutex.testSomeLocksFailToLock: the first is acquired and released; the error
 * of the second is returned. */
static void
test_some_locks_fail_to_lock (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorClient) ended = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) good = mutex_new (client, "/test/good");
  g_autoptr (CuratorLock) bad = mutex_new (ended, "/test/bad");
  CuratorLock *const locks[] = { good, bad };
  g_autoptr (CuratorLock) multi = curator_multi_lock_new (locks, G_N_ELEMENTS (locks));
  curator_client_close (ended);
  assert_false (curator_lock_acquire (multi, LONG_MS, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_CLOSED);
  assert_false (curator_lock_is_acquired_in_this_process (good));
  assert_no_residue (fixture, "/test/good", 3000);
}

/* TestLockACLs.testLockACLs, testACLsCreatingParents: nodes and the parents created for them. */
static void
test_lock_acls (void **state)
{
  Fixture *fixture = *state;
  g_autoptr (GError) error = NULL;
  char scheme[] = "ip";
  char id[] = "127.0.0.0/8";
  struct ACL entries[] = { { ZOO_PERM_ALL & ~ZOO_PERM_ADMIN, { scheme, id } } };
  const struct ACL_vector acl = { 1, entries };
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  curator_client_set_acl (client, &acl);
  assert_ok (curator_client_set_namespace (client, "acls", &error), &error);
  client_start (client);
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, "/parent/locks");
  g_autoptr (Taking) writer = taking_of_lock (curator_rw_lock_write_lock (rw_lock));
  g_autofree char *node =
      g_strconcat ("/acls", curator_lease_get_node_path (taking_lease (writer, 0)), NULL);
  const char *const paths[] = { "/acls", "/acls/parent", "/acls/parent/locks", node };
  for (gsize i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      struct ACL_vector found = { 0 };
      assert_int_equal (raw_zk_get_acl (fixture->raw, paths[i], &found), ZOK);
      assert_int_equal (found.count, 1);
      assert_string_equal (found.data[0].id.scheme, "ip");
      assert_int_equal (found.data[0].perms, entries[0].perms);
      deallocate_ACL_vector (&found);
    }
  taking_give_back (writer);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    heal_and_test (test_get_participant_nodes),
    heal_and_test (test_that_upgrading_is_disallowed),
    heal_and_test (test_that_downgrading_respects_threads),
    heal_and_test (test_contending_downgrading),
    heal_and_test (test_set_node_data),
    heal_and_test (test_lock_path),
    heal_and_test (test_some_releases_fail),
    heal_and_test (test_some_locks_fail_to_lock),
    heal_and_test (test_lock_acls),
  };
  return cmocka_run_group_tests_name ("Curator's read-write and multi-lock tests", tests,
                                      fixture_start, fixture_stop);
}
