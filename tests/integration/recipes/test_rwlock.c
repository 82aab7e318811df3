/* Read-write locks: who excludes whom, in which order, and a writer that becomes a reader. */
#include "integration/taking.h"
#include "support/held_lease.h"

#include <string.h>

#define PATH "/rw/lock"

#define N_READERS 20
#define N_WRITERS 8
/* A test with a client and the sides of its read-write lock. */
#define SIDES_TEST(name, address)                                                                  \
  static void name##_of (Fixture *fixture, CuratorClient *client, CuratorLock *read,               \
                         CuratorLock *write);                                                      \
  TEST_BY (name, address)                                                                          \
  {                                                                                                \
    g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, PATH);                                \
    name##_of (fixture, client, curator_rw_lock_get_read_lock (rw_lock),                           \
               curator_rw_lock_get_write_lock (rw_lock));                                          \
  }                                                                                                \
  static void name##_of (Fixture *fixture, CuratorClient *client, CuratorLock *read,               \
                         CuratorLock *write)

/* Strict order of arrival: a reader behind a waiting writer waits for it. */
SIDES_TEST (test_order_of_arrival, fixture_server)
{
  g_autoptr (Taking) r1 = taking_of_lock (read);
  g_autoptr (Taking) r2 = taking_of_lock (read);
  g_autoptr (Taking) w1 = taking_start_lock (write, LONG_MS, NULL);
  assert_children (fixture, PATH, 3, LONG_MS);
  g_autoptr (Taking) r3 = taking_start_lock (read, LONG_MS, NULL);
  assert_children (fixture, PATH, 4, LONG_MS);
  g_autoptr (Taking) r4 = taking_start_lock (read, LONG_MS, NULL);
  assert_children (fixture, PATH, 5, LONG_MS);
  g_autoptr (Taking) w2 = taking_start_lock (write, LONG_MS, NULL);
  assert_children (fixture, PATH, 6, LONG_MS);
  taking_give_back (r1);
  taking_assert_waits (w1);
  assert_false (taking_has_returned (r3));
  taking_give_back (r2);
  taking_assert_granted (w1);
  taking_assert_waits (r3);
  taking_give_back (w1);
  taking_assert_granted (r3);
  taking_assert_granted (r4);
  taking_assert_waits (w2);
  taking_give_back (r4);
  taking_assert_waits (w2);
  taking_give_back (r3);
  taking_assert_granted (w2);
  taking_give_back (w2);
  assert_no_residue (fixture, PATH, LONG_MS);
}

/* The reader's node has its writer's number, and a writer that queued before stays out. */
SIDES_TEST (test_p9_downgrade_keeps_writers_out, fixture_server)
{
  g_autoptr (CuratorClient) other = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) theirs = writer_new (other, PATH);
  assert_acquired (write);
  const char *writes = curator_lease_get_node_name (held_lease (write));
  g_autoptr (Taking) writer = taking_start_lock (theirs, LONG_MS, NULL);
  assert_children (fixture, PATH, 2, LONG_MS);
  assert_acquired (read);
  const char *reads = curator_lease_get_node_name (held_lease (read));
  assert_string_equal (strstr (reads, "__READ__") + 8, strstr (writes, "__WRIT__") + 8);
  assert_acquired (read);
  assert_released (write);
  assert_children (fixture, PATH, 2, LONG_MS);
  taking_assert_waits (writer);
  assert_released (read);
  taking_assert_waits (writer);
  assert_released (read);
  taking_assert_granted (writer);
  taking_give_back (writer);
  assert_no_residue (fixture, PATH, LONG_MS);
}

