/* P20: servers that freeze, restart one after the other, or reach each other late or one way only.
 * Some faults cost a hold and some do not; a holder always knows of a loss before another is
 * granted the lock. */
#define SUITE_FIXTURE Scene *scene
#include "ensemble.h"
#include "support/waiting.h"

typedef struct
{
  ZkEnsemble *ensemble;
  Lab *lab;
  guint next_lock;
} Scene;

#define N_PLACES 2

/* One holder at the leader, one at a follower; both wait at the other follower. */
static void
begin (Scene *scene, const char *const names[N_PLACES], Duel duels[N_PLACES], int leader)
{
  for (int i = 0; i < N_PLACES; i++)
    {
      duels[i] = (Duel){ .name = names[i],
                         .lock = scene->next_lock++,
                         .holder_at = lab_server (scene->ensemble, (leader + i) % 3),
                         .waiter_at = lab_server (scene->ensemble, (leader + 2) % 3) };
      duel_start (scene->lab, &duels[i]);
    }
  for (int i = 0; i < N_PLACES; i++)
    duel_note_fault (&duels[i]);
}

static void
finish (Scene *scene, Duel duels[N_PLACES])
{
  for (int i = 0; i < N_PLACES; i++)
    duel_finish (scene->lab, &duels[i]);
}

static void
freeze_leader (Scene *scene, double pause, const char *const names[N_PLACES])
{
  Duel duels[N_PLACES];
  const int leader = lab_wait_leader (scene->ensemble);
  begin (scene, names, duels, leader);
  zk_server_freeze (zk_ensemble_server (scene->ensemble, leader));
  wait_ms ((int) (pause * LAB_SESSION_MS));
  zk_server_thaw (zk_ensemble_server (scene->ensemble, leader));
  assert_true (zk_ensemble_wait_whole (scene->ensemble, LAB_PATIENCE_MS));
  finish (scene, duels);
}

TEST (test_p20_leader_frozen)
{
  static const char *const names[][N_PLACES] = {
    { "leader frozen 0.3 T, at it", "leader frozen 0.3 T" },
    { "leader frozen 0.9 T, at it", "leader frozen 0.9 T" },
    { "leader frozen 1.5 T, at it", "leader frozen 1.5 T" }
  };
  freeze_leader (scene, 0.3, names[0]);
  freeze_leader (scene, 0.9, names[1]);
  freeze_leader (scene, 1.5, names[2]);
}

TEST (test_p20_all_frozen)
{
  static const char *const names[N_PLACES] = { "all frozen, at the leader", "all frozen" };
  Duel duels[N_PLACES];
  begin (scene, names, duels, lab_wait_leader (scene->ensemble));
  for (int i = 0; i < 3; i++)
    zk_server_freeze (zk_ensemble_server (scene->ensemble, i));
  wait_ms (LAB_SESSION_MS);
  for (int i = 0; i < 3; i++)
    zk_server_thaw (zk_ensemble_server (scene->ensemble, i));
  finish (scene, duels);
  assert_true (duels[0].lost);
  assert_true (duels[1].lost);
}

TEST (test_p20_slow_and_mute)
{
  static const char *const names[N_PLACES] = { "members slow, at the leader", "members slow" };
  static const char *const mute_names[N_PLACES] = { "follower mute, at the leader",
                                                    "follower mute" };
  ZkLinks *links = zk_ensemble_links (scene->ensemble);
  const int leader = lab_wait_leader (scene->ensemble);
  Duel slow[N_PLACES];
  begin (scene, names, slow, leader);
  zk_links_delay (links, leader, (leader + 1) % 3, 300);
  zk_links_delay (links, leader, (leader + 2) % 3, 300);
  wait_ms (LAB_SESSION_MS);
  zk_links_heal (links);
  finish (scene, slow);

  Duel mute[N_PLACES];
  begin (scene, mute_names, mute, leader);
  zk_links_mute (links, (leader + 1) % 3, leader);
  assert_true (duel_wait_grant (scene->lab, &mute[1], LAB_PATIENCE_MS));
  zk_links_heal (links);
  finish (scene, mute);
  assert_true (mute[1].lost);
}

/* Holders that know all servers reconnect to the next one. */
TEST (test_p20_rolling_restart)
{
  lab_wait_leader (scene->ensemble);
  Duel duel = { .name = "rolling restart",
                .lock = scene->next_lock++,
                .holder_at = zk_ensemble_connect_string (scene->ensemble),
                .waiter_at = zk_ensemble_connect_string (scene->ensemble) };
  duel_start (scene->lab, &duel);
  duel_note_fault (&duel);
  for (int i = 0; i < 3; i++)
    {
      assert_true (zk_server_restart (zk_ensemble_server (scene->ensemble, i)));
      assert_true (zk_ensemble_wait_whole (scene->ensemble, LAB_PATIENCE_MS));
    }
  duel_finish (scene->lab, &duel);
}

static int
start (void **state)
{
  Scene *scene = g_new0 (Scene, 1);
  *state = scene;
  scene->next_lock = 1;
  scene->ensemble = lab_start_ensemble (LAB_SYNC_EARLY);
  scene->lab = scene->ensemble != NULL ? lab_new ("test_p20_servers") : NULL;
  return scene->ensemble != NULL ? 0 : -1;
}

static int
stop (void **state)
{
  Scene *scene = *state;
  const gboolean good = lab_conclude (scene->lab);
  zk_ensemble_stop (scene->ensemble);
  g_free (scene);
  return good ? 0 : -1;
}

SUITE ("P20, servers", start, stop)
