/* Shared counts, by the names of TestSharedCount's tests; and semaphores that follow one. */
#include "integration/taking.h"

#include <string.h>

#define N_CLIENTS 5

static void
set_count (CuratorSharedCount *count, gint32 value)
{
  g_autoptr (GError) error = NULL;
  assert_ok (curator_shared_count_set (count, value, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
}

static gboolean
try_set (CuratorSharedCount *count, gint32 version, gint32 value)
{
  g_autoptr (GError) error = NULL;
  gboolean set = FALSE;
  assert_ok (curator_shared_count_try_set (count, version, value, &set, CURATOR_WAIT_DEFAULT, NULL,
                                           &error),
             &error);
  return set;
}

static void
assert_value (CuratorSharedCount *count, gint32 value)
{
  if (!holds_within (curator_shared_count_get (count) == value, LONG_MS))
    fail_msg ("the count is %d, not %d", curator_shared_count_get (count), value);
}

typedef struct
{
  int calls;
  int last;
  int went_back; /* a value lower than the one before, of a count that only rises */
} Seen;

static void
note_value (CuratorSharedCount *count, gint32 value, gpointer user_data)
{
  Seen *seen = user_data;
  if (value < g_atomic_int_get (&seen->last))
    g_atomic_int_inc (&seen->went_back);
  g_atomic_int_inc (&seen->calls);
  g_atomic_int_set (&seen->last, value);
}

/* testSimple: the seed, then the value set. */
CLIENT_TEST (test_simple)
{
  g_autoptr (CuratorSharedCount) count =
      curator_shared_count_new (client, "/count/simple", 10, NULL);
  assert_int_equal (curator_shared_count_get (count), 10);
  assert_false (curator_shared_count_get_versioned (count, NULL, NULL));
  g_autoptr (GError) error = NULL;
  assert_ok (curator_shared_count_start (count, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
  assert_int_equal (curator_shared_count_get (count), 10);
  set_count (count, 20);
  assert_int_equal (curator_shared_count_get (count), 20);
  g_autoptr (GBytes) data = NULL;
  const guint8 wire[] = { 0, 0, 0, 20 };
  assert_int_equal (raw_zk_get (fixture->raw, "/count/simple", &data, NULL), ZOK);
  assert_int_equal (g_bytes_get_size (data), 4);
  assert_memory_equal (g_bytes_get_data (data, NULL), wire, 4);
  /* A seed does not overwrite an existing value; negative numbers are allowed. */
  g_autoptr (CuratorSharedCount) other = shared_count_of (client, "/count/simple", 99);
  assert_int_equal (curator_shared_count_get (other), 20);
  set_count (count, G_MININT32);
  assert_value (other, G_MININT32);
}

/* testMultiClients: five clients watch each other's values; the last value reaches all. */
TEST (test_multi_clients)
{
  CuratorClient *clients[N_CLIENTS];
  CuratorSharedCount *counts[N_CLIENTS];
  Seen seen[N_CLIENTS] = { 0 };
  for (int i = 0; i < N_CLIENTS; i++) {
    clients[i] = client_connect (fixture_server (fixture));
    counts[i] = shared_count_of (clients[i], "/count/multi", 0);
    curator_shared_count_add_listener (counts[i], note_value, &seen[i], NULL);
  }
  for (int round = 1; round <= 20; round++) {
    set_count (counts[round % N_CLIENTS], round);
    for (int i = 0; i < N_CLIENTS; i++)
      assert_value (counts[i], round);
  }
  for (int i = 0; i < N_CLIENTS; i++) {
    assert_counter (&seen[i].last, 20, LONG_MS);
    assert_int_equal (g_atomic_int_get (&seen[i].calls), 20);
    assert_int_equal (g_atomic_int_get (&seen[i].went_back), 0);
    curator_shared_count_unref (counts[i]);
    curator_client_close (clients[i]);
    curator_client_unref (clients[i]);
  }
}

/* testSimpleVersioned, testMultiClientVersioned: of two that set one version, one succeeds.
 * testMultiClientDifferentSeed: the first seed wins. */
PAIR_TEST (test_multi_client_versioned)
{
  gint32 value = 0;
  gint32 first_version = 0;
  gint32 second_version = 0;
  g_autoptr (CuratorSharedCount) first = shared_count_of (client, "/count/versioned", 10);
  g_autoptr (CuratorSharedCount) second = shared_count_of (peer, "/count/versioned", 20);
  assert_true (curator_shared_count_get_versioned (first, &value, &first_version));
  assert_int_equal (value, 10);
  assert_true (curator_shared_count_get_versioned (second, &value, &second_version));
  assert_int_equal (value, 10);
  assert_true (try_set (second, second_version, 20));
  assert_false (try_set (first, first_version, 30));
  assert_int_equal (curator_shared_count_get (first), 20);
  assert_true (curator_shared_count_get_versioned (first, &value, &first_version));
  assert_true (try_set (first, first_version, 30));
  assert_value (second, 30);
}

/* testDisconnectEventOnWatcherDoesNotRetry, testDisconnectReconnectEventDoesNotFireValueWatcher:
 * the value is reported once after an outage, whether or not it changed meanwhile. */
PAIR_TEST (test_disconnect)
{
  Seen seen = { 0 };
  g_autoptr (StateLog) log = state_log_new (client);
  g_autoptr (CuratorSharedCount) setter = shared_count_of (peer, "/count/outage", 10);
  g_autoptr (CuratorSharedCount) count = shared_count_of (client, "/count/outage", 10);
  curator_shared_count_add_listener (count, note_value, &seen, NULL);
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_SUSPENDED, 1, LONG_MS));
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
  assert_counter (&seen.calls, 1, LONG_MS);
  wait_ms (100);
  assert_int_equal (g_atomic_int_get (&seen.calls), 1);
  assert_int_equal (curator_shared_count_get (count), 10);
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_SUSPENDED, 2, LONG_MS));
  set_count (setter, 11);
  set_count (setter, 12);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_counter (&seen.last, 12, LONG_MS);
  wait_ms (100);
  assert_int_equal (g_atomic_int_get (&seen.calls), 2);
  curator_client_close (client);
}

