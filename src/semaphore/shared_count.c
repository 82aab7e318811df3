/* SharedCount: an integer in a node, read, written and followed.
 *
 * Mirrors SharedCount and SharedValue. Threads: any; the value is guarded by the client's mutex.
 *
 * NOTES: one data watch follows the node. The read that sets it again brings the new value, so only
 * values that came and went in between are missed. A dead session takes the watch with it, and the
 * next session sets it again. A watch that a server refuses is retried a little later. The server
 * compares versions.
 */
#include "semaphore/shared_count-private.h"

#include "client/call.h"
#include "client/client-private.h"
#include "client/listeners.h"
#include "client/log.h"
#include "client/monitor.h"
#include "client/request.h"
#include "client/session.h"
#include "client/settings.h"
#include "client/watches.h"
#include "client/zk_error.h"
#include "container.h"
#include "guards.h"
#include "lock/lock-private.h"

#define FOLLOW_RETRY_US (G_USEC_PER_SEC)

struct _CuratorSharedCount
{
  CuratorRefs refs;
  CuratorClient *client; /* a reference */
  char *path;            /* full */
  gint32 seed;

  gboolean started CURATOR_GUARDED;
  gboolean known CURATOR_GUARDED; /* the node was read */
  gint32 value CURATOR_GUARDED;
  gint32 version CURATOR_GUARDED;
  gint64 mzxid CURATOR_GUARDED; /* of the value: an older read must not overwrite a newer one */
  CuratorWatch *watch CURATOR_GUARDED;
  CuratorTimer *retry_timer CURATOR_GUARDED; /* sets the watch again */
  CuratorRequest *reread CURATOR_GUARDED;    /* after a reconnect */
  gboolean notify_again CURATOR_GUARDED;     /* listeners have heard nothing since a reconnect */
  CuratorSessionHook session_hook CURATOR_GUARDED;
  GQueue hooks CURATOR_GUARDED; /* CuratorCountHook */
  CuratorListeners listeners CURATOR_GUARDED;
};

static void follow (CuratorSharedCount *count) CURATOR_LOCKED;

static void
call_listener (GCallback func, gpointer count, int value, gpointer user_data)
{
  ((CuratorSharedCountListener) func) (count, value, user_data);
}

static gpointer
ref_count (gpointer count)
{
  return curator_refs_try_inc (&((CuratorSharedCount *) count)->refs) ? count : NULL;
}

static void
unref_count (gpointer count)
{
  curator_shared_count_unref (count);
}

static CURATOR_LOCKED void
forget_reread (CuratorSharedCount *count)
{
  if (count->reread != NULL)
    {
      curator_request_forget (count->reread);
      count->reread = NULL;
    }
}

static CURATOR_LOCKED void
notify_listeners (CuratorSharedCount *count)
{
  count->notify_again = FALSE;
  curator_listeners_notify (&count->listeners, count->client, call_listener, count, ref_count,
                            unref_count, count->value);
}

/* Listeners hear of every write, also of the same value; the first read is no write. */
static CURATOR_LOCKED void
store_value (CuratorSharedCount *count, gint32 value, gint32 version, gint64 mzxid)
{
  if (count->known && mzxid < count->mzxid)
    {
      return;
    }
  const gboolean changed = value != count->value;
  const gboolean written = count->known && mzxid > count->mzxid;
  count->known = TRUE;
  count->value = value;
  count->version = version;
  count->mzxid = mzxid;
  for (GList *link = changed ? count->hooks.head : NULL; link != NULL; link = link->next)
    {
      CuratorCountHook *hook = link->data;
      hook->changed (hook, value);
    }
  if (changed || written)
    {
      notify_listeners (count);
    }
}

static CURATOR_LOCKED void
store_reply (CuratorSharedCount *count, const CuratorZkReply *reply)
{
  gint32 value;
  if (curator_count_decode (reply->data, (gsize) MAX (reply->data_length, 0), &value))
    {
      store_value (count, value, reply->stat->version, reply->stat->mzxid);
      return;
    }
  curator_warn ("%s holds no shared count: its payload is too short", count->path);
}

static CURATOR_LOCKED void
on_reread (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorSharedCount *count = data;

  count->reread = NULL;
  if (rc == ZOK)
    {
      store_reply (count, reply);
      if (count->notify_again)
        {
          notify_listeners (count);
        }
    }
}

/* Listeners also hear the value after each reconnect. If this read fails, so does the connection. */
static CURATOR_LOCKED void
on_reconnected (CuratorSessionHook *hook)
{
  CuratorSharedCount *count = CURATOR_CONTAINER (hook, CuratorSharedCount, session_hook);

  forget_reread (count);
  count->notify_again = TRUE;
  count->reread = curator_request_get (hook->session, count->path, FALSE, on_reread, count);
}

static CURATOR_LOCKED void
stop_watching (CuratorSharedCount *count)
{
  curator_timer_cancel (count->client, &count->retry_timer);
  forget_reread (count);
  curator_session_remove_hook (&count->session_hook);
  g_clear_pointer (&count->watch, curator_watch_release);
}

