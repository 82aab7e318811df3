/* The watch that follows a SharedCount, and its last known value.
 *
 * Mirrors SharedValue's watcher. Threads: any; guarded by the client's mutex.
 *
 * NOTES: one data watch follows the node. The read that sets it again brings the new value, so only
 * values that came and went in between are missed. A dead session takes the watch with it, and the
 * next session sets it again. A watch that a server refuses is retried a little later.
 */
#include "semaphore/shared_count-private.h"

#include "base/container.h"
#include "base/gzip.h"
#include "core/log.h"
#include "core/zk_error.h"

#include <string.h>

#define FOLLOW_RETRY_US (G_USEC_PER_SEC)

GBytes *
curator_count_encode (gint32 value)
{
  const guint32 wire = GUINT32_TO_BE ((guint32) value);
  return g_bytes_new (&wire, sizeof wire);
}

gboolean
curator_count_decode (const char *data, gsize length, gint32 *value)
{
  guint32 wire;
  g_autoptr (GBytes) plain = NULL;

  if (length > sizeof wire && curator_is_gzip (data, length)) {
    plain = curator_gunzip (data, length, sizeof wire);
    data = plain != NULL ? g_bytes_get_data (plain, &length) : NULL;
  }
  if (data == NULL || length < sizeof wire)
    return FALSE;
  memcpy (&wire, data, sizeof wire);
  *value = (gint32) GUINT32_FROM_BE (wire);
  return TRUE;
}

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

static CURATOR_LOCKED void
notify_listeners (CuratorSharedCount *count)
{
  count->notify_again = FALSE;
  curator_listeners_notify (&count->listeners, 0, count->client, call_listener, count, ref_count,
                            count->unref, count->value);
}

/* Listeners hear of every write, also of the same value; the first read is no write. */
void
curator_shared_count_store (CuratorSharedCount *count, gint32 value, gint32 version, gint64 mzxid)
{
  if (count->known && mzxid < count->mzxid)
    return;
  const gboolean changed = value != count->value;
  const gboolean written = count->known && mzxid > count->mzxid;
  count->known = TRUE;
  count->value = value;
  count->version = version;
  count->mzxid = mzxid;
  for (GList *link = changed ? count->hooks.head : NULL; link != NULL; link = link->next) {
    CuratorCountHook *hook = link->data;
    hook->changed (hook, value);
  }
  if (changed || written)
    notify_listeners (count);
}

/* A node without a readable count is read again and again, and warned of once. */
static CURATOR_LOCKED void
store_reply (CuratorSharedCount *count, const CuratorZkReply *reply)
{
  gint32 value;

  if (curator_count_decode (reply->data, (gsize) MAX (reply->data_length, 0), &value)) {
    count->is_stale = FALSE;
    curator_shared_count_store (count, value, reply->stat->version, reply->stat->mzxid);
  } else if (!count->is_stale) {
    count->is_stale = TRUE;
    curator_warn ("no shared count can be read at %s: its last value is kept", count->path);
  }
}

static CURATOR_LOCKED void
on_reread (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorSharedCount *count = data;

  count->reread = NULL;
  if (rc == ZOK) {
    store_reply (count, reply);
    if (count->notify_again)
      notify_listeners (count);
  }
}

/* Listeners also hear the value after each reconnect. If this read fails, so does the
 * connection. */
static CURATOR_LOCKED void
on_reconnected (CuratorSessionHook *hook)
{
  CuratorSharedCount *count = CURATOR_CONTAINER (hook, CuratorSharedCount, session_hook);

  g_clear_pointer (&count->reread, curator_request_forget);
  count->notify_again = TRUE;
  count->reread = curator_request_get (hook->session, count->path, FALSE, on_reread, count);
}

static CURATOR_LOCKED void
stop_watching (CuratorSharedCount *count)
{
  curator_timer_cancel (count->client, &count->retry_timer);
  g_clear_pointer (&count->reread, curator_request_forget);
  curator_session_remove_hook (&count->session_hook);
  g_clear_pointer (&count->watch, curator_watch_release);
}

/* Runs on the timer thread. */
static CURATOR_LOCKED void
on_retry_timer (gpointer data)
{
  CuratorSharedCount *count = data;
  count->retry_timer = NULL;
  curator_shared_count_follow (count);
}

static CURATOR_LOCKED void
on_watch (CuratorWatch *watch, CuratorWatchEvent event, int rc, const CuratorZkReply *reply,
          gpointer data)
{
  CuratorSharedCount *count = data;

  if (event == CURATOR_WATCH_ARMED && reply != NULL && reply->stat != NULL) {
    store_reply (count, reply);
  } else if (event == CURATOR_WATCH_FAILED && curator_zk_is_retryable (rc)) {
    stop_watching (count);
    count->retry_timer =
        curator_timer_after (count->client, FOLLOW_RETRY_US, on_retry_timer, count);
  } else if (event == CURATOR_WATCH_GONE || event == CURATOR_WATCH_FAILED) {
    g_clear_pointer (&count->watch, curator_watch_release);
    curator_warn ("%s cannot be followed any more: %s", count->path,
                  rc == ZNONODE ? "it was deleted" : zerror (rc));
  }
}

static CURATOR_LOCKED void
on_session_died (CuratorSessionHook *hook)
{
  CuratorSharedCount *count = CURATOR_CONTAINER (hook, CuratorSharedCount, session_hook);
  g_clear_pointer (&count->reread, curator_request_forget);
  g_clear_pointer (&count->watch, curator_watch_release);
  curator_shared_count_follow (count);
}

/* The watch is set as soon as the current session is connected. */
void
curator_shared_count_follow (CuratorSharedCount *count)
{
  CuratorSession *session = count->client->session;

  if (!count->started || session == NULL || count->watch != NULL)
    return;
  count->session_hook.died = on_session_died;
  count->session_hook.connected = on_reconnected;
  curator_session_add_hook (session, &count->session_hook);
  count->watch = curator_watch_add (session, count->path, ZWATCHTYPE_DATA, CURATOR_WATCH_NEEDED,
                                    on_watch, count);
}

void
curator_shared_count_unfollow (CuratorSharedCount *count)
{
  count->started = FALSE;
  stop_watching (count);
}
