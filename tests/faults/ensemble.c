#include "ensemble.h"

#include "support/raw_zk.h"

ZkEnsemble *
lab_start_ensemble (int sync_limit)
{
  const ZkEnsembleSetup setup = { .tick_ms = LAB_TICK_MS,
                                  .sync_limit = sync_limit,
                                  .by_links = TRUE,
                                  .security = security_usual_folder () };
  return zk_server_available () ? zk_ensemble_start_as (&setup) : NULL;
}

const char *
lab_server (ZkEnsemble *ensemble, int member)
{
  return zk_server_address (zk_ensemble_server (ensemble, member));
}

int
lab_wait_leader (ZkEnsemble *ensemble)
{
  assert_true (zk_ensemble_wait_whole (ensemble, LAB_PATIENCE_MS));
  const int leader = zk_ensemble_leader (ensemble);
  assert_true (leader >= 0);
  return leader;
}

void
control_duel_start (Lab *lab, ControlDuel *duel, const char *holder_at, const char *waiter_at)
{
  g_autofree char *path = g_strdup_printf ("/faults/%u", duel->lock);
  g_autoptr (RawZk) raw = raw_zk_open (waiter_at);
  assert_non_null (raw);
  duel->holder = control_start (lab, holder_at, duel->lock);
  if (control_wait (duel->holder, "GRANTED", LAB_PATIENCE_MS) == 0)
    fail_msg ("Java Curator was not granted its lock");
  duel->waiter = lab_start_holder (lab, waiter_at, duel->lock);
  assert_true (raw_zk_wait_children (raw, path, 2, LAB_PATIENCE_MS));
}

double
control_duel_overlap_ms (Lab *lab, ControlDuel *duel)
{
  RecordEvent grant;
  assert_true (lab_wait (lab, duel->waiter, RECORD_ACQUIRE_RETURNED, LAB_PATIENCE_MS, &grant));
  const gint64 doubts_ns = control_wait (duel->holder, "SUSPENDED", LAB_PATIENCE_MS);
  assert_true (doubts_ns != 0);
  control_stop (duel->holder);
  lab_end_holder (lab, duel->waiter);
  return (double) (doubts_ns - grant.time_ns) / 1e6;
}

void
duels_name (Duel *duels, const char *name, guint first_lock)
{
  static const char *const recipes[N_DUELS] = { NULL, "selector", "latch" };
  for (guint i = 0; i < N_DUELS; i++)
    {
      duels[i].name = name;
      duels[i].lock = first_lock + i;
      duels[i].recipe = recipes[i];
    }
}

void
duels_start (Lab *lab, Duel *duels)
{
  for (int i = 0; i < N_DUELS; i++)
    duel_start (lab, &duels[i]);
}

void
duels_note_fault (Duel *duels)
{
  for (int i = 0; i < N_DUELS; i++)
    duel_note_fault (&duels[i]);
}

void
duels_wait_grant (Lab *lab, Duel *duels)
{
  for (int i = 0; i < N_DUELS; i++)
    assert_true (duel_wait_grant (lab, &duels[i], LAB_PATIENCE_MS));
}

void
duels_finish (Lab *lab, Duel *duels)
{
  for (int i = 0; i < N_DUELS; i++)
    {
      duel_finish (lab, &duels[i]);
      assert_true (duels[i].lost);
    }
}
