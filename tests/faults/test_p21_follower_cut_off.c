/* P21: a follower is cut off from its leader, and serves reads until it gives the leader up. A
 * client of that follower must know that the leader may expire its session meanwhile. Java Curator,
 * in the same run behind the same follower, is the control: it believes its connection state, and
 * so overlaps with the next holder. */
#include "ensemble.h"

static void
cut_off (const char *test, int sync_limit, const Separation *how)
{
  g_autoptr (ZkEnsemble) ensemble = lab_start_ensemble (sync_limit);
  assert_non_null (ensemble);
  Lab *lab = lab_new (test);
  assert_true (lab_separate (lab, ensemble, how, 1));
  lab_finish (lab);
}

TEST (test_p21_follower_cut_off)
{
  cut_off ("test_p21_follower_cut_off", LAB_SYNC_LATE,
           &(Separation){ "follower cut off", .has_control = TRUE });
}

/* It gives up sooner than the session timeout: it closes its connections before the session
 * expires. */
TEST (test_p21_follower_gives_up)
{
  cut_off ("test_p21_follower_gives_up", LAB_SYNC_EARLY,
           &(Separation){ "follower cut off, gives up" });
}

SUITE ("P21, follower", NULL, NULL)