/* Runs on the timer thread. */
static CURATOR_LOCKED void
on_retry_timer (gpointer data)
{
  CuratorSharedCount *count = data;
  count->retry_timer = NULL;
  follow (count);
}

static CURATOR_LOCKED void
on_watch (CuratorWatch *watch, CuratorWatchEvent event, int rc, const CuratorZkReply *reply,
          gpointer data)
{
  CuratorSharedCount *count = data;

  if (event == CURATOR_WATCH_ARMED && reply != NULL && reply->stat != NULL)
    {
      store_reply (count, reply);
    }
  else if (event == CURATOR_WATCH_FAILED && curator_zk_is_retryable (rc))
    {
      stop_watching (count);
      count->retry_timer =
          curator_timer_after (count->client, FOLLOW_RETRY_US, on_retry_timer, count);
    }
  else if (event == CURATOR_WATCH_GONE || event == CURATOR_WATCH_FAILED)
    {
      g_clear_pointer (&count->watch, curator_watch_release);
      curator_warn ("%s cannot be followed any more: %s", count->path,
                    rc == ZNONODE ? "it was deleted" : zerror (rc));
    }
}

static CURATOR_LOCKED void
on_session_died (CuratorSessionHook *hook)
{
  CuratorSharedCount *count = CURATOR_CONTAINER (hook, CuratorSharedCount, session_hook);
  forget_reread (count);
  g_clear_pointer (&count->watch, curator_watch_release);
  follow (count);
}

/* The watch is set as soon as the current session is connected. */
static CURATOR_LOCKED void
follow (CuratorSharedCount *count)
{
  CuratorSession *session = count->client->session;

  if (!count->started || session == NULL || count->watch != NULL)
    {
      return;
    }
  count->session_hook.died = on_session_died;
  count->session_hook.connected = on_reconnected;
  curator_session_add_hook (session, &count->session_hook);
  count->watch = curator_watch_add (session, count->path, ZWATCHTYPE_DATA, CURATOR_WATCH_NEEDED,
                                    on_watch, count);
}

static CURATOR_LOCKED void
unfollow (CuratorSharedCount *count)
{
  count->started = FALSE;
  stop_watching (count);
}

CuratorSharedCount *
curator_shared_count_new (CuratorClient *client, const char *path, gint32 seed, GError **error)
{
  g_return_val_if_fail (client != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);
  if (!curator_lock_check_path (client, path, error))
    {
      return NULL;
    }
  CuratorSharedCount *count = g_new0 (CuratorSharedCount, 1);
  curator_refs_init (&count->refs);
  count->client = curator_client_ref (client);
  count->path = curator_client_full_path (client, path);
  count->seed = seed;
  curator_not_shared ();
  count->value = seed;
  return count;
}

CuratorSharedCount *
curator_shared_count_ref (CuratorSharedCount *count)
{
  g_return_val_if_fail (count != NULL, NULL);
  curator_refs_inc (&count->refs);
  return count;
}

void
curator_shared_count_unref (CuratorSharedCount *count)
{
  g_return_if_fail (count != NULL);
  if (!curator_client_check_forked (count->client, NULL) || !curator_refs_dec (&count->refs))
    {
      return;
    }
  curator_shared_count_close (count);
  curator_listeners_clear (&count->listeners);
  curator_client_unref (count->client);
  g_free (count->path);
  g_free (count);
}

/* Reads the node and stores its value. */
static CURATOR_UNLOCKED gboolean
read_now (CuratorSharedCount *count, GError **error)
{
  g_autoptr (CuratorCallResult) result =
      curator_call (count->client, CURATOR_CALL_GET, count->path, NULL, 0, NULL, error);
  if (result == NULL)
    {
      return FALSE;
    }
  gsize length;
  const char *data = g_bytes_get_data (result->data, &length);
  gint32 value;
  if (!curator_count_decode (data, length, &value))
    {
      g_set_error_literal (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT,
                           "the node holds no shared count: its payload is too short");
      return FALSE;
    }
  curator_client_lock (count->client);
  store_value (count, value, result->version, result->mzxid);
  curator_client_unlock (count->client);
  return TRUE;
}

gboolean
curator_shared_count_start (CuratorSharedCount *count, GError **error)
{
  g_return_val_if_fail (count != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);
  g_autoptr (GError) local = NULL;
  g_autoptr (GBytes) seed = curator_count_encode (count->seed);
  g_autoptr (CuratorCallResult) created =
      curator_call (count->client, CURATOR_CALL_CREATE, count->path, seed, 0, NULL, &local);

  if (created == NULL && !g_error_matches (local, CURATOR_ZK_ERROR, ZNODEEXISTS))
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  if (!read_now (count, error))
    {
      return FALSE;
    }
  curator_client_lock (count->client);
  count->started = TRUE;
  follow (count);
  curator_client_unlock (count->client);
  return TRUE;
}

