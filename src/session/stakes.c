/* The stakes of a session: the nodes that it holds or waits with.
 *
 * Curator has no counterpart. Threads: any; guarded by the client's mutex.
 */
#include "session/stakes.h"

GQueue *
curator_stake_queue (const CuratorStake *stake)
{
  return &stake->session->stakes[stake->kind];
}

void
curator_stake_replace_in_beat (CuratorSession *session, CuratorStake *stake, CuratorStake *to)
{
  guint index;

  if (session->beat.stakes != NULL && g_ptr_array_find (session->beat.stakes, stake, &index))
    session->beat.stakes->pdata[index] = to;
}

void
curator_stake_unlink (CuratorStake *stake)
{
  if (stake->session != NULL) {
    g_queue_unlink (curator_stake_queue (stake), &stake->link);
    stake->session = NULL;
    if (stake->read != NULL) {
      stake->read->stake = NULL;
      stake->read = NULL;
    }
  }
}

void
curator_stake_unregister (CuratorStake *stake)
{
  CuratorSession *session = stake->session;
  if (session != NULL) {
    curator_stake_unlink (stake);
    curator_stake_replace_in_beat (session, stake, NULL);
  }
}

gboolean
curator_session_has_stake (CuratorSession *session, const char *path)
{
  for (gsize i = 0; i < G_N_ELEMENTS (session->stakes); i++)
    for (GList *link = session->stakes[i].head; link != NULL; link = link->next)
      if (g_str_equal (((const CuratorStake *) link->data)->path, path))
        return TRUE;
  return FALSE;
}
