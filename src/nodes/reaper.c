/* Deletes nodes with retries, and finds and deletes nodes whose creation reply was lost.
 *
 * Mirrors FailedDeleteManager and FindAndDeleteProtectedNodeInBackground. Threads: any; guarded by
 * the client's mutex. The retry policy does not apply: an item is tried as soon as there is a
 * connection, and again after pauses that grow to one second, or to five while permissions are
 * missing, which may be granted again.
 */
#include "nodes/reaper-private.h"

#include "base/container.h"
#include "base/guards.h"
#include "base/path.h"
#include "core/client-record.h"
#include "core/log.h"
#include "core/monitor.h"
#include "core/namespace.h"
#include "core/stats-private.h"
#include "core/zk_error.h"
#include "session/session.h"
#include "session/stakes.h"

#include <string.h>

#define FIRST_PAUSE_US   (50 * 1000)
#define LAST_PAUSE_US    G_USEC_PER_SEC
#define REFUSED_PAUSE_US (5 * G_USEC_PER_SEC)

static void item_try (CuratorReaperItem *item) CURATOR_LOCKED;

CuratorReaper *
curator_reaper_new (CuratorClient *client)
{
  CuratorReaper *reaper = g_new0 (CuratorReaper, 1);
  reaper->client = client;
  return reaper;
}

void
curator_reaper_free (CuratorReaper *reaper)
{
  g_assert (reaper->items.length == 0);
  g_free (reaper);
}

guint
curator_reaper_pending (CuratorReaper *reaper)
{
  return reaper->items.length;
}

gboolean
curator_reaper_is_deleting (CuratorReaper *reaper, const char *path, const struct Stat *stat,
                            GBytes *payload)
{
  for (GList *link = reaper->items.head; link != NULL; link = link->next)
    {
      const CuratorReaperItem *item = link->data;
      const gboolean is_search = item->prefix != NULL || item->sequential_name != NULL;
      const gboolean may_match =
          item->is_unique
          || (item->owner == stat->ephemeralOwner
              && (item->czxid == 0 || item->czxid == stat->czxid)
              && (item->payload == NULL || g_bytes_equal (item->payload, payload)));
      if (!is_search && may_match && g_str_equal (item->path, path))
        return TRUE;
    }
  return FALSE;
}

/* Takes error. */
static CURATOR_LOCKED void
end_release (CuratorReaperItem *item, GError *error)
{
  curator_release_end (item->release, error);
  g_clear_pointer (&item->release, curator_op_unref);
}

static CURATOR_LOCKED void
item_end (CuratorReaperItem *item, GError *error)
{
  end_release (item, error);
  g_clear_pointer (&item->request, curator_request_forget);
  curator_batch_delete_leave (&item->batched);
  curator_timer_cancel (item->client, &item->pause);
  g_queue_unlink (&item->client->reaper->items, &item->link);
  g_free (item->prefix);
  g_clear_pointer (&item->payload, g_bytes_unref);
  g_free (item->sequential_name);
  g_free (item);
}

static CURATOR_LOCKED void
on_pause_end (gpointer data)
{
  CuratorReaperItem *item = data;
  item->pause = NULL;
  item_try (item);
}

static CURATOR_LOCKED void
item_retry_later (CuratorReaperItem *item)
{
  const gint64 longest_us = item->is_refused ? REFUSED_PAUSE_US : LAST_PAUSE_US;
  item->pause_us = CLAMP (item->pause_us * 2, FIRST_PAUSE_US, longest_us);
  item->pause = curator_timer_after (item->client, item->pause_us, on_pause_end, item);
}

/* Takes error, which is logged and reported once. A permission may be granted again. */
static CURATOR_LOCKED void
item_refused (CuratorReaperItem *item, int rc, GError *error)
{
  if (!item->is_refused)
    curator_warn ("cannot delete a node: %s", error->message);
  end_release (item, error);
  if (rc != ZNOAUTH)
    {
      item_end (item, NULL);
      return;
    }
  item->is_refused = TRUE;
  item_retry_later (item);
}

static CURATOR_LOCKED void
item_answered (CuratorReaperItem *item, int rc)
{
  item->deleting = FALSE;
  if (rc == ZOK || rc == ZNONODE)
    {
      curator_count (item->client, CURATOR_COUNTER_NODES_REAPED, rc == ZOK ? 1 : 0);
      item_end (item, NULL);
    }
  else if (!curator_zk_is_refusal (rc))
    {
      item_retry_later (item);
    }
  else
    {
      const char *path = curator_client_user_path (item->client, item->path);
      item_refused (item, rc, curator_error_from_zk_delete (rc, path));
    }
}

