/* Two candidates, the leader in Java and the next one in C, whose servers lose their quorum for
 * longer than Java's session timeout, and for less than C's. With CURATOR-696 the latch in Java
 * finds the node of its dead session when the quorum is back, and leads on it, also when the
 * servers have deleted that node and the next one leads. */
#include "cell.h"

#define LATCH "/latch"

/* One of three serves nobody. */
static gboolean
lose_quorum (Cell *cell, ZkEnsemble *three)
{
  for (int i = 1; i < 3; i++)
    zk_server_kill (zk_ensemble_server (three, i));
  if (!peer_expect (cell->peer, LONG_MS, "STATE LOST"))
    return FALSE;
  for (int i = 1; i < 3; i++)
    if (!zk_server_relaunch (zk_ensemble_server (three, i)))
      return FALSE;
  return zk_ensemble_wait_whole (three, LONG_MS);
}

/* What it says may be of a moment ago: a latch that is told later gets time for it. */
static gboolean
still_leads (Cell *cell)
{
  peer_tell (cell->peer, "leads java");
  while (!peer_has (cell->peer, "ERROR")) {
    if (peer_expect (cell->peer, QUIET_MS, "LEADS java"))
      return TRUE;
    if (peer_expect (cell->peer, QUIET_MS, "FOLLOWS java"))
      return FALSE;
  }
  return TRUE;
}

/* By a session of its own. */
static gboolean
is_first (Cell *cell)
{
  RawZk *raw = raw_zk_open (cell->servers);
  g_auto (GStrv) names = raw != NULL ? raw_zk_children (raw, LATCH) : NULL;
  g_autofree char *first =
      names != NULL && names[0] != NULL ? g_strconcat (LATCH "/", names[0], NULL) : NULL;
  const gboolean is_ours =
      first != NULL && raw_zk_owner (raw, first) == curator_client_get_session_id (cell->client);
  raw_zk_close (raw);
  return is_ours;
}

char *
cell_latch (Cell *cell, ZkEnsemble *three, gboolean *leads_beside)
{
  g_autoptr (GError) error = NULL;
  peer_tell (cell->peer, "lead java " LATCH);
  CELL_CHECK (peer_expect (cell->peer, LONG_MS, "LEADING java"), NULL);
  g_autoptr (CuratorLeaderLatch) latch =
      curator_leader_latch_new (cell->client, LATCH, "c", &error);
  CELL_CHECK (latch != NULL && curator_leader_latch_start (latch, &error), error);
  CELL_CHECK (raw_zk_wait_children (cell->raw, LATCH, 2, LONG_MS), NULL);
  CELL_CHECK (lose_quorum (cell, three), NULL);
  CELL_CHECK (peer_expect (cell->peer, LONG_MS, "STATE RECONNECTED"), NULL);
  CELL_CHECK (curator_leader_latch_await (latch, LONG_MS, NULL, &error), error);
  *leads_beside = !holds_within (!still_leads (cell), 2 * KILLED_MS);
  CELL_CHECK (curator_leader_latch_has_leadership (latch) && is_first (cell), NULL);
  return NULL;
}
