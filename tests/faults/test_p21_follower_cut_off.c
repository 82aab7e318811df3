/* P21: a follower is cut off from its leader, and serves reads until it gives the leader up. A
 * client of that follower must know that the leader may expire its session meanwhile. Java Curator,
 * in the same run behind the same follower, is the control: it believes its connection state, and
 * so overlaps with the next holder. */
#include "ensemble.h"

static void
run_cut_off (int sync_limit, gboolean with_control)
{
  g_autoptr (ZkEnsemble) ensemble = lab_start_ensemble (sync_limit);
  assert_non_null (ensemble);
  Lab *lab = lab_new (with_control ? "test_p21_follower_cut_off" : "test_p21_follower_gives_up");
  const int leader = lab_wait_leader (ensemble);
  const int follower = (leader + 1) % 3;
  const Duel at = { .holder_at = lab_server (ensemble, follower),
                    .waiter_at = lab_server (ensemble, leader) };
  Duel duels[] = { at, at, at };
  duels_name (duels, with_control ? "follower cut off" : "follower cut off, gives up", 101);
  ControlDuel control = { .lock = 2 };
  if (with_control)
    control_duel_start (lab, &control, at.holder_at, at.waiter_at);
  duels_start (lab, duels);

  duels_note_fault (duels);
  zk_links_set_all (zk_ensemble_links (ensemble), follower, PROXY_HOLE);
  duels_wait_grant (lab, duels);
  const double overlap_ms = with_control ? control_duel_overlap_ms (lab, &control) : 0;
  zk_links_heal (zk_ensemble_links (ensemble));
  duels_finish (lab, duels);
  if (with_control)
    {
      print_message ("control, Java Curator        two confident holders for %.0f ms\n",
                     overlap_ms);
      lab_figure (lab, "control_overlap_ms", overlap_ms);
      assert_true (overlap_ms > 0);
    }
  lab_finish (lab);
}

TEST (test_p21_follower_cut_off)
{
  run_cut_off (LAB_SYNC_LATE, TRUE);
}

/* It gives up sooner than the session timeout: it closes its connections before the session
 * expires. */
TEST (test_p21_follower_gives_up)
{
  run_cut_off (LAB_SYNC_EARLY, FALSE);
}

SUITE ("P21, follower", NULL, NULL)
