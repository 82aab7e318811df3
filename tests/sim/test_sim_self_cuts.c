/* The simulator's broken connections behave like those of ZooKeeper and libzookeeper-mt. */
#include "sim_peer.h"

#include <string.h>

TEST (test_cut_delivers_event_then_failures_in_order)
{
  for (guint32 seed = 0; seed < 200; seed++) {
    g_autoptr (Peer) a = peer_new_alone (seed, 3);
    g_autoptr (Call) one = start_create (a, '1', "/one", ZOO_PERSISTENT);
    g_autoptr (Call) two = start_create (a, '2', "/two", ZOO_PERSISTENT);

    sim_world_run_for (a->world, 1);
    sim_world_strike (a->world, SIM_FAULT_DROP, a->process, 0);
    g_autoptr (Call) three = start_read (a, '3', SIM_OP_EXISTS, "/", FALSE);
    settle (a);
    assert_true (one->done && two->done && three->done);
    char *down = strstr (a->log->str, "DOWN ");
    assert_non_null (down);
    assert_ptr_equal (strstr (down, "UP 3:0"), strstr (a->log->str, "UP"));
    assert_true (strstr (a->log->str, "1:") < strstr (a->log->str, "2:"));
    assert_true (one->rc == ZOK || one->rc == ZCONNECTIONLOSS || one->rc == ZOPERATIONTIMEOUT);
    assert_true ((one->rc == ZOK) == (strstr (a->log->str, "1:") < down));
  }
}

TEST (test_effect_after_the_cut)
{
  guint late = 0;
  guint never = 0;

  for (guint32 seed = 0; seed < 300; seed++) {
    g_autoptr (Peer) a = peer_new_alone (seed, 3);
    g_autoptr (Call) call = start_create (a, 'c', "/c", ZOO_PERSISTENT);

    sim_world_strike (a->world, SIM_FAULT_OUTAGE, a->process, G_USEC_PER_SEC);
    sim_world_run_for (a->world, 0);
    assert_true (call->done);
    assert_true (call->rc < 0);
    if (!sim_world_exists (a->world, "/c")) {
      sim_world_run_for (a->world, 500);
      late += sim_world_exists (a->world, "/c") ? 1 : 0;
      never += sim_world_exists (a->world, "/c") ? 0 : 1;
    }
  }
  assert_true (late > 10);
  assert_true (never > 10);
}

TEST (test_scripts)
{
  g_autoptr (Peer) a = peer_new_alone (7, 3);

  sim_world_script (a->world, NULL, SIM_OP_CREATE, 1, ZCONNECTIONLOSS, SIM_BEFORE_EFFECT);
  sim_world_script (a->world, a->process, SIM_OP_CREATE, 2, ZOPERATIONTIMEOUT, SIM_AFTER_EFFECT);
  sim_world_script (a->world, a->process, SIM_OP_REMOVE, 1, ZSYSTEMERROR, SIM_AFTER_EFFECT);
  sim_world_script (a->world, a->process, SIM_OP_REMOVE, 2, ZSESSIONMOVED, SIM_BEFORE_EFFECT);
  sim_world_script (a->world, a->process, SIM_OP_REMOVE, 3, ZMARSHALLINGERROR, SIM_AT_SUBMIT);
  sim_world_script (a->world, a->process, SIM_OP_SYNC, 1, ZSESSIONEXPIRED, SIM_AFTER_EFFECT);
  assert_int_equal (finish (start_create (a, 'a', "/a", ZOO_PERSISTENT)), ZCONNECTIONLOSS);
  assert_false (sim_world_exists (a->world, "/a"));
  assert_int_equal (finish (start_create (a, 'a', "/a", ZOO_PERSISTENT)), ZOPERATIONTIMEOUT);
  assert_true (sim_world_exists (a->world, "/a"));
  assert_int_equal (finish (start_remove (a, 'r', "/a")), ZSYSTEMERROR);
  assert_false (sim_world_exists (a->world, "/a"));
  sim_world_put (a->world, "/a", "", ZOO_PERSISTENT);
  assert_int_equal (finish (start_remove (a, 'r', "/a")), ZSESSIONMOVED);
  assert_true (sim_world_exists (a->world, "/a"));
  Call *call = call_new (a, 'r');
  int rc = a->ops->remove (a->ops, a->handle, "/a", -1, &call->ticket);
  assert_int_equal (rc, ZMARSHALLINGERROR);
  call_free (call);
  assert_int_equal (sim_world_n_requests (a->world, NULL, SIM_OP_REMOVE), 3);
  assert_int_equal (finish (start_create (a, 'e', "/e", ZOO_EPHEMERAL)), ZOK);
  finish (start_read (a, 's', SIM_OP_SYNC, "/", FALSE));
  settle (a);
  assert_false (sim_world_exists (a->world, "/e"));
  assert_non_null (strstr (a->log->str, "EXPIRED "));
}

TEST (test_silence)
{
  for (guint32 seed = 0; seed < 50; seed++) {
    g_autoptr (Peer) a = peer_new_alone (seed, 3);

    assert_int_equal (finish (start_create (a, 'a', "/e", ZOO_EPHEMERAL)), ZOK);
    g_string_truncate (a->log, 0);
    gint64 before = a->world->now;
    sim_world_strike (a->world, SIM_FAULT_SILENT, a->process, 30 * G_USEC_PER_SEC);
    G_GNUC_UNUSED g_autoptr (Call) call = start_create (a, 'b', "/b", ZOO_PERSISTENT);
    sim_world_run_for (a->world, TIMEOUT_MS / 3 - 1);
    expect_log (a, "");
    sim_world_run_for (a->world, TIMEOUT_MS / 3 + 1);
    assert_true (g_str_has_prefix (a->log->str, "DOWN b:-7 "));
    assert_false (sim_world_exists (a->world, "/b"));
    assert_true (a->world->now - before < TIMEOUT_MS * 1000);
  }
}

TEST (test_deafness_heals)
{
  g_autoptr (Peer) a = peer_new_alone (8, 3);

  sim_world_strike (a->world, SIM_FAULT_DEAF, a->process, 1500 * 1000);
  Call *call = start_create (a, 'b', "/b", ZOO_PERSISTENT);
  sim_world_run_for (a->world, 1000);
  assert_true (sim_world_exists (a->world, "/b"));
  assert_false (call->done);
  sim_world_run_for (a->world, 1000);
  assert_int_equal (finish (call), ZOK);
  expect_log (a, "b:0 ");
}

TEST (test_quiet_cut_and_duplicate)
{
  g_autoptr (Peer) a = peer_new_alone (9, 3);

  sim_world_strike (a->world, SIM_FAULT_DUPLICATE, a->process, 0);
  settle (a);
  expect_log (a, "UP ");
  sim_world_strike (a->world, SIM_FAULT_DROP_QUIET, a->process, 0);
  settle (a);
  expect_log (a, "UP ");
}

SIM_SUITE ("test_sim_self_cuts")
