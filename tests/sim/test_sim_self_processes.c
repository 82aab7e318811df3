/* The simulator's clocks and processes. */
#include "sim_peer.h"

TEST (test_clocks)
{
  g_autoptr (Peer) a = peer_new_alone (15, 3);
  gint64 monotonic = a->ops->clocks.monotonic_us (a->ops);
  gint64 boottime = a->ops->clocks.boottime_us (a->ops);

  sim_world_strike (a->world, SIM_FAULT_PAUSE, a->process, 2 * G_USEC_PER_SEC);
  sim_world_run_for (a->world, 3000);
  assert_true (a->ops->clocks.monotonic_us (a->ops) - monotonic == 3 * G_USEC_PER_SEC);
  sim_world_strike (a->world, SIM_FAULT_SUSPEND, a->process, 2 * G_USEC_PER_SEC);
  sim_world_run_for (a->world, 3000);
  assert_true (a->ops->clocks.monotonic_us (a->ops) - monotonic == 4 * G_USEC_PER_SEC);
  assert_true (a->ops->clocks.boottime_us (a->ops) - boottime == 6 * G_USEC_PER_SEC);
}

TEST (test_paused_and_dead_processes_expire)
{
  for (guint32 seed = 0; seed < 20; seed++) {
    g_autoptr (Peer) a = peer_new_alone (seed, 3);
    g_autoptr (Peer) b = peer_new (a->world, "B");

    assert_int_equal (finish (start_create (a, 'c', "/a", ZOO_EPHEMERAL)), ZOK);
    assert_int_equal (finish (start_create (b, 'c', "/b", ZOO_EPHEMERAL)), ZOK);
    g_string_truncate (a->log, 0);
    g_string_truncate (b->log, 0);
    sim_world_strike (a->world, SIM_FAULT_PAUSE, a->process, 10 * G_USEC_PER_SEC);
    sim_process_crash (b->process);
    sim_world_run_for (a->world, 2000);
    assert_true (sim_world_exists (a->world, "/a") && sim_world_exists (a->world, "/b"));
    sim_world_run_for (a->world, 7900);
    assert_false (sim_world_exists (a->world, "/a") || sim_world_exists (a->world, "/b"));
    expect_log (a, "");
    sim_world_run_for (a->world, 8000);
    expect_log (a, "DOWN EXPIRED ");
    expect_log (b, "");
    sim_world_heal (a->world);
    settle (b);
    expect_log (b, "DOWN ");
  }
}

SIM_SUITE ("test_sim_self_processes")