static CURATOR_LOCKED void
on_deleted (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorReaperItem *item = data;
  item->request = NULL;
  item_answered (item, rc);
}

/* Deletes our nodes among the children. */
static CURATOR_LOCKED void
on_listed (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorReaperItem *item = data;
  CuratorClient *client = item->client;

  item->request = NULL;
  if (rc != ZOK && !curator_zk_is_refusal (rc))
    {
      item_retry_later (item);
      return;
    }
  if (rc != ZOK && rc != ZNONODE)
    {
      const char *path = curator_client_user_path (client, item->path);
      item_refused (item, rc, curator_error_from_zk (rc, "searching for leftover nodes in", path));
      return;
    }
  for (int i = 0; rc == ZOK && i < reply->children->count; i++)
    {
      const char *name = reply->children->data[i];
      g_autofree char *path = curator_path_join (item->path, name);
      if (item->prefix != NULL && g_str_has_prefix (name, item->prefix))
        {
          CuratorReaperItem *found = curator_reaper_item_new (client, path, NULL);
          found->is_unique = TRUE;
          curator_reaper_item_start (found, NULL);
        }
      else if (item->sequential_name != NULL
               && curator_path_is_numbered (name, item->sequential_name))
        {
          curator_reaper_delete_alike (client, path, item->owner, item->payload);
        }
    }
  item_end (item, NULL);
}

static CURATOR_LOCKED gboolean
is_ours (const CuratorReaperItem *item, const CuratorZkReply *reply)
{
  const gint64 session_id = item->client->session->id;
  if (item->is_unique)
    return reply->stat->ephemeralOwner == item->owner;
  return (item->owner == 0 || item->owner == session_id)
         && (item->czxid != 0 || !curator_session_has_stake (item->client->session, item->path))
         && reply->stat->ephemeralOwner == item->owner
         && (item->czxid != 0 ? reply->stat->czxid == item->czxid
                              : curator_reply_has_payload (reply, item->payload));
}

/* TRUE if a delete of this path is in flight, after which the name may be another client's. */
static CURATOR_LOCKED gboolean
is_being_deleted (const CuratorReaperItem *item)
{
  for (GList *link = item->client->reaper->items.head; link != NULL; link = link->next)
    {
      const CuratorReaperItem *other = link->data;
      if (other->deleting && g_str_equal (other->path, item->path))
        return TRUE;
    }
  return FALSE;
}

/* Deletes the node if it is ours. Only this client could make room for another node between this
 * reply and the delete, and it sends one delete at a time. */
static CURATOR_LOCKED void
on_owner_known (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorReaperItem *item = data;
  CuratorClient *client = item->client;

  item->request = NULL;
  if ((rc != ZOK && !curator_zk_is_refusal (rc)) || !curator_client_is_connected (client)
      || (rc == ZOK && is_being_deleted (item)))
    {
      item_retry_later (item);
    }
  else if (rc == ZNOAUTH && (item->czxid != 0 || item->is_unique) && !item->by_exists)
    {
      item->by_exists = TRUE;
      item->request =
          curator_request_exists (client->session, item->path, FALSE, on_owner_known, item);
    }
  else if (rc == ZNOAUTH)
    {
      const char *path = curator_client_user_path (client, item->path);
      item_refused (item, rc, curator_error_from_zk_owner (rc, path));
    }
  else if (rc == ZOK && is_ours (item, reply))
    {
      item->deleting = TRUE;
      item->request = curator_request_remove (client->session, item->path, on_deleted, item);
    }
  else
    {
      item_end (item, NULL);
    }
}

static CURATOR_LOCKED void
on_quorum_reached (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorReaperItem *item = data;
  item->request = NULL;
  if ((rc != ZOK && !curator_zk_is_refusal (rc)) || !curator_client_is_connected (item->client))
    {
      item_retry_later (item);
      return;
    }
  CuratorSession *session = item->client->session;
  item->request = item->prefix != NULL || item->sequential_name != NULL
                      ? curator_request_get_children (session, item->path, FALSE, on_listed, item)
                      : curator_request_get (session, item->path, FALSE, on_owner_known, item);
}

/* Somebody may have put another node in the place of ours in the meantime. */
static CURATOR_LOCKED gboolean
must_be_checked (const CuratorReaperItem *item)
{
  return item->must_be_ours
         || (item->is_unique && item->owner != 0
             && (item->is_refused || item->owner != item->client->session->id));
}

