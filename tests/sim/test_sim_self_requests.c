/* The order, modes and errors of the simulator's requests are those of ZooKeeper. */
#include "sim_peer.h"

TEST (test_create_and_list_in_one_go)
{
  for (guint32 seed = 0; seed < 300; seed++) {
    g_autoptr (Peer) a = peer_new_alone (seed, 3);

    sim_world_put (a->world, "/l", "", ZOO_CONTAINER);
    assert_int_equal (finish (start_read (a, 's', SIM_OP_SYNC, "/", FALSE)), ZOK);
    g_string_truncate (a->log, 0);
    g_autoptr (Call) create = start_create (a, 'c', "/l/n-", ZOO_EPHEMERAL_SEQUENTIAL);
    g_autoptr (Call) list = start_read (a, 'l', SIM_OP_CHILDREN, "/l", FALSE);
    settle (a);
    expect_log (a, "c:0 l:0 ");
    assert_string_equal (create->path, "/l/n-0000000000");
    assert_true (create->stat.ephemeralOwner == a->session);
    assert_string_equal (list->children[0], "n-0000000000");
    assert_null (list->children[1]);
  }
}

TEST (test_modes_and_errors)
{
  g_autoptr (Peer) a = peer_new_alone (1, 1);

  assert_int_equal (finish (start_create (a, 'a', "/p", ZOO_CONTAINER)), ZOK);
  assert_int_equal (finish (start_create (a, 'a', "/p", ZOO_CONTAINER)), ZNODEEXISTS);
  assert_int_equal (finish (start_create (a, 'a', "/q/r", ZOO_PERSISTENT)), ZNONODE);
  assert_int_equal (finish (start_create (a, 'a', "/p/e", ZOO_EPHEMERAL)), ZOK);
  assert_int_equal (finish (start_create (a, 'a', "/p/e/f", ZOO_PERSISTENT)),
                    ZNOCHILDRENFOREPHEMERALS);
  assert_int_equal (finish (start_remove (a, 'r', "/p")), ZNOTEMPTY);
  assert_int_equal (finish (start_create (a, 'a', "/p/s-", ZOO_PERSISTENT_SEQUENTIAL)), ZOK);
  assert_true (sim_world_exists (a->world, "/p/s-0000000001"));
  assert_int_equal (finish (start_remove (a, 'r', "/p/s-0000000001")), ZOK);
  assert_int_equal (finish (start_remove (a, 'r', "/p/s-0000000001")), ZNONODE);

  Call *call = start_read (a, 'g', SIM_OP_EXISTS, "/p", FALSE);
  settle (a);
  assert_int_equal (call->stat.cversion, 3);
  assert_int_equal (call->stat.numChildren, 1);
  assert_true (call->stat.ephemeralOwner == 0);
  call_free (call);

  call = call_new (a, 's');
  assert_int_equal (a->ops->set (a->ops, a->handle, "/p", "new", 3, 7, &call->ticket), ZOK);
  assert_int_equal (finish (call), ZBADVERSION);
  call = start_read (a, 'g', SIM_OP_GET, "/p", FALSE);
  settle (a);
  assert_string_equal (call->data, "x");
  call_free (call);

  call = call_new (a, 'b');
  assert_int_equal (a->ops->remove (a->ops, a->handle, "/p/", -1, &call->ticket), ZBADARGUMENTS);
  call_free (call);
  sim_world_set_noauth (a->world, "/p");
  assert_int_equal (finish (start_read (a, 'g', SIM_OP_GET, "/p/e", FALSE)), ZNOAUTH);
  assert_int_equal (finish (start_read (a, 'g', SIM_OP_EXISTS, "/p/e", FALSE)), ZOK);
  peer_close (a);
  sim_world_run_for (a->world, 100);
  assert_false (sim_world_exists (a->world, "/p/e"));
}

TEST (test_multi_of_checks)
{
  g_autoptr (Peer) a = peer_new_alone (2, 3);

  assert_int_equal (finish (start_create (a, 'a', "/a", ZOO_EPHEMERAL)), ZOK);
  assert_int_equal (finish (start_check (a, 'k', "/a", NULL)), ZOK);
  g_autoptr (Call) call = start_check (a, 'k', "/a", "/b");
  settle (a);
  assert_int_equal (call->rc, ZNONODE);
  assert_int_equal (call->failed_index, 1);
}

TEST (test_reaper_resets_the_counter)
{
  g_autoptr (Peer) a = peer_new_alone (3, 2);

  assert_int_equal (finish (start_create (a, 'a', "/p", ZOO_CONTAINER)), ZOK);
  sim_world_strike (a->world, SIM_FAULT_REAP, NULL, 0);
  assert_true (sim_world_exists (a->world, "/p"));
  assert_int_equal (finish (start_create (a, 'a', "/p/n", ZOO_EPHEMERAL_SEQUENTIAL)), ZOK);
  sim_world_strike (a->world, SIM_FAULT_REAP, NULL, 0);
  assert_int_equal (finish (start_remove (a, 'r', "/p/n0000000000")), ZOK);
  sim_world_strike (a->world, SIM_FAULT_REAP, NULL, 0);
  assert_false (sim_world_exists (a->world, "/p"));
  assert_int_equal (finish (start_create (a, 'a', "/p", ZOO_CONTAINER)), ZOK);
  assert_int_equal (finish (start_create (a, 'a', "/p/n", ZOO_EPHEMERAL_SEQUENTIAL)), ZOK);
  assert_true (sim_world_exists (a->world, "/p/n0000000000"));

  /* The counter stays at its maximum. */
  sim_world_set_counter (a->world, "/p", G_MAXINT32);
  assert_int_equal (finish (start_create (a, 'a', "/p/n", ZOO_EPHEMERAL_SEQUENTIAL)), ZOK);
  assert_int_equal (finish (start_create (a, 'a', "/p/n", ZOO_EPHEMERAL_SEQUENTIAL)), ZNODEEXISTS);
  assert_int_equal (finish (start_create (a, 'a', "/p/m", ZOO_EPHEMERAL_SEQUENTIAL)), ZOK);
  assert_true (sim_world_exists (a->world, "/p/m2147483647"));
}

SIM_SUITE ("test_sim_self_requests")
