/* P20: servers that freeze, restart one after the other, or reach each other late or one way only.
 * Some faults cost a hold and some do not; a holder always knows of a loss before another is
 * granted the lock. */
#define SUITE_FIXTURE ZkEnsemble *ensemble
#include "ensemble.h"
#include "support/waiting.h"

#define N_PLACES 2

static void
freeze_leader (ZkEnsemble *ensemble, int leader)
{
  zk_server_freeze (zk_ensemble_server (ensemble, leader));
}

static void
freeze_all (ZkEnsemble *ensemble, int leader)
{
  for (int i = 0; i < 3; i++)
    zk_server_freeze (zk_ensemble_server (ensemble, i));
}

static void
slow_down (ZkEnsemble *ensemble, int leader)
{
  for (int n = 1; n < 3; n++)
    zk_links_delay (zk_ensemble_links (ensemble), leader, (leader + n) % 3, 300);
}

static void
mute_follower (ZkEnsemble *ensemble, int leader)
{
  zk_links_mute (zk_ensemble_links (ensemble), (leader + 1) % 3, leader);
}

typedef struct
{
  const char *names[N_PLACES]; /* of the holder at the leader, and of that at a follower */
  void (*begin) (ZkEnsemble *ensemble, int leader);
  double pause; /* in session timeouts; 0: until the lock of the follower's holder is granted */
  gboolean lost[N_PLACES]; /* certainly */
} Fault;

static const Fault FAULTS[] = {
  { { "leader frozen 0.3 T, at it", "leader frozen 0.3 T" }, freeze_leader, 0.3 },
  { { "leader frozen 0.9 T, at it", "leader frozen 0.9 T" }, freeze_leader, 0.9 },
  { { "leader frozen 1.5 T, at it", "leader frozen 1.5 T" }, freeze_leader, 1.5 },
  { { "all frozen, at the leader", "all frozen" }, freeze_all, 1, { TRUE, TRUE } },
  { { "members slow, at the leader", "members slow" }, slow_down, 1 },
  { { "follower mute, at the leader", "follower mute" }, mute_follower, 0, { FALSE, TRUE } }
};

/* Both wait at the other follower. */
static void
play (Lab *lab, ZkEnsemble *ensemble, const Fault *fault, guint lock)
{
  const int leader = lab_wait_leader (ensemble);
  Duel duels[N_PLACES];
  for (int i = 0; i < N_PLACES; i++) {
    duels[i] = (Duel){ .name = fault->names[i],
                       .lock = lock + (guint) i,
                       .holder_at = lab_server (ensemble, (leader + i) % 3),
                       .waiter_at = lab_server (ensemble, (leader + 2) % 3) };
    duel_start (lab, &duels[i]);
  }
  for (int i = 0; i < N_PLACES; i++)
    duels[i].fault_ns = wait_now_ns ();
  fault->begin (ensemble, leader);
  if (fault->pause > 0)
    wait_ms ((int) (fault->pause * LAB_SESSION_MS));
  else
    lab_wait_granted (lab, duels[1].b);
  for (int i = 0; i < 3; i++)
    zk_server_thaw (zk_ensemble_server (ensemble, i));
  zk_links_heal (zk_ensemble_links (ensemble));
  lab_wait_leader (ensemble);
  for (int i = 0; i < N_PLACES; i++) {
    duel_finish (lab, &duels[i]);
    assert_true (duels[i].lost || !fault->lost[i]);
  }
}

TEST (test_p20_servers)
{
  Lab *lab = lab_new ("test_p20_servers");
  for (guint i = 0; i < G_N_ELEMENTS (FAULTS); i++)
    play (lab, ensemble, &FAULTS[i], 1 + N_PLACES * i);
  lab_finish (lab);
}

/* Holders that know all servers reconnect to the next one. */
TEST (test_p20_rolling_restart)
{
  Lab *lab = lab_new ("test_p20_rolling_restart");
  lab_wait_leader (ensemble);
  Duel duel = { .name = "rolling restart",
                .lock = 101,
                .holder_at = zk_ensemble_connect_string (ensemble),
                .waiter_at = zk_ensemble_connect_string (ensemble) };
  duel_start (lab, &duel);
  duel.fault_ns = wait_now_ns ();
  for (int i = 0; i < 3; i++) {
    assert_true (zk_server_restart (zk_ensemble_server (ensemble, i)));
    lab_wait_leader (ensemble);
  }
  duel_finish (lab, &duel);
  lab_finish (lab);
}

static int
start (void **state)
{
  *state = lab_start_ensemble (LAB_SYNC_EARLY);
  return *state != NULL ? 0 : -1;
}

SUITE ("P20, servers", start, lab_stop_ensemble)
