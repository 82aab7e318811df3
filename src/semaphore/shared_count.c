/* SharedCount: an integer in a node, read, written and followed.
 *
 * Mirrors SharedCount and SharedValue. Threads: any; guarded by the client's mutex. The server
 * compares versions.
 *
 * NOTES: a server counts the versions of a node from 0. A version that a caller knows goes on where
 * that of the node's former life ended, so that none comes twice.
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
#include "session/follow.h"

struct _CuratorSharedCount
{
  CuratorTag tag;
  CuratorRefs refs;
  CuratorClient *client; /* a reference */
  char *given;           /* the user's path */
  char *path;            /* full */
  gint32 seed;
  CuratorFollower follower;

  gboolean started CURATOR_GUARDED;
  gboolean known CURATOR_GUARDED;    /* the node was read */
  gboolean is_stale CURATOR_GUARDED; /* the last read brought no value */
  gint32 value CURATOR_GUARDED;
  guint32 version CURATOR_GUARDED; /* as callers know it */
  guint32 first CURATOR_GUARDED;   /* of them in this life of the node */
  gint64 czxid CURATOR_GUARDED;    /* its life */
  gint64 mzxid CURATOR_GUARDED;    /* of the value: an older read must not overwrite a newer one */
  GQueue hooks CURATOR_GUARDED;    /* CuratorCountHook */
  CuratorListeners listeners CURATOR_GUARDED;
};

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
  curator_listeners_notify (&count->listeners, 0, count->client, call_listener, count, ref_count,
                            unref_count, count->value);
}

/* The node is gone. The version after the last would look like that of a write whose answer was
 * lost. */
static CURATOR_LOCKED void
end_life (CuratorSharedCount *count)
{
  count->first = count->version + 2;
}

/* Stores a value and notifies of it, unless a newer one is known. Listeners hear of every write, also
 * of the same value; the first read is no write. FALSE: they have not been notified. */
static CURATOR_LOCKED gboolean
store (CuratorSharedCount *count, gint32 value, const struct Stat *stat)
{
  if (count->known && stat->mzxid < count->mzxid)
    return FALSE;
  const gboolean changed = value != count->value;
  const gboolean written = count->known && stat->mzxid > count->mzxid;
  if (count->known && stat->czxid != count->czxid)
    end_life (count);
  count->known = TRUE;
  count->value = value;
  count->version = count->first + (guint32) stat->version;
  count->czxid = stat->czxid;
  count->mzxid = stat->mzxid;
  for (GList *link = changed ? count->hooks.head : NULL; link != NULL; link = link->next) {
    CuratorCountHook *hook = link->data;
    hook->changed (hook, value);
  }
  if (changed || written)
    notify_listeners (count);
  return changed || written;
}

/* Until there is a value again. */
static CURATOR_LOCKED void
warn_once (CuratorSharedCount *count, const char *why)
{
  if (!count->is_stale)
    curator_warn ("no shared count can be read at %s, its last value is kept: %s", count->path,
                  why);
  count->is_stale = TRUE;
}

static CURATOR_LOCKED gboolean
store_reply (CuratorSharedCount *count, const CuratorZkReply *reply)
{
  gint32 value;

  if (!decode (reply->data, (gsize) MAX (reply->data_length, 0), &value)) {
    warn_once (count, "the node has no count, or may not be read");
    return FALSE;
  }
  count->is_stale = FALSE;
  return store (count, value, reply->stat);
}

/* Listeners hear the value once after each reconnect, too. */
static CURATOR_LOCKED void
on_told (CuratorFollower *follower, int rc, const CuratorZkReply *reply)
{
  CuratorSharedCount *count = CURATOR_CONTAINER (follower, CuratorSharedCount, follower);

  if (rc == ZNONODE)
    end_life (count);
  if (rc != ZOK)
    warn_once (count, rc == ZNONODE ? "the node was deleted" : zerror (rc));
  else if (reply != NULL && !store_reply (count, reply) && follower->is_anew)
    notify_listeners (count);
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
  count->follower = (CuratorFollower){
    .client = client, .path = count->path, .told = on_told, .need = CURATOR_WATCH_NEEDED
  };
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
  store (count, value, &result->stat);
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
  curator_follower_start (&count->follower);
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
    *version = (gint32) count->version;
  curator_client_unlock (count->client);
  return known;
}

/* What the server calls it. FALSE for that of a former life of the node. */
static CURATOR_LOCKED gboolean
to_server (const CuratorSharedCount *count, gint32 *version)
{
  *version = (gint32) ((guint32) *version - count->first);
  return count->first == 0 || *version >= 0;
}

/* A written value counts at once, without waiting for the watch. version: -1 for any. */
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
  if (version != -1 && !CURATOR_WITH_MUTEX (count->client, to_server (count, &version))) {
    g_set_error (error, CURATOR_ZK_ERROR, ZBADVERSION, "%s was deleted and made anew", count->path);
    return NULL;
  }
  g_autoptr (GBytes) bytes = encode (value);
  CuratorCallResult *result =
      curator_call (limits, CURATOR_CALL_SET, count->path, bytes, version, repeated, error);
  if (result != NULL) {
    curator_client_lock (count->client);
    store (count, value, &result->stat);
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
  curator_follower_stop (&count->follower);
  curator_client_unlock (count->client);
}

void
curator_shared_count_add_hook (CuratorSharedCount *count, CuratorCountHook *hook)
{
  curator_client_lock (count->client);
  curator_link_place (&hook->place, &count->hooks, hook);
  hook->changed (hook, count->value);
  curator_client_unlock (count->client);
}

void
curator_shared_count_remove_hook (CuratorSharedCount *count, CuratorCountHook *hook)
{
  curator_client_lock (count->client);
  curator_link_place (&hook->place, NULL, hook);
  curator_client_unlock (count->client);
}
