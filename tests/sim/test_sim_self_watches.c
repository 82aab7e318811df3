/* The simulator's watches behave like those of ZooKeeper and libzookeeper-mt. */
#include "sim_peer.h"

#include <string.h>

TEST (test_watch_event_precedes_the_new_state)
{
  for (guint32 seed = 0; seed < 300; seed++) {
    g_autoptr (Peer) a = peer_new_alone (seed, 3);
    g_autoptr (Peer) b = peer_new (a->world, "B");

    finish (start_create (a, 'c', "/n", ZOO_PERSISTENT));
    finish (start_read (b, 's', SIM_OP_SYNC, "/", FALSE));
    assert_int_equal (finish (start_read (b, 'g', SIM_OP_GET, "/n", TRUE)), ZOK);
    g_string_truncate (b->log, 0);
    sim_world_delete (a->world, "/n");
    for (int i = 0; i < 4; i++) {
      int rc = finish (start_read (b, 'e', SIM_OP_EXISTS, "/n", FALSE));

      assert_true (rc == ZOK || rc == ZNONODE);
    }
    char *deleted = strstr (b->log->str, "deleted/n ");
    char *list = strstr (b->log->str, "e:-101 ");
    assert_non_null (deleted);
    assert_non_null (list);
    assert_true (deleted < list);
  }
}

typedef struct
{
  const char *what;
  SimOp op;
  gboolean there_before;
  const char *expected;
} Away;

static void
while_away (SimWorld *world, const char *what)
{
  if (strstr (what, "delete"))
    sim_world_delete (world, "/w/n");
  if (strstr (what, "create"))
    sim_world_put (world, "/w/n", "new", ZOO_PERSISTENT);
  if (strstr (what, "set"))
    sim_world_put (world, "/w/n", "changed", ZOO_PERSISTENT);
  if (strstr (what, "vanish"))
    sim_world_delete (world, "/w/n");
}

/* The event that a watch delivers after a reconnect, to whichever server. */
TEST (test_watches_over_a_reconnect)
{
  static const Away table[] = {
    { "delete", SIM_OP_GET, TRUE, "UP deleted/w/n " },
    { "delete", SIM_OP_EXISTS, TRUE, "UP deleted/w/n " },
    { "set", SIM_OP_GET, TRUE, "UP changed/w/n " },
    { "delete, create", SIM_OP_GET, TRUE, "UP changed/w/n " },
    { "create", SIM_OP_EXISTS, FALSE, "UP created/w/n " },
    { "create, vanish", SIM_OP_EXISTS, FALSE, "UP " },
    { "delete", SIM_OP_CHILDREN, TRUE, "UP child/w " },
    { "nothing", SIM_OP_GET, TRUE, "UP " },
  };

  for (guint i = 0; i < G_N_ELEMENTS (table) * 20; i++) {
    const Away *row = &table[i % G_N_ELEMENTS (table)];
    g_autoptr (Peer) a = peer_new_alone (i, 3);

    sim_world_put (a->world, "/w", "", ZOO_PERSISTENT);
    if (row->there_before)
      sim_world_put (a->world, "/w/n", "", ZOO_PERSISTENT);
    finish (start_read (a, 's', SIM_OP_SYNC, "/", FALSE));
    finish (start_read (a, 'w', row->op, row->op == SIM_OP_CHILDREN ? "/w" : "/w/n", TRUE));
    assert_int_equal (sim_process_server_watches (a->process), 1);
    sim_world_strike (a->world, SIM_FAULT_OUTAGE, a->process, G_USEC_PER_SEC);
    a->process->prefer_server = (int) (i / 3) % 3;
    sim_world_run_for (a->world, 10);
    assert_int_equal (sim_process_server_watches (a->process), 0);
    g_string_truncate (a->log, 0);
    while_away (a->world, row->what);
    sim_world_run_for (a->world, 6000);
    guint expected_watches = strcmp (row->expected, "UP ") == 0 ? 1 : 0;
    expect_log (a, row->expected);
    assert_int_equal (sim_process_server_watches (a->process), expected_watches);
    assert_int_equal (sim_process_client_watches (a->process), expected_watches);
  }
}

TEST (test_watch_in_flight_is_not_set)
{
  g_autoptr (Peer) a = peer_new_alone (10, 3);

  sim_world_put (a->world, "/n", "", ZOO_PERSISTENT);
  finish (start_read (a, 's', SIM_OP_SYNC, "/", FALSE));
  sim_world_script (a->world, NULL, SIM_OP_GET, 1, ZCONNECTIONLOSS, SIM_AFTER_EFFECT);
  assert_int_equal (finish (start_read (a, 'g', SIM_OP_GET, "/n", TRUE)), ZCONNECTIONLOSS);
  settle (a);
  sim_world_delete (a->world, "/n");
  settle (a);
  assert_null (strstr (a->log->str, "deleted"));
  assert_int_equal (sim_process_server_watches (a->process), 0);
}

static int
unwatch (Peer *peer, const char *path, ZooWatcherType type)
{
  Call *call = call_new (peer, 'u');
  int rc = peer->ops->remove_all_watches (peer->ops, peer->handle, path, type, &call->ticket);

  if (rc != ZOK) {
    call_free (call);
    return rc;
  }
  return finish (call);
}

TEST (test_removing_watches)
{
  g_autoptr (Peer) a = peer_new_alone (11, 3);

  sim_world_put (a->world, "/n", "", ZOO_PERSISTENT);
  finish (start_read (a, 's', SIM_OP_SYNC, "/", FALSE));
  assert_int_equal (unwatch (a, "/n", ZWATCHTYPE_DATA), ZNOWATCHER);

  /* Not while the answer that sets the watch is in flight. */
  Call *call = start_read (a, 'g', SIM_OP_GET, "/n", TRUE);
  assert_int_equal (unwatch (a, "/n", ZWATCHTYPE_DATA), ZNOWATCHER);
  finish (call);
  assert_int_equal (unwatch (a, "/n", ZWATCHTYPE_CHILD), ZNOWATCHER);
  assert_int_equal (sim_process_server_watches (a->process), 1);
  assert_int_equal (unwatch (a, "/n", ZWATCHTYPE_DATA), ZOK);
  assert_int_equal (sim_process_server_watches (a->process), 0);
  assert_int_equal (sim_process_client_watches (a->process), 0);
  g_string_truncate (a->log, 0);
  sim_world_delete (a->world, "/n");
  settle (a);
  expect_log (a, "");
}

SIM_SUITE ("test_sim_self_watches")