gint32
curator_shared_count_get (CuratorSharedCount *count)
{
  g_return_val_if_fail (count != NULL, 0);
  if (!curator_client_check_forked (count->client, NULL))
    {
      return 0;
    }
  curator_client_lock (count->client);
  const gint32 value = count->value;
  curator_client_unlock (count->client);
  return value;
}

gboolean
curator_shared_count_get_versioned (CuratorSharedCount *count, gint32 *value, gint32 *version)
{
  g_return_val_if_fail (count != NULL, FALSE);
  if (!curator_client_check_forked (count->client, NULL))
    {
      return FALSE;
    }
  curator_client_lock (count->client);
  const gboolean known = count->known;
  if (known && value != NULL)
    {
      *value = count->value;
    }
  if (known && version != NULL)
    {
      *version = count->version;
    }
  curator_client_unlock (count->client);
  return known;
}

static CURATOR_UNLOCKED gboolean
check_started (CuratorSharedCount *count, GError **error)
{
  if (!curator_client_check_usable (count->client, error))
    {
      return FALSE;
    }
  curator_client_lock (count->client);
  const gboolean started = count->started;
  curator_client_unlock (count->client);
  if (!started)
    {
      g_set_error (error, CURATOR_ERROR, CURATOR_ERROR_NOT_STARTED,
                   "the shared count %s is not started", count->path);
    }
  return started;
}

/* A written value counts at once, without waiting for the watch. */
static CURATOR_UNLOCKED CuratorCallResult *
write_now (CuratorSharedCount *count, gint32 value, gint32 version, gboolean *repeated,
           GError **error)
{
  g_autoptr (GBytes) bytes = curator_count_encode (value);
  CuratorCallResult *result = check_started (count, error)
                                  ? curator_call (count->client, CURATOR_CALL_SET, count->path,
                                                  bytes, version, repeated, error)
                                  : NULL;
  if (result != NULL)
    {
      curator_client_lock (count->client);
      store_value (count, value, result->version, result->mzxid);
      curator_client_unlock (count->client);
    }
  return result;
}

gboolean
curator_shared_count_set (CuratorSharedCount *count, gint32 value, GError **error)
{
  g_return_val_if_fail (count != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);
  g_autoptr (CuratorCallResult) result = write_now (count, value, -1, NULL, error);
  return result != NULL;
}

gboolean
curator_shared_count_try_set (CuratorSharedCount *count, gint32 version, gint32 value,
                              gboolean *set, GError **error)
{
  g_return_val_if_fail (count != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);
  if (version == -1)
    {
      g_set_error_literal (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT,
                           "version -1 would overwrite the count whatever its version is");
      return FALSE;
    }
  g_autoptr (GError) local = NULL;
  gboolean repeated = FALSE;
  g_autoptr (CuratorCallResult) result = write_now (count, value, version, &repeated, &local);

  if (result == NULL && !g_error_matches (local, CURATOR_ZK_ERROR, ZBADVERSION))
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  if (result == NULL && !read_now (count, error))
    {
      return FALSE;
    }
  /* A repeated write may have failed because its first try succeeded. */
  gint32 now_value = 0;
  gint32 now_version = 0;
  curator_shared_count_get_versioned (count, &now_value, &now_version);
  if (set != NULL)
    {
      *set = result != NULL
             || (repeated && now_value == value && (guint32) now_version == (guint32) version + 1);
    }
  return TRUE;
}

guint
curator_shared_count_add_listener (CuratorSharedCount *count, CuratorSharedCountListener listener,
                                   gpointer user_data, GDestroyNotify destroy)
{
  g_return_val_if_fail (count != NULL && listener != NULL, 0);
  if (!curator_client_check_forked (count->client, NULL))
    {
      return 0;
    }
  curator_client_lock (count->client);
  const guint id =
      curator_listeners_add (&count->listeners, G_CALLBACK (listener), user_data, destroy);
  curator_client_unlock (count->client);
  return id;
}

void
curator_shared_count_remove_listener (CuratorSharedCount *count, guint id)
{
  g_return_if_fail (count != NULL);
  curator_listeners_remove (&count->listeners, count->client, id);
}

void
curator_shared_count_close (CuratorSharedCount *count)
{
  g_return_if_fail (count != NULL);
  if (!curator_client_check_forked (count->client, NULL))
    {
      return;
    }
  curator_client_lock (count->client);
  unfollow (count);
  curator_client_unlock (count->client);
}

CuratorClient *
curator_shared_count_get_client (CuratorSharedCount *count)
{
  return count->client;
}

void
curator_shared_count_add_hook (CuratorSharedCount *count, CuratorCountHook *hook)
{
  curator_client_lock (count->client);
  hook->link = (GList){ .data = hook };
  g_queue_push_tail_link (&count->hooks, &hook->link);
  hook->changed (hook, count->value);
  curator_client_unlock (count->client);
}

void
curator_shared_count_remove_hook (CuratorSharedCount *count, CuratorCountHook *hook)
{
  curator_client_lock (count->client);
  g_queue_unlink (&count->hooks, &hook->link);
  curator_client_unlock (count->client);
}