/* testDisconnectReconnectWithMultipleClients; the count is followed in a new session, too. As
 * SharedValue's, a listener hears every write, also of the same value, and after a reconnect. */
PAIR_TEST (test_reconnect_and_new_session)
{
  Seen ours = { 0 };
  Seen theirs = { 0 };
  g_autoptr (CuratorSharedCount) setter = shared_count_of (peer, "/count/every", 1);
  g_autoptr (CuratorSharedCount) count = shared_count_of (client, "/count/every", 1);
  curator_shared_count_add_listener (setter, note_value, &ours, NULL);
  curator_shared_count_add_listener (count, note_value, &theirs, NULL);
  for (int i = 1; i <= 5; i++) {
    set_count (setter, 7);
    assert_counter (&ours.calls, i, LONG_MS);
    assert_counter (&theirs.calls, i, LONG_MS);
  }
  proxy_cut (fixture->proxy);
  assert_counter (&theirs.calls, 6, LONG_MS);
  fixture_expire (fixture);
  assert_counter (&theirs.calls, 7, LONG_MS);
  set_count (setter, 8);
  assert_value (count, 8);
  assert_counter (&theirs.calls, 8, LONG_MS);
  assert_counter (&ours.calls, 6, LONG_MS);
  set_count (count, 9);
  assert_value (setter, 9);
  curator_shared_count_close (count);
  set_count (setter, 10);
  wait_ms (100);
  assert_int_equal (curator_shared_count_get (count), 9);
  curator_client_close (client);
}

