/* The stakes of a session: the nodes that it holds or waits with.
 *
 * Curator has no counterpart. Threads: any; guarded by the client's mutex.
 */
#include "session/stakes.h"

GQueue *
curator_stake_queue (const CuratorStake *stake)
{
  CuratorSession *session = stake->session;
  return stake->kind == CURATOR_STAKE_HELD   ? &session->held
         : stake->kind == CURATOR_STAKE_NEAR ? &session->near
                                             : &session->far;
}

void
curator_stake_link (CuratorStake *stake, CuratorStakeKind kind)
{
  stake->kind = kind;
  g_queue_push_tail_link (curator_stake_queue (stake), &stake->link);
}

void
curator_stake_replace_in_beat (CuratorSession *session, CuratorStake *stake, CuratorStake *to)
{
  guint index;

  if (session->beat_stakes != NULL && g_ptr_array_find (session->beat_stakes, stake, &index))
    {
      session->beat_stakes->pdata[index] = to;
    }
}

void
curator_stake_unlink (CuratorStake *stake)
{
  if (stake->session != NULL)
    {
      g_queue_unlink (curator_stake_queue (stake), &stake->link);
      stake->session = NULL;
      if (stake->read != NULL)
        {
          stake->read->stake = NULL;
          stake->read = NULL;
        }
    }
}

void
curator_stake_unregister (CuratorStake *stake)
{
  CuratorSession *session = stake->session;
  if (session != NULL)
    {
      curator_stake_unlink (stake);
      curator_stake_replace_in_beat (session, stake, NULL);
    }
}

gboolean
curator_session_has_stake (CuratorSession *session, const char *path)
{
  GQueue *const queues[] = { &session->held, &session->near, &session->far };

  for (gsize i = 0; i < G_N_ELEMENTS (queues); i++)
    {
      for (GList *link = queues[i]->head; link != NULL; link = link->next)
        {
          const CuratorStake *stake = link->data;
          if (g_str_equal (stake->path, path))
            {
              return TRUE;
            }
        }
    }
  return FALSE;
}
