/* P21: the followers have lost their leader and elect another one, while the old one sees only
 * silence and still believes that it leads. A client of the old leader must know that its hold is
 * over before the new leader expires its session. Java Curator, in the same run at the same server,
 * is the control. */
#define SUITE_FIXTURE ZkEnsemble *ensemble
#include "ensemble.h"

#define ROUNDS 4

/* No lock can be granted until the followers have a leader. On a busy machine the old leader may
 * give up before that, and then the run shows nothing: once more. Our own holders are still
 * judged. */
TEST (test_p21_leader_deposed)
{
  static const Separation deposed = { "leader deposed", TRUE, TRUE, .longest_ms = 10000 };
  Lab *lab = lab_new ("test_p21_leader_deposed");
  gboolean seen = FALSE;
  for (guint round = 0; round < ROUNDS && !seen; round++)
    seen = lab_separate (lab, ensemble, &deposed, 1 + 4 * round);
  assert_true (seen);
  lab_finish (lab);
}

static int
start (void **state)
{
  *state = lab_start_ensemble (LAB_SYNC_LATEST);
  return *state != NULL ? 0 : -1;
}

SUITE ("P21, leader", start, lab_stop_ensemble)
