/* SharedCount: an integer in a node, read, written and followed.
 *
 * Mirrors SharedCount and SharedValue. Threads: any; guarded by the client's mutex. The server
 * compares versions.
 *
 * NOTES: one data watch follows the node. The read that sets it again brings the new value, so only
 * values that came and went in between are missed. A dead session takes the watch with it, and the
 * next session sets it again. A watch that a server refuses is retried a little later.
 */
#include "semaphore/shared_count-private.h"

#include "base/container.h"
#include "base/fork_gate.h"
#include "base/gzip.h"
#include "core/log.h"
#include "core/monitor.h"
#include "core/namespace.h"
#include "core/zk_error.h"
#include "lock/lock-private.h"
#include "nodes/call.h"
#include "session/request.h"
#include "session/watches.h"

#define FOLLOW_RETRY_US (G_USEC_PER_SEC)

struct _CuratorSharedCount
{
  CuratorTag tag;
  CuratorRefs refs;
  CuratorClient *client; /* a reference */
  char *given;           /* the user's path */
  char *path;            /* full */
  gint32 seed;

  gboolean started CURATOR_GUARDED;
  gboolean known CURATOR_GUARDED;    /* the node was read */
  gboolean is_stale CURATOR_GUARDED; /* the last read brought no value */
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

CURATOR_DESTROY_FUNC (unref_count, curator_shared_count_unref)

/* The payload of the node: four bytes, the highest first. */
static GBytes *
encode (gint32 value)
{
  const guint32 wire = GUINT32_TO_BE ((guint32) value);
  return g_bytes_new (&wire, sizeof wire);
}

/* FALSE for a payload that holds no count. One longer than four bytes may be compressed. */
static gboolean
decode (const char *data, gsize length, gint32 *value)
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
                            unref_count, count->value);
}

/* Stores a value and notifies of it, unless a newer one is known. Listeners hear of every write, also
 * of the same value; the first read is no write. */
static CURATOR_LOCKED void
store (CuratorSharedCount *count, gint32 value, gint32 version, gint64 mzxid)
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

  if (decode (reply->data, (gsize) MAX (reply->data_length, 0), &value)) {
    count->is_stale = FALSE;
    store (count, value, reply->stat->version, reply->stat->mzxid);
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
  follow (count);
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
  follow (count);
}

/* The watch is set as soon as the current session is connected. */
static void
follow (CuratorSharedCount *count)
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

CuratorSharedCount *
curator_shared_count_new (CuratorClient *client, const char *path, gint32 seed, GError **error)
{
  CURATOR_CHECK_CALL (CURATOR_IS_CLIENT (client), error, NULL);
  if (!curator_lock_check_path (client, path, error))
    return NULL;
  CuratorSharedCount *count = g_new (CuratorSharedCount, 1);
  *count = (CuratorSharedCount){ .tag = CURATOR_TAG_SHARED_COUNT,
                                 .client = curator_client_ref (client),
                                 .given = g_strdup (path),
                                 .path = curator_client_full_path (client, path),
                                 .seed = seed,
                                 .value = seed };
  curator_refs_init (&count->refs);
  return count;
}

CURATOR_REF_FUNC (curator_shared_count_ref, CuratorSharedCount, SHARED_COUNT)
CURATOR_GETTER (const char *, curator_shared_count_get_path, const CuratorSharedCount, SHARED_COUNT,
                given, NULL)
CURATOR_GETTER (CuratorClient *, curator_shared_count_get_client, const CuratorSharedCount,
                SHARED_COUNT, client, NULL)

void
curator_shared_count_unref (CuratorSharedCount *count)
{
  g_return_if_fail (CURATOR_IS_SHARED_COUNT (count));
  if (!curator_client_check_forked (count->client, NULL) || !curator_refs_dec (&count->refs))
    return;
  curator_shared_count_close (count);
  curator_listeners_clear (&count->listeners);
  curator_client_unref (count->client);
  g_free (count->given);
  g_free (count->path);
  curator_tag_clear (count);
  g_free (count);
}

/* Reads the node and stores its value. */
static CURATOR_UNLOCKED gboolean
read_now (CuratorSharedCount *count, const CuratorLimits *limits, GError **error)
{
  g_autoptr (CuratorCallResult) result =
      curator_call (limits, CURATOR_CALL_GET, count->path, NULL, 0, NULL, error);
  if (result == NULL)
    return FALSE;
  gsize length;
  const char *data = g_bytes_get_data (result->data, &length);
  gint32 value;
  if (!decode (data, length, &value))
    return CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT,
                           "the node holds no shared count: its payload cannot be read as one");
  curator_client_lock (count->client);
  store (count, value, result->version, result->mzxid);
  curator_client_unlock (count->client);
  return TRUE;
}

gboolean
curator_shared_count_start (CuratorSharedCount *count, gint64 timeout_ms, GCancellable *cancellable,
                            GError **error)
{
  CURATOR_INSIDE_GATE;
  CuratorLimits limits;

  CURATOR_CHECK_WAITING (CURATOR_IS_SHARED_COUNT (count), cancellable, error, FALSE);
  if (!curator_limits_init (&limits, count->client, timeout_ms, cancellable, error))
    return FALSE;
  g_autoptr (GError) local = NULL;
  g_autoptr (GBytes) seed = encode (count->seed);
  g_autoptr (CuratorCallResult) created =
      curator_call (&limits, CURATOR_CALL_CREATE, count->path, seed, 0, NULL, &local);

  if (created == NULL && !g_error_matches (local, CURATOR_ZK_ERROR, ZNODEEXISTS)) {
    g_propagate_error (error, g_steal_pointer (&local));
    return FALSE;
  }
  if (!read_now (count, &limits, error))
    return FALSE;
  curator_client_lock (count->client);
  count->started = TRUE;
  follow (count);
  curator_client_unlock (count->client);
  return TRUE;
}

