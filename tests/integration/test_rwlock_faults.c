/* Read-write locks under faults: no residue, and no thread owns a lost hold. */
#include "support/held_lease.h"
#include "taking.h"

#define SETTLE_MS 20000 /* no session expires meanwhile */

typedef CuratorLock *(*Side) (CuratorRwLock *rw_lock);

static const Side sides[] = { curator_rw_lock_read_lock, curator_rw_lock_write_lock };

static void
test_p13_timeout_and_cancel_leave_nothing (void **state)
{
  Fixture *fixture = *state;
  const char *path = "/rwf/gave-up";
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, path);
  g_autoptr (Taking) held = taking_of_lock (curator_rw_lock_write_lock (rw_lock));
  for (gsize i = 0; i < G_N_ELEMENTS (sides); i++)
    {
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      g_autoptr (Taking) late = taking_start_lock (sides[i](rw_lock), 1000, NULL);
      assert_true (taking_wait (late, LONG_MS));
      assert_curator_error (&late->error, CURATOR_ERROR_TIMED_OUT);
      g_autoptr (Taking) try = taking_start_lock (sides[i](rw_lock), 0, NULL);
      assert_true (taking_wait (try, LONG_MS));
      assert_curator_error (&try->error, CURATOR_ERROR_TIMED_OUT);
      assert_children (fixture, path, 1, SETTLE_MS);
      g_autoptr (Taking) cancelled =
          taking_start_lock (sides[i](rw_lock), CURATOR_WAIT_FOREVER, cancellable);
      assert_children (fixture, path, 2, LONG_MS);
      g_cancellable_cancel (cancellable);
      assert_true (taking_wait (cancelled, 2000));
      assert_error (&cancelled->error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
      assert_children (fixture, path, 1, SETTLE_MS);
    }
  taking_give_back (held);
  assert_no_residue (fixture, path, SETTLE_MS);
}

/* A writer that gives up must no longer block the readers behind it. */
static void
test_readers_pass_when_the_writer_leaves (void **state)
{
  Fixture *fixture = *state;
  const char *path = "/rwf/leaves";
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, path);
  g_autoptr (Taking) reader = taking_of_lock (curator_rw_lock_read_lock (rw_lock));
  g_autoptr (Taking) writer = taking_start_lock (curator_rw_lock_write_lock (rw_lock), 1500, NULL);
  assert_children (fixture, path, 2, LONG_MS);
  g_autoptr (Taking) behind =
      taking_start_lock (curator_rw_lock_read_lock (rw_lock), LONG_MS, NULL);
  taking_assert_waits (behind);
  assert_true (taking_wait (writer, LONG_MS));
  assert_curator_error (&writer->error, CURATOR_ERROR_TIMED_OUT);
  taking_assert_granted (behind);
  assert_int_equal (curator_lease_get_state (taking_lease (reader, 0)), CURATOR_LEASE_HELD);
  taking_give_back (reader);
  taking_give_back (behind);
  assert_no_residue (fixture, path, SETTLE_MS);
}

static void
test_close_wakes_and_frees (void **state)
{
  Fixture *fixture = *state;
  const char *path = "/rwf/close";
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, path);
  g_autoptr (Taking) held = taking_of_lock (curator_rw_lock_read_lock (rw_lock));
  g_autoptr (Contender) writer =
      contender_start (curator_rw_lock_write_lock (rw_lock), CURATOR_WAIT_FOREVER, NULL);
  assert_children (fixture, path, 2, LONG_MS);
  g_autoptr (Contender) reader =
      contender_start (curator_rw_lock_read_lock (rw_lock), CURATOR_WAIT_FOREVER, NULL);
  assert_children (fixture, path, 3, LONG_MS);
  curator_client_close (client);
  assert_true (contender_wait (writer, 2000));
  assert_curator_error (&writer->error, CURATOR_ERROR_CLOSED);
  assert_true (contender_wait (reader, 2000));
  assert_curator_error (&reader->error, CURATOR_ERROR_CLOSED);
  assert_lease_state (taking_lease (held, 0), CURATOR_LEASE_LOST, 2000);
  assert_no_residue (fixture, path, SETTLE_MS);
}