static void
item_try (CuratorReaperItem *item)
{
  CuratorClient *client = item->client;

  if (!curator_client_is_connected (client))
    {
      /* Tried again on the next connect. */
      return;
    }
  if (item->prefix == NULL && !must_be_checked (item))
    {
      item->request = curator_request_remove (client->session, item->path, on_deleted, item);
    }
  else
    {
      /* A server that lags behind may not have the node yet, and a deposed leader answers even a
       * sync. A server that answers this check has all that the quorum has. */
      GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);
      g_ptr_array_add (paths, item->prefix != NULL || item->sequential_name != NULL
                                  ? g_strdup (item->path)
                                  : curator_path_parent (item->path));
      item->request = curator_request_check (client->session, paths, on_quorum_reached, item);
    }
}

CuratorReaperItem *
curator_reaper_item_new (CuratorClient *client, const char *path, const char *prefix)
{
  const gsize path_size = strlen (path) + 1;
  CuratorReaperItem *item = g_malloc0 (sizeof *item + path_size);
  item->link.data = item;
  item->client = client;
  memcpy (item->path, path, path_size);
  item->prefix = g_strdup (prefix);
  g_queue_push_tail_link (&client->reaper->items, &item->link);
  return item;
}

static CURATOR_LOCKED void
on_batch_answered (CuratorBatchedNode *member, int rc)
{
  item_answered (CURATOR_CONTAINER (member, CuratorReaperItem, batched), rc);
}

static CURATOR_LOCKED void
on_batch_failed (CuratorBatchedNode *member)
{
  item_try (CURATOR_CONTAINER (member, CuratorReaperItem, batched));
}

static CURATOR_LOCKED gboolean
joins_batch (CuratorReaperItem *item)
{
  CuratorBatchDelete *batch = item->client->reaper->gathering;

  if (batch == NULL || item->prefix != NULL || item->sequential_name != NULL
      || !curator_client_is_connected (item->client) || must_be_checked (item))
    {
      return FALSE;
    }
  item->batched = (CuratorBatchedNode){ .path = item->path,
                                        .answered = on_batch_answered,
                                        .alone = on_batch_failed };
  curator_batch_delete_add (batch, &item->batched);
  return TRUE;
}

void
curator_reaper_item_start (CuratorReaperItem *item, CuratorOp *release)
{
  item->release = release != NULL ? curator_op_ref (release) : NULL;
  if (item->client->reaper->closed)
    {
      item_end (item,
                g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_CLOSED, "the client is closed"));
      return;
    }
  curator_release_begin (release, item->path);
  if (!joins_batch (item))
    item_try (item);
}

void
curator_reaper_item_start_later (CuratorReaperItem *item, gint64 pause_us)
{
  if (item->client->reaper->closed)
    {
      item_end (item, NULL);
      return;
    }
  item->pause = curator_timer_after (item->client, pause_us, on_pause_end, item);
}

void
curator_reaper_delete_alike (CuratorClient *client, const char *path, gint64 session_id,
                             GBytes *payload)
{
  CuratorReaperItem *item = curator_reaper_item_new (client, path, NULL);
  item->must_be_ours = TRUE;
  item->owner = session_id;
  item->payload = g_bytes_ref (payload);
  curator_reaper_item_start (item, NULL);
}

void
curator_reaper_gather (CuratorReaper *reaper)
{
  g_assert (reaper->gathering == NULL);
  reaper->gathering = curator_batch_delete_new ();
}

void
curator_reaper_send_gathered (CuratorReaper *reaper)
{
  curator_batch_delete_send (g_steal_pointer (&reaper->gathering), reaper->client);
}

void
curator_reaper_connected (CuratorReaper *reaper)
{
  GList *next;
  for (GList *link = reaper->items.head; link != NULL; link = next)
    {
      CuratorReaperItem *item = link->data;
      next = link->next;
      /* After a failure the pause still applies: the request may have cost the connection. */
      if (item->request == NULL && item->pause == NULL && item->batched.batch == NULL)
        item_try (item);
    }
}

void
curator_reaper_close (CuratorReaper *reaper)
{
  reaper->closed = TRUE;
  while (reaper->items.head != NULL)
    {
      item_end (reaper->items.head->data,
                g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_CLOSED,
                                     "the client was closed; the session's end deletes the node"));
    }
}