/* Counts are kept for each side, and the sides may be released in any order. */
SIDES_TEST (test_reentrance_of_both_sides, fixture_server)
{
  g_autoptr (GError) error = NULL;
  for (int i = 0; i < 2; i++) {
    assert_acquired (write);
    assert_acquired (read);
  }
  assert_int_equal (raw_zk_count_children (fixture->raw, PATH), 2);
  assert_released (read);
  assert_released (read);
  assert_false (curator_lock_is_owned_by_current_thread (read));
  assert_true (curator_lock_is_owned_by_current_thread (write));
  assert_children (fixture, PATH, 1, LONG_MS);
  assert_acquired (read);
  assert_released (write);
  assert_released (write);
  assert_true (curator_lock_is_owned_by_current_thread (read));
  assert_false (curator_lock_release (write, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_NOT_OWNER);
  assert_released (read);
  assert_no_residue (fixture, PATH, LONG_MS);
}

/* These names are what tells the nodes of both sides apart. */
CLIENT_TEST (test_names_of_sides_in_a_path)
{
  g_autoptr (GError) error = NULL;
  assert_null (curator_rw_lock_new (client, "/a__READ__b", NULL, 0, &error));
  assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
  assert_null (curator_rw_lock_new (client, "/x/__WRIT__", NULL, 0, &error));
  assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
}

/* A reference to one side keeps the pair alive; the last one frees it. */
CLIENT_TEST (test_sides_keep_the_pair)
{
  CuratorRwLock *rw_lock = rw_lock_new (client, PATH);
  g_autoptr (CuratorLock) read = curator_lock_ref (curator_rw_lock_get_read_lock (rw_lock));
  assert_acquired (curator_rw_lock_get_write_lock (rw_lock));
  assert_acquired (read);
  curator_rw_lock_unref (rw_lock);
  assert_true (curator_lock_is_owned_by_current_thread (read));
  assert_int_equal (raw_zk_count_children (fixture->raw, PATH), 2);
  g_clear_pointer (&read, curator_lock_unref);
  assert_no_residue (fixture, PATH, LONG_MS);
}

/* A writer that gives up must no longer block the readers behind it. */
SIDES_TEST (test_readers_pass_when_the_writer_leaves, fixture_server)
{
  g_autoptr (Taking) reader = taking_of_lock (read);
  g_autoptr (Taking) writer = taking_start_lock (write, 6000, NULL);
  assert_children (fixture, PATH, 2, LONG_MS);
  g_autoptr (Taking) behind = taking_start_lock (read, LONG_MS, NULL);
  taking_assert_waits (behind);
  assert_true (taking_wait (writer, LONG_MS));
  assert_curator_error (&writer->error, CURATOR_ERROR_TIMED_OUT);
  taking_assert_granted (behind);
  assert_int_equal (curator_lease_get_state (taking_lease (reader, 0)), CURATOR_LEASE_STATE_HELD);
  taking_give_back (reader);
  taking_give_back (behind);
  assert_no_residue (fixture, PATH, LONG_MS);
}

/* A writer whose session has expired must not be granted the read lock by its old write hold. */
SIDES_TEST (test_p23_stale_writer_cannot_read, fixture_proxy)
{
  g_autoptr (CuratorClient) direct = client_connect (fixture_server (fixture));
  g_autoptr (StateLog) log = state_log_new (client);
  g_autoptr (CuratorLock) theirs = writer_new (direct, PATH);
  assert_acquired (write);
  g_autoptr (Taking) next = taking_start_lock (theirs, LONG_MS, NULL);
  assert_children (fixture, PATH, 2, LONG_MS);
  fixture_expire (fixture);
  taking_assert_granted (next);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
  assert_not_acquired (read, 1000, CURATOR_ERROR_LOCK_LOST);
  assert_children (fixture, PATH, 1, LONG_MS);
  assert_released (write);
  g_autoptr (Taking) reader = taking_start_lock (read, LONG_MS, NULL);
  taking_assert_waits (reader);
  taking_give_back (next);
  taking_assert_granted (reader);
  taking_give_back (reader);
  assert_no_residue (fixture, PATH, LONG_MS);
  curator_client_close (client);
}

/* The session expires before the writer's read node is created, and the client does not know
 * yet. */
SIDES_TEST (test_p23_session_ends_before_the_downgrade, fixture_proxy)
{
  g_autoptr (GError) error = NULL;
  gint64 dead = 0;
  g_autoptr (CuratorClient) direct = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) theirs = writer_new (direct, PATH);
  assert_acquired (write);
  g_autoptr (Taking) next = taking_start_lock (theirs, LONG_MS, NULL);
  assert_children (fixture, PATH, 2, LONG_MS);
  /* This client detects the expiry of its session only by its own clock. */
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  assert_true (expire_last_session (fixture->proxy, fixture_server (fixture), &dead));
  taking_assert_granted (next);
  assert_false (curator_lock_acquire (read, 300, NULL, &error));
  assert_non_null (error);
  g_clear_error (&error);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_lease_state (held_lease (write), CURATOR_LEASE_STATE_LOST, LONG_MS);
  assert_released (write);
  taking_give_back (next);
  assert_no_residue (fixture, PATH, LONG_MS);
}

