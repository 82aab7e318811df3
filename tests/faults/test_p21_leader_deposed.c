/* P21: the followers have lost their leader and elect another one, while the old one sees nothing but
 * silence and goes on leading nobody. Who holds through it must know before the new leader ends the
 * session. Java Curator, in the same run at the same server, is the control. */
#include "ensemble.h"

/* Nobody can be granted anything until the followers have a leader. On a busy machine that takes them
 * longer than the old leader goes on for, and then there is nothing to see. */
#define ELECTION_MS 10000
#define ROUNDS 4

/* One leader deposed. FALSE if the others were too slow to elect; our own holder is judged even so. */
static gboolean
depose (Lab *lab, ZkEnsemble *ensemble, guint round)
{
  const int leader = lab_wait_leader (ensemble);
  Duel duel = { .name = "leader deposed",
                .lock = 2 * round + 1,
                .holder_at = lab_server (ensemble, leader),
                .waiter_at = lab_server (ensemble, (leader + 1) % 3) };
  ControlDuel control = { .lock = 2 * round + 2 };
  control_duel_start (lab, &control, duel.holder_at, duel.waiter_at);
  duel_start (lab, &duel);

  duel_note_fault (&duel);
  zk_links_depose (zk_ensemble_links (ensemble), leader);
  assert_true (duel_wait_grant (lab, &duel, LAB_PATIENCE_MS));
  const double overlap_ms = control_duel_overlap_ms (lab, &control);
  zk_links_heal (zk_ensemble_links (ensemble));
  duel_finish (lab, &duel);
  assert_true (duel.lost);
  const gint64 took_ms = (duel.grant_ns - duel.fault_ns) / 1000000;
  if (took_ms > ELECTION_MS)
    {
      print_message ("no leader in time: granted elsewhere after %d ms; once more\n", (int) took_ms);
      return FALSE;
    }
  print_message ("control, Java Curator        two confident holders for %.0f ms\n", overlap_ms);
  lab_figure (lab, "control_overlap_ms", overlap_ms);
  assert_true (overlap_ms > 0);
  return TRUE;
}

static void
test_p21_leader_deposed (void **state)
{
  Lab *lab = lab_new ("test_p21_leader_deposed");
  gboolean seen = FALSE;
  for (guint round = 0; round < ROUNDS && !seen; round++)
    {
      seen = depose (lab, *state, round);
    }
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

int
main (void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test (test_p21_leader_deposed) };
  return cmocka_run_group_tests_name ("P21, leader", tests, start, stop);
}
