/* The simulator's sessions open, expire and close like those of ZooKeeper and libzookeeper-mt. */
#include "sim_peer.h"

#include <string.h>

TEST (test_expiry)
{
  g_autoptr (Peer) a = peer_new_alone (4, 3);
  int timeout_ms;

  a->ops->session_id (a->ops, a->handle, &timeout_ms);
  assert_int_equal (timeout_ms, TIMEOUT_MS);
  assert_int_equal (finish (start_create (a, 'a', "/e", ZOO_EPHEMERAL)), ZOK);
  assert_int_equal (finish (start_create (a, 'b', "/p", ZOO_PERSISTENT)), ZOK);
  g_string_truncate (a->log, 0);

  /* Cut off for longer than the session timeout: the client learns of the expiry only when it
   * reconnects. */
  sim_world_strike (a->world, SIM_FAULT_OUTAGE, a->process, 12 * G_USEC_PER_SEC);
  sim_world_run_for (a->world, 5000);
  expect_log (a, "DOWN ");
  assert_true (sim_world_exists (a->world, "/e"));
  sim_world_run_for (a->world, 5000);
  assert_false (sim_world_exists (a->world, "/e"));
  assert_true (sim_world_exists (a->world, "/p"));
  expect_log (a, "");
  sim_world_run_for (a->world, 8000);
  expect_log (a, "EXPIRED ");

  g_autoptr (Call) call = call_new (a, 'z');
  int rc = a->ops->remove (a->ops, a->handle, "/p", -1, &call->ticket);
  assert_int_equal (rc, ZINVALIDSTATE);
}

TEST (test_expiry_fails_queued_requests)
{
  guint n_lost = 0;

  for (guint32 seed = 0; seed < 60; seed++) {
    g_autoptr (Call) queued = NULL;
    g_autoptr (Peer) a = peer_new_alone (seed, 3);

    sim_world_strike (a->world, SIM_FAULT_EXPIRE, a->process, 0);
    for (int ms = 0; !strstr (a->log->str, "DOWN"); ms = 1)
      sim_world_run_for (a->world, ms);
    queued = strstr (a->log->str, "EXPIRED") ? NULL : start_remove (a, 'q', "/nothing");
    settle (a);
    assert_non_null (strstr (a->log->str, "DOWN EXPIRED "));
    if (queued != NULL && !queued->done)
      n_lost++;
    if (queued != NULL && queued->done)
      assert_int_equal (queued->rc, ZSESSIONEXPIRED);
    g_autoptr (Call) late = call_new (a, 'x');
    int rc = a->ops->remove (a->ops, a->handle, "/nothing", -1, &late->ticket);
    assert_int_equal (rc, ZINVALIDSTATE);
  }
  /* Some completions never arrive. */
  assert_true (n_lost > 0 && n_lost < 60);
}

TEST (test_close_ends_the_session)
{
  g_autoptr (Peer) b = peer_new_alone (5, 3);
  g_autoptr (Peer) a = peer_new (b->world, "B");

  assert_int_equal (finish (start_create (a, 'a', "/a", ZOO_EPHEMERAL)), ZOK);
  assert_int_equal (finish (start_create (b, 'b', "/b", ZOO_EPHEMERAL)), ZOK);
  g_clear_pointer (&a, peer_free);
  settle (b);
  assert_false (sim_world_exists (b->world, "/a"));

  /* Without a connection the close reaches no server. */
  sim_world_strike (b->world, SIM_FAULT_OUTAGE, b->process, 60 * G_USEC_PER_SEC);
  peer_close (b);
  sim_world_run_for (b->world, 1000);
  assert_true (sim_world_exists (b->world, "/b"));
  sim_world_run_for (b->world, 10000);
  assert_false (sim_world_exists (b->world, "/b"));
}

TEST (test_close_loses_completions)
{
  guint n_done = 0;
  guint n_executed = 0;

  for (guint32 seed = 0; seed < 200; seed++) {
    g_autoptr (Peer) a = peer_new_alone (seed, 3);
    g_autoptr (Call) call = start_create (a, 'c', "/c", ZOO_PERSISTENT);

    peer_close (a);
    if (call->done) {
      assert_int_equal (call->rc, ZCLOSING);
      n_done++;
    }
    sim_world_run_for (a->world, 1000);
    n_executed += sim_world_exists (a->world, "/c") ? 1 : 0;
  }
  assert_true (n_done > 20 && n_done < 180);
  assert_true (n_executed > 20);
}

TEST (test_bad_auth)
{
  g_autoptr (Peer) a = peer_new_alone (6, 3);

  peer_close (a);
  peer_open (a);
  a->ops->add_auth (a->ops, a->handle, "nonsense", "x", 1);
  settle (a);
  expect_log (a, "AUTH ");
}

SIM_SUITE ("test_sim_self_sessions")