/* --- Curator's own tests, by their names: TestInterProcessReadWriteLock ----------------------- */

/* testSetNodeData: it is copied, for either side. */
CLIENT_TEST (test_set_node_data)
{
  g_autoptr (GError) error = NULL;
  char payload[] = "payload";
  g_autoptr (CuratorRwLock) rw_lock = curator_rw_lock_new (client, PATH, payload, 7, &error);
  assert_ok (rw_lock != NULL, &error);
  *payload = 'x';
  CuratorLock *sides[] = { curator_rw_lock_get_write_lock (rw_lock),
                           curator_rw_lock_get_read_lock (rw_lock) };
  for (gsize i = 0; i < G_N_ELEMENTS (sides); i++) {
    g_autoptr (CuratorLease) lease = lease_of (sides[i]);
    g_autoptr (GBytes) data = data_of (lease);
    assert_int_equal (g_bytes_get_size (data), 7);
    assert_memory_equal (g_bytes_get_data (data, NULL), "payload", 7);
  }
}

/* testGetParticipantNodes: 20 readers hold, 8 writers wait. */
SIDES_TEST (test_get_participant_nodes, fixture_server)
{
  Taking *takings[N_READERS + N_WRITERS];
  for (int i = 0; i < N_READERS + N_WRITERS; i++)
    takings[i] = i < N_READERS ? taking_of_lock (read) : taking_start_lock (write, 60000, NULL);
  assert_children (fixture, PATH, N_READERS + N_WRITERS, LONG_MS);
  g_auto (GStrv) readers = participants_of (read);
  g_auto (GStrv) writers = participants_of (write);
  assert_int_equal (g_strv_length (readers), N_READERS);
  assert_int_equal (g_strv_length (writers), N_WRITERS);
  for (int i = 0; i < N_READERS + N_WRITERS; i++) {
    taking_assert_granted (takings[i]);
    taking_give_back (takings[i]);
    taking_free (takings[i]);
  }
  assert_no_residue (fixture, PATH, LONG_MS);
}

/* testThatUpgradingIsDisallowed: Java times out; here the call fails at once. */
SIDES_TEST (test_that_upgrading_is_disallowed, fixture_server)
{
  assert_acquired (read);
  assert_not_acquired (write, 5000, CURATOR_ERROR_UNSUPPORTED);
  assert_children (fixture, PATH, 1, LONG_MS);
  assert_released (read);
  assert_acquired (write);
  assert_released (write);
}

/* testThatDowngradingRespectsThreads: while one thread holds the write lock, no other thread may
 * read. */
SIDES_TEST (test_that_downgrading_respects_threads, fixture_server)
{
  g_autoptr (Contender) writer G_GNUC_UNUSED = contender_of (write);
  assert_not_acquired (read, 3000, CURATOR_ERROR_TIMED_OUT);
}

SUITE ("read-write lock", fixture_start_calm, fixture_stop)
