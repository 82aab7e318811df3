/* Nodes that are deleted together, by one transaction.
 *
 * Curator has no counterpart. Threads: any; guarded by the client's mutex, which is held from the
 * first to the last delete of a group: no other request of the session comes between.
 *
 * NOTES: a transaction deletes all or nothing. So after any error the items are tried one by one,
 * and each has its own pauses, refusals and timeout.
 */
#include "client/reaper-private.h"
#include "client/session.h"
#include "client/zk_error.h"

#include <string.h>

/* Of the paths of one transaction. A request of more than 1 MB would cost the connection. */
#define MAX_GROUP_BYTES (64 * 1024)

struct _CuratorReaperGroup
{
  GPtrArray *items CURATOR_GUARDED; /* CuratorReaperItem; NULL for one that has left */
  guint n_items CURATOR_GUARDED;
  gsize n_bytes CURATOR_GUARDED;
  CuratorRequest *request CURATOR_GUARDED;
};

static CURATOR_LOCKED void
group_free (CuratorReaperGroup *group)
{
  if (group->request != NULL)
    {
      curator_request_forget (group->request);
    }
  g_ptr_array_unref (group->items);
  g_free (group);
}

/* The item leaves the group, which may end. */
static CURATOR_LOCKED CuratorReaperItem *
take_out (CuratorReaperGroup *group, guint index)
{
  CuratorReaperItem *item = g_ptr_array_index (group->items, index);
  if (item != NULL)
    {
      g_ptr_array_index (group->items, index) = NULL;
      item->group = NULL;
      group->n_items--;
    }
  return item;
}

void
curator_reaper_group_leave (CuratorReaperItem *item)
{
  CuratorReaperGroup *group = item->group;
  guint index;

  if (group != NULL && g_ptr_array_find (group->items, item, &index))
    {
      take_out (group, index);
      if (group->n_items == 0)
        {
          group_free (group);
        }
    }
}

/* rc: ZOK if all are deleted. Each of the others is tried at once if a server has refused one. */
static CURATOR_LOCKED void
hand_back (CuratorReaperItem *item, int rc)
{
  if (rc != ZOK && curator_zk_is_refusal (rc))
    {
      curator_reaper_item_try (item);
      return;
    }
  curator_reaper_item_answered (item, rc);
}

static CURATOR_LOCKED void
on_all_deleted (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorReaperGroup *group = data;

  group->request = NULL;
  for (guint i = 0; i < group->items->len; i++)
    {
      CuratorReaperItem *item = take_out (group, i);
      if (item != NULL)
        {
          hand_back (item, rc);
        }
    }
  group_free (group);
}

/* One node needs no transaction. Without a connection each is deleted after the next connect. */
static CURATOR_LOCKED void
group_send (CuratorClient *client, CuratorReaperGroup *group)
{
  if (group->n_items > 1 && curator_client_is_connected (client))
    {
      GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);
      for (guint i = 0; i < group->items->len; i++)
        {
          const CuratorReaperItem *item = g_ptr_array_index (group->items, i);
          g_ptr_array_add (paths, g_strdup (item->path));
        }
      group->request = curator_request_remove_all (client->session, paths, on_all_deleted, group);
      return;
    }
  for (guint i = 0; i < group->items->len; i++)
    {
      curator_reaper_item_try (take_out (group, i));
    }
  group_free (group);
}

static CURATOR_LOCKED CuratorReaperGroup *
group_new (void)
{
  CuratorReaperGroup *group = g_new0 (CuratorReaperGroup, 1);
  group->items = g_ptr_array_new ();
  return group;
}

gboolean
curator_reaper_group_take (CuratorReaperItem *item)
{
  CuratorReaper *reaper = item->client->reaper;
  CuratorReaperGroup *group = reaper->gathering;

  if (group == NULL || item->prefix != NULL || item->must_be_ours)
    {
      return FALSE;
    }
  if (group->n_bytes > MAX_GROUP_BYTES)
    {
      reaper->gathering = group_new ();
      group_send (item->client, group);
      group = reaper->gathering;
    }
  g_ptr_array_add (group->items, item);
  item->group = group;
  group->n_items++;
  group->n_bytes += strlen (item->path);
  return TRUE;
}

void
curator_reaper_gather (CuratorReaper *reaper)
{
  g_assert (reaper->gathering == NULL);
  reaper->gathering = group_new ();
}

void
curator_reaper_send_gathered (CuratorReaper *reaper)
{
  CuratorReaperGroup *group = reaper->gathering;
  reaper->gathering = NULL;
  group_send (reaper->client, group);
}
