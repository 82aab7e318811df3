/* What the reaper is asked to delete: a node, one among others of its name, or whatever a lost reply to
 * a create may have left.
 *
 * Mirrors FailedDeleteManager.addFailedOperation. Threads: any; guarded by the client's mutex.
 */
#include "nodes/reaper-private.h"

#include "base/guards.h"
#include "base/path.h"
#include "core/client-record.h"
#include "core/log.h"

#include <string.h>

void
curator_reaper_delete (CuratorClient *client, const char *path, gint64 session_id,
                       CuratorOp *release)
{
  CuratorReaperItem *item = curator_reaper_item_new (client, path, NULL);
  item->is_unique = TRUE;
  item->owner = session_id;
  curator_reaper_item_start (item, release);
}

void
curator_reaper_delete_owned (CuratorClient *client, const char *path, gint64 session_id,
                             gint64 czxid, CuratorOp *release)
{
  CuratorReaperItem *item = curator_reaper_item_new (client, path, NULL);
  item->must_be_ours = TRUE;
  item->owner = session_id;
  item->czxid = czxid;
  curator_reaper_item_start (item, release);
}

void
curator_reaper_delete_later (CuratorClient *client, const char *path, gint64 session_id,
                             gint64 czxid, gint64 pause_us)
{
  CuratorReaperItem *item = curator_reaper_item_new (client, path, NULL);
  item->is_unique = czxid == 0;
  item->must_be_ours = czxid != 0;
  item->owner = session_id;
  item->czxid = czxid;
  curator_reaper_item_start_later (item, pause_us);
}

void
curator_reaper_delete_unknown (CuratorClient *client, const CuratorUnknownCreate *unknown)
{
  if (unknown->prefix != NULL)
    {
      curator_reaper_item_start (curator_reaper_item_new (client, unknown->parent, unknown->prefix),
                                 NULL);
      return;
    }
  if (!unknown->identifiable)
    {
      g_autofree char *shown = curator_path_escape (unknown->parent);
      curator_warn ("a persistent node may be left in %s: the reply to its creation was lost, and "
                    "nothing distinguishes it from nodes of other clients",
                    shown);
      return;
    }
  if (unknown->sequential)
    {
      CuratorReaperItem *item = curator_reaper_item_new (client, unknown->parent, NULL);
      item->must_be_ours = TRUE;
      item->sequential_name = g_strdup (unknown->name);
      item->owner = unknown->session_id;
      item->payload = g_bytes_ref (unknown->payload);
      curator_reaper_item_start (item, NULL);
      return;
    }
  g_autofree char *path = curator_path_join (unknown->parent, unknown->name);
  curator_reaper_delete_alike (client, path, unknown->session_id, unknown->payload);
}

/* A search deletes every child of its path whose name begins with the prefix. */
static CURATOR_LOCKED gboolean
will_delete (const CuratorReaperItem *item, const char *path)
{
  const gsize length = strlen (item->path);

  if (item->prefix == NULL)
    return item->is_unique && g_str_equal (item->path, path);
  return strncmp (path, item->path, length) == 0 && path[length] == '/'
         && g_str_has_prefix (path + length + 1, item->prefix);
}

gboolean
curator_reaper_will_delete (CuratorReaper *reaper, const char *path)
{
  GList *link = reaper->items.head;
  while (link != NULL && !will_delete (link->data, path))
    link = link->next;
  return link != NULL;
}
