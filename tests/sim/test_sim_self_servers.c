/* The simulator's servers that lag, or have no quorum, behave like ZooKeeper's. */
#include "sim_peer.h"

#include <string.h>

TEST (test_lagging_server)
{
  g_autoptr (Peer) a = peer_new_alone (12, 3);

  sim_process_move (a->process, 1);
  settle (a);
  assert_int_equal (sim_process_server (a->process), 1);
  sim_world_strike (a->world, SIM_FAULT_LAG, a->process, 2 * G_USEC_PER_SEC);
  sim_world_put (a->world, "/n", "", ZOO_PERSISTENT);
  assert_int_equal (finish (start_read (a, 'e', SIM_OP_EXISTS, "/n", FALSE)), ZNONODE);
  Call *sync = start_read (a, 's', SIM_OP_SYNC, "/", FALSE);
  sim_world_run_for (a->world, 1000);
  assert_false (sync->done);
  assert_int_equal (finish (sync), ZOK);
  assert_int_equal (finish (start_read (a, 'e', SIM_OP_EXISTS, "/n", FALSE)), ZOK);
}

TEST (test_never_back_in_time)
{
  g_autoptr (Peer) a = peer_new_alone (13, 2);
  g_autoptr (Peer) b = peer_new (a->world, "B");

  sim_process_move (a->process, 0);
  sim_process_move (b->process, 1);
  settle (a);
  assert_int_equal (sim_process_server (a->process), 0);
  assert_int_equal (sim_process_server (b->process), 1);
  sim_world_strike (a->world, SIM_FAULT_LAG, b->process, 60 * G_USEC_PER_SEC);
  assert_int_equal (finish (start_create (a, 'c', "/n", ZOO_PERSISTENT)), ZOK);
  sim_process_move (a->process, 1);
  settle (a);
  assert_int_equal (sim_process_server (a->process), 0);
}

static void
expect_two_believers (SimFault fault, int sync_rc)
{
  g_autoptr (Peer) a = peer_new_alone (14, 3);
  Call *check;
  Call *sync;

  assert_int_equal (finish (start_create (a, 'c', "/e", ZOO_EPHEMERAL)), ZOK);
  g_string_truncate (a->log, 0);
  sim_world_strike (a->world, fault, a->process, 30 * G_USEC_PER_SEC);
  sim_world_run_for (a->world, 9000);
  if (sim_process_server (a->process) >= 0) {
    assert_false (sim_world_exists (a->world, "/e"));
    expect_log (a, "");
    assert_int_equal (finish (start_read (a, 'e', SIM_OP_EXISTS, "/e", FALSE)), ZOK);
    sync = start_read (a, 's', SIM_OP_SYNC, "/", FALSE);
    settle (a);
    assert_int_equal (sync->done, sync_rc == ZOK);
    check = start_check (a, 'k', "/e", NULL);
    sim_world_run_for (a->world, 1000);
    assert_false (check->done);
    sim_world_run_for (a->world, 40000);
    assert_true (check->done && check->rc != ZOK);
    call_free (check);
    call_free (sync);
    assert_non_null (strstr (a->log->str, "EXPIRED"));
  }
}

/* A server without a quorum still shows a node whose session has expired; only a check fails. */
TEST (test_server_without_quorum)
{
  expect_two_believers (SIM_FAULT_CUT, ZCONNECTIONLOSS);
  expect_two_believers (SIM_FAULT_LIAR, ZOK);
}

SIM_SUITE ("test_sim_self_servers")