CLIENT_TEST (test_no_version_is_refused)
{
  g_autoptr (GError) error = NULL;
  gboolean set = FALSE;
  g_autoptr (CuratorSharedCount) count = shared_count_of (client, "/count/version", 1);
  assert_false (
      curator_shared_count_try_set (count, -1, 2, &set, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
  assert_int_equal (curator_shared_count_get (count), 1);
}

/* The write succeeded and its answer was lost: set still returns TRUE. */
PROXY_TEST (test_try_set_answer_lost)
{
  gint32 version = 0;
  g_autoptr (CuratorSharedCount) count = shared_count_of (client, "/count/lost", 1);
  assert_true (curator_shared_count_get_versioned (count, NULL, &version));
  proxy_arm (fixture->proxy, PROXY_SET_DATA, 1, 1, PROXY_CUT_BEFORE_REPLY);
  assert_true (try_set (count, version, 2));
  assert_int_equal (proxy_fired (fixture->proxy), 1);
  assert_int_equal (curator_shared_count_get (count), 2);
}

CLIENT_TEST (test_unusable_payload_and_missing_node)
{
  g_autoptr (GError) error = NULL;
  raw_zk_make_path (fixture->raw, "/count");
  assert_int_equal (raw_zk_create (fixture->raw, "/count/short", "ab", ZOO_PERSISTENT, NULL), ZOK);
  g_autoptr (CuratorSharedCount) count = curator_shared_count_new (client, "/count/short", 7, NULL);
  assert_false (curator_shared_count_start (count, CURATOR_WAIT_DEFAULT, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
  assert_int_equal (curator_shared_count_get (count), 7);
}

static void
write_payload (Fixture *fixture, const char *path, const char *payload)
{
  const int reads = proxy_count (fixture->proxy, PROXY_GET_DATA);

  assert_int_equal (raw_zk_set (fixture->raw, path, payload), ZOK);
  assert_soon (proxy_count (fixture->proxy, PROXY_GET_DATA) > reads
               && four_letter_watchers_of (fixture_server (fixture), path) == 1);
}

/* Each write is read: the first that brings no count is warned of, and so is the next one after a
 * count. */
PROXY_TEST (test_payload_becomes_unusable)
{
  static const char *const counts[] = { "\1\1\1\1", "\2\2\2\2" };
  g_autoptr (CuratorSharedCount) count = shared_count_of (client, "/count/broken", 1);

  for (gsize round = 0; round < G_N_ELEMENTS (counts); round++) {
    (void) warnings_taken ();
    for (int i = 0; i < 5; i++)
      write_payload (fixture, "/count/broken", i % 2 == 0 ? "ab" : "");
    write_payload (fixture, "/count/broken", counts[round]);
    assert_value (count, 0x01010101 * ((gint32) round + 1));
    assert_int_equal (warnings_taken (), 1);
  }
}

/* Such a node is read several times a second. */
PROXY_TEST (test_node_becomes_unreadable)
{
  g_autoptr (CuratorSharedCount) count = shared_count_of (client, "/count/secret", 3);
  struct Stat stat;

  (void) warnings_taken ();
  assert_int_equal (
      raw_zk_set_world_acl (fixture->raw, "/count/secret", ZOO_PERM_ALL & ~ZOO_PERM_READ), ZOK);
  fixture_expire (fixture);
  proxy_reset_counts (fixture->proxy);
  assert_soon (proxy_count (fixture->proxy, PROXY_EXISTS) >= 5);
  /* Some servers say that it is there, and some nothing. */
  const gboolean is_shown = raw_zk_stat (fixture->raw, "/count/secret", &stat) == ZOK;
  assert_int_equal (warnings_taken (), is_shown);
  assert_int_equal (curator_shared_count_get (count), 3);
}

static gint32
version_of (CuratorSharedCount *count)
{
  gint32 version = 0;
  assert_true (curator_shared_count_get_versioned (count, NULL, &version));
  return version;
}

static void
note_lost (CuratorLease *lease, CuratorLeaseState state, gpointer user_data)
{
  if (state == CURATOR_LEASE_STATE_LOST)
    g_atomic_int_inc ((int *) user_data);
}

/* What docs/monitoring.md advises, with a hold whose holder has to hear of its loss. */
PROXY_TEST (test_started_again)
{
  g_autoptr (GError) error = NULL;
  int n_lost = 0;
  g_autoptr (CuratorSharedCount) count = shared_count_of (client, "/count/again", 3);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/count-holder");
  g_autoptr (CuratorLease) lease = curator_lock_acquire_lease (lock, LONG_MS, NULL, &error);
  assert_ok (lease != NULL, &error);
  curator_lease_add_listener (lease, note_lost, &n_lost, NULL);
  for (int i = 1; i <= 3; i++) {
    (void) warnings_taken ();
    set_count (count, 10 + i);
    assert_int_equal (raw_zk_delete (fixture->raw, "/count/again"), ZOK);
    assert_soon (warnings_taken () == 1);
    assert_int_equal (curator_shared_count_get (count), 10 + i);
    assert_ok (curator_shared_count_start (count, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
    assert_value (count, 3);
  }
  assert_soon (four_letter_watchers_of (fixture_server (fixture), "/count/again") == 1);
  fixture_expire (fixture);
  assert_counter (&n_lost, 1, LONG_MS);
  curator_client_close (client);
  assert_int_equal (g_atomic_int_get (&n_lost), 1);
}

/* By another client. While there is none, the node is waited for, and no longer than the count is
 * followed. */
PROXY_TEST (test_made_anew)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorSharedCount) count = shared_count_of (client, "/count/anew", 3);
  g_autoptr (CuratorSemaphore) semaphore =
      curator_semaphore_new_with_shared_count (client, "/count/anew-semaphore", count, &error);
  const gint32 former = version_of (count);

  assert_ok (semaphore != NULL, &error);
  for (int life = 0; life < 3; life++) {
    if (life == 1)
      proxy_cut (fixture->proxy);
    assert_int_equal (raw_zk_delete (fixture->raw, "/count/anew"), ZOK);
    if (life == 2)
      fixture_expire (fixture);
    assert_int_equal (raw_zk_create (fixture->raw, "/count/anew", "\1\1\1\1", ZOO_PERSISTENT, NULL),
                      ZOK);
    assert_value (count, 0x01010101);
    assert_false (try_set (count, former, 99));
    assert_true (try_set (count, version_of (count), 50 + life));
    assert_int_equal (curator_semaphore_get_max_leases (semaphore), 50 + life);
  }
  assert_int_equal (raw_zk_delete (fixture->raw, "/count/anew"), ZOK);
  assert_soon (four_letter_watchers_of (fixture_server (fixture), "/count/anew") == 1);
  curator_shared_count_close (count);
  assert_soon (four_letter_watchers_of (fixture_server (fixture), "/count/anew") == 0);
}

/* A larger number wakes waiters, even if another client set it; a smaller one revokes no lease. */
PAIR_TEST (test_p30_resize_while_running)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorSharedCount) setter = shared_count_of (peer, "/count/size", 0);
  g_autoptr (CuratorSharedCount) count = shared_count_of (client, "/count/size", 0);
  g_autoptr (CuratorSemaphore) semaphore =
      curator_semaphore_new_with_shared_count (client, "/count/semaphore", count, &error);
  assert_ok (semaphore != NULL, &error);
  Taking *takings[4];
  for (int i = 0; i < 4; i++) {
    takings[i] = taking_start (semaphore, 1, 60000, NULL);
    assert_children (fixture, "/count/semaphore/locks", i + 1, LONG_MS);
  }
  taking_assert_waits (takings[0]);
  for (int size = 1; size <= 3; size++) {
    set_count (setter, size);
    taking_assert_granted (takings[size - 1]);
    taking_assert_waits (takings[size]);
  }
  set_count (setter, 1);
  assert_value (count, 1);
  assert_int_equal (curator_semaphore_get_max_leases (semaphore), 1);
  for (int i = 0; i < 3; i++) {
    assert_int_equal (curator_lease_get_state (taking_lease (takings[i], 0)),
                      CURATOR_LEASE_STATE_HELD);
    taking_assert_waits (takings[3]);
    taking_give_back (takings[i]);
  }
  taking_assert_granted (takings[3]);
  taking_give_back (takings[3]);
  for (int i = 0; i < 4; i++)
    taking_free (takings[i]);
  assert_no_residue (fixture, "/count/semaphore/leases", LONG_MS);
}

int
main (void)
{
  warnings_count ("no shared count can be read");
  return suite_run ("shared count", fixture_start_calm, fixture_stop);
}