gint32
curator_shared_count_get (const CuratorSharedCount *count)
{
  g_return_val_if_fail (CURATOR_IS_SHARED_COUNT (count), 0);
  return CURATOR_UNLESS_FORKED (count->client, count->value, 0);
}

gboolean
curator_shared_count_get_versioned (const CuratorSharedCount *count, gint32 *value, gint32 *version)
{
  g_return_val_if_fail (CURATOR_IS_SHARED_COUNT (count), FALSE);
  if (!curator_client_check_forked (count->client, NULL))
    return FALSE;
  curator_client_lock (count->client);
  const gboolean known = count->known;
  if (known && value != NULL)
    *value = count->value;
  if (known && version != NULL)
    *version = count->version;
  curator_client_unlock (count->client);
  return known;
}

/* A written value counts at once, without waiting for the watch. */
static CURATOR_UNLOCKED CuratorCallResult *
write_now (CuratorSharedCount *count, const CuratorLimits *limits, gint32 value, gint32 version,
           gboolean *repeated, GError **error)
{
  const gboolean started = CURATOR_WITH_MUTEX (count->client, count->started);
  if (!started) {
    g_set_error (error, CURATOR_ERROR, CURATOR_ERROR_NOT_STARTED,
                 "the shared count %s is not started", count->path);
    return NULL;
  }
  g_autoptr (GBytes) bytes = encode (value);
  CuratorCallResult *result =
      curator_call (limits, CURATOR_CALL_SET, count->path, bytes, version, repeated, error);
  if (result != NULL) {
    curator_client_lock (count->client);
    store (count, value, result->version, result->mzxid);
    curator_client_unlock (count->client);
  }
  return result;
}

gboolean
curator_shared_count_set (CuratorSharedCount *count, gint32 value, gint64 timeout_ms,
                          GCancellable *cancellable, GError **error)
{
  CURATOR_INSIDE_GATE;
  CuratorLimits limits;

  CURATOR_CHECK_WAITING (CURATOR_IS_SHARED_COUNT (count), cancellable, error, FALSE);
  if (!curator_limits_init (&limits, count->client, timeout_ms, cancellable, error))
    return FALSE;
  g_autoptr (CuratorCallResult) result = write_now (count, &limits, value, -1, NULL, error);
  return result != NULL;
}

gboolean
curator_shared_count_try_set (CuratorSharedCount *count, gint32 version, gint32 value,
                              gboolean *set, gint64 timeout_ms, GCancellable *cancellable,
                              GError **error)
{
  CURATOR_INSIDE_GATE;
  CuratorLimits limits;

  CURATOR_CHECK_WAITING (CURATOR_IS_SHARED_COUNT (count), cancellable, error, FALSE);
  if (version == -1)
    return CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT,
                           "version -1 would overwrite the count whatever its version is");
  if (!curator_limits_init (&limits, count->client, timeout_ms, cancellable, error))
    return FALSE;
  g_autoptr (GError) local = NULL;
  gboolean repeated = FALSE;
  g_autoptr (CuratorCallResult) result =
      write_now (count, &limits, value, version, &repeated, &local);

  if (result == NULL && !g_error_matches (local, CURATOR_ZK_ERROR, ZBADVERSION)) {
    g_propagate_error (error, g_steal_pointer (&local));
    return FALSE;
  }
  if (result == NULL && !read_now (count, &limits, error))
    return FALSE;
  /* A repeated write may have failed because its first try succeeded. */
  gint32 now_value = 0;
  gint32 now_version = 0;
  curator_shared_count_get_versioned (count, &now_value, &now_version);
  if (set != NULL)
    *set = result != NULL
           || (repeated && now_value == value && (guint32) now_version == (guint32) version + 1);
  return TRUE;
}

guint
curator_shared_count_add_listener (CuratorSharedCount *count, CuratorSharedCountListener listener,
                                   gpointer user_data, GDestroyNotify destroy)
{
  g_return_val_if_fail (CURATOR_IS_SHARED_COUNT (count) && listener != NULL, 0);
  return CURATOR_UNLESS_FORKED (count->client,
                                curator_listeners_add (&count->listeners, count->client,
                                                       G_CALLBACK (listener), user_data, destroy),
                                0);
}

void
curator_shared_count_remove_listener (CuratorSharedCount *count, guint id)
{
  g_return_if_fail (CURATOR_IS_SHARED_COUNT (count));
  curator_listeners_remove (&count->listeners, count->client, id);
}

void
curator_shared_count_close (CuratorSharedCount *count)
{
  g_return_if_fail (CURATOR_IS_SHARED_COUNT (count));
  if (!curator_client_check_forked (count->client, NULL))
    return;
  curator_client_lock (count->client);
  count->started = FALSE;
  stop_watching (count);
  curator_client_unlock (count->client);
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