/* Both sides wait in a session that ends; both are granted in the next one. */
static void
test_p12_waiters_in_a_session_that_ends (void **state)
{
  Fixture *fixture = *state;
  const char *path = "/rwf/expiry";
  g_autoptr (CuratorClient) direct = client_connect (fixture_server (fixture));
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorRwLock) theirs = rw_lock_new (direct, path);
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, path);
  g_autoptr (Taking) holder = taking_of_lock (curator_rw_lock_write_lock (theirs));
  g_autoptr (Taking) reader = taking_start_lock (curator_rw_lock_read_lock (rw_lock), 60000, NULL);
  assert_children (fixture, path, 2, LONG_MS);
  g_autoptr (Taking) writer = taking_start_lock (curator_rw_lock_write_lock (rw_lock), 60000, NULL);
  assert_children (fixture, path, 3, LONG_MS);
  gint64 dead = fixture_expire (fixture);
  taking_give_back (holder);
  /* Their order may have changed, but they still exclude each other. */
  for (int i = 0; i < 2; i++)
    {
      for (gint64 end = wait_now_ms () + LONG_MS;
           wait_now_ms () < end && !taking_has_returned (reader) && !taking_has_returned (writer);)
        {
          wait_ms (2);
        }
      Taking *granted = taking_has_returned (reader) ? reader : writer;
      Taking *other = granted == reader ? writer : reader;
      taking_assert_granted (granted);
      if (i == 0)
        taking_assert_waits (other);
      assert_int_not_equal (curator_lease_get_session_id (taking_lease (granted, 0)), dead);
      taking_give_back (granted);
      taking_assert_granted (other);
      if (i == 0)
        taking_give_back (other);
    }
  assert_no_residue (fixture, path, SETTLE_MS);
}

/* A writer whose session has expired must not be granted the read lock by its old write hold. */
static void
test_p23_stale_writer_cannot_read (void **state)
{
  Fixture *fixture = *state;
  const char *path = "/rwf/stale";
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) direct = client_connect (fixture_server (fixture));
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (StateLog) log = state_log_new (client);
  g_autoptr (CuratorRwLock) theirs = rw_lock_new (direct, path);
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, path);
  CuratorLock *read = curator_rw_lock_read_lock (rw_lock);
  CuratorLock *write = curator_rw_lock_write_lock (rw_lock);
  assert_ok (curator_lock_acquire (write, LONG_MS, NULL, &error), &error);
  g_autoptr (Taking) next = taking_start_lock (curator_rw_lock_write_lock (theirs), LONG_MS, NULL);
  assert_children (fixture, path, 2, LONG_MS);
  fixture_expire (fixture);
  taking_assert_granted (next);
  assert_true (state_log_wait (log, CURATOR_STATE_RECONNECTED, 1, LONG_MS));
  assert_false (curator_lock_acquire (read, 1000, NULL, &error));
  assert_curator_error (&error, CURATOR_ERROR_LOCK_LOST);
  assert_children (fixture, path, 1, SETTLE_MS);
  assert_ok (curator_lock_release (write, 0, NULL, &error), &error);
  g_autoptr (Taking) reader = taking_start_lock (read, LONG_MS, NULL);
  taking_assert_waits (reader);
  taking_give_back (next);
  taking_assert_granted (reader);
  taking_give_back (reader);
  assert_no_residue (fixture, path, SETTLE_MS);
  curator_client_close (client);
}

/* The session expires before the writer's read node is created, and the client does not know
 * yet. */
static void
test_p23_session_ends_before_the_downgrade (void **state)
{
  Fixture *fixture = *state;
  const char *path = "/rwf/between";
  g_autoptr (GError) error = NULL;
  gint64 dead = 0;
  g_autoptr (CuratorClient) direct = client_connect (fixture_server (fixture));
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorRwLock) theirs = rw_lock_new (direct, path);
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, path);
  CuratorLock *write = curator_rw_lock_write_lock (rw_lock);
  assert_ok (curator_lock_acquire (write, LONG_MS, NULL, &error), &error);
  g_autoptr (Taking) next = taking_start_lock (curator_rw_lock_write_lock (theirs), LONG_MS, NULL);
  assert_children (fixture, path, 2, LONG_MS);
  /* This client detects the expiry of its session only by its own clock. */
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  assert_true (expire_last_session (fixture->proxy, fixture_server (fixture), &dead));
  taking_assert_granted (next);
  assert_false (curator_lock_acquire (curator_rw_lock_read_lock (rw_lock), 300, NULL, &error));
  assert_non_null (error);
  g_clear_error (&error);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_lease_state (held_lease (write), CURATOR_LEASE_LOST, LONG_MS);
  assert_ok (curator_lock_release (write, 0, NULL, &error), &error);
  taking_give_back (next);
  assert_no_residue (fixture, path, SETTLE_MS);
}

