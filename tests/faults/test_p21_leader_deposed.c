/* P21: the followers have lost their leader and elect another one, while the old one sees only
 * silence and still believes that it leads. A client of the old leader must know that its hold is
 * over before the new leader expires its session. Java Curator, in the same run at the same server,
 * is the control. */
#define SUITE_FIXTURE ZkEnsemble *ensemble
#include "ensemble.h"

/* No lock can be granted until the followers have a leader. On a busy machine the old leader may
 * give up before that, and then the run shows nothing. */
#define ELECTION_MS 10000
#define ROUNDS      4

/* Deposes the leader once. FALSE if the election was too slow; our own holder is still judged. */
static gboolean
depose (Lab *lab, ZkEnsemble *ensemble, guint round)
{
  const int leader = lab_wait_leader (ensemble);
  const Duel at = { .holder_at = lab_server (ensemble, leader),
                    .waiter_at = lab_server (ensemble, (leader + 1) % 3) };
  Duel duels[] = { at, at, at };
  duels_name (duels, "leader deposed", 101 + N_DUELS * round);
  ControlDuel control = { .lock = 2 * round + 2 };
  control_duel_start (lab, &control, at.holder_at, at.waiter_at);
  duels_start (lab, duels);

  duels_note_fault (duels);
  zk_links_depose (zk_ensemble_links (ensemble), leader);
  duels_wait_grant (lab, duels);
  const double overlap_ms = control_duel_overlap_ms (lab, &control);
  zk_links_heal (zk_ensemble_links (ensemble));
  duels_finish (lab, duels);
  const gint64 took_ms = (duels[0].grant_ns - duels[0].fault_ns) / 1000000;
  if (took_ms > ELECTION_MS)
    {
      print_message ("no leader in time: granted elsewhere after %d ms; once more\n",
                     (int) took_ms);
      return FALSE;
    }
  print_message ("control, Java Curator        two confident holders for %.0f ms\n", overlap_ms);
  lab_figure (lab, "control_overlap_ms", overlap_ms);
  assert_true (overlap_ms > 0);
  return TRUE;
}

TEST (test_p21_leader_deposed)
{
  Lab *lab = lab_new ("test_p21_leader_deposed");
  gboolean seen = FALSE;
  for (guint round = 0; round < ROUNDS && !seen; round++)
    seen = depose (lab, ensemble, round);
  assert_true (seen);
  lab_finish (lab);
}

static int
start (void **state)
{
  *state = lab_start_ensemble (LAB_SYNC_LATEST);
  return *state != NULL ? 0 : -1;
}

static int
stop (void **state)
{
  zk_ensemble_stop (*state);
  return 0;
}

SUITE ("P21, leader", start, stop)