/* Cuts the connection at every request in turn of a contended acquire of either side, and of a
 * downgrade. */
static gboolean
cut_at (Fixture *fixture, CuratorClient *direct, gboolean writes, int k, ProxyAction action)
{
  g_autofree char *path = g_strdup_printf ("/rwf/sweep-%d-%d-%d", (int) action, writes, k);
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorRwLock) theirs = rw_lock_new (direct, path);
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, path);
  CuratorLock *read = curator_rw_lock_read_lock (rw_lock);
  CuratorLock *write = curator_rw_lock_write_lock (rw_lock);
  raw_zk_make_path (fixture->raw, path);
  g_autoptr (Contender) holder =
      contender_start (curator_rw_lock_write_lock (theirs), LONG_MS, NULL);
  assert_true (contender_wait (holder, LONG_MS));
  contender_tell_release (holder);
  proxy_arm (fixture->proxy, PROXY_ANY_REQUEST, k, 1, action);
  assert_ok (curator_lock_acquire (writes ? write : read, LONG_MS, NULL, &error), &error);
  if (writes)
    {
      assert_ok (curator_lock_acquire (read, LONG_MS, NULL, &error), &error);
      assert_children (fixture, path, 2, SETTLE_MS);
      if (!curator_lock_release (write, 0, NULL, &error))
        assert_curator_error (&error, CURATOR_ERROR_RELEASE_PENDING);
    }
  assert_children (fixture, path, 1, SETTLE_MS);
  CuratorLease *lease = held_lease (read);
  assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_HELD);
  assert_int_equal (raw_zk_owner (fixture->raw, curator_lease_get_node_path (lease)),
                    curator_client_get_session_id (client));
  if (!curator_lock_release (read, 0, NULL, &error))
    assert_curator_error (&error, CURATOR_ERROR_RELEASE_PENDING);
  gboolean fired = proxy_fired (fixture->proxy) > 0;
  proxy_disarm (fixture->proxy);
  assert_no_residue (fixture, path, SETTLE_MS);
  return fired;
}

static void
sweep (Fixture *fixture, ProxyAction action)
{
  g_autoptr (CuratorClient) direct = client_connect (fixture_server (fixture));
  for (int writes = 0; writes < 2; writes++)
    {
      int k = 1;
      while (k <= 20 && cut_at (fixture, direct, writes, k, action))
        k++;
      print_message ("%s: cut at each of %d requests\n", writes ? "downgrade" : "read", k - 1);
      assert_true (k > 3);
    }
}

static void
test_sweep_cut_before (void **state)
{
  sweep (*state, PROXY_CUT_BEFORE);
}

static void
test_sweep_cut_before_reply (void **state)
{
  sweep (*state, PROXY_CUT_BEFORE_REPLY);
}

/* Foreign children block neither side. */
static void
test_p8_foreign_children (void **state)
{
  Fixture *fixture = *state;
  const char *path = "/rwf/foreign";
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorRwLock) rw_lock = rw_lock_new (client, path);
  raw_zk_make_path (fixture->raw, path);
  const char *const names[] = { "0", "aaa", "__WRIT__", "x__READ__0", "x__WRIT__-1" };
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *child = g_strconcat (path, "/", names[i], NULL);
      assert_int_equal (raw_zk_create (fixture->raw, child, NULL, ZOO_PERSISTENT, NULL), ZOK);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (sides); i++)
    {
      g_autoptr (Taking) taking = taking_of_lock (sides[i](rw_lock));
      g_auto (GStrv) nodes =
          curator_lock_get_participant_nodes (sides[i](rw_lock), 0, NULL, &error);
      assert_ok (nodes != NULL, &error);
      assert_int_equal (g_strv_length (nodes), 1);
      taking_give_back (taking);
    }
  assert_children (fixture, path, G_N_ELEMENTS (names), SETTLE_MS);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    heal_and_test (test_p13_timeout_and_cancel_leave_nothing),
    heal_and_test (test_readers_pass_when_the_writer_leaves),
    heal_and_test (test_close_wakes_and_frees),
    heal_and_test (test_p12_waiters_in_a_session_that_ends),
    heal_and_test (test_p23_stale_writer_cannot_read),
    heal_and_test (test_p23_session_ends_before_the_downgrade),
    heal_and_test (test_sweep_cut_before),
    heal_and_test (test_sweep_cut_before_reply),
    heal_and_test (test_p8_foreign_children),
  };
  return cmocka_run_group_tests_name ("read-write lock faults", tests, fixture_start_calm,
                                      fixture_stop);
}
