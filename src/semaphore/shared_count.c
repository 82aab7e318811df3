/* SharedCount: an integer in a node, read and written.
 *
 * Mirrors SharedCount and SharedValue. Threads: any; the value is guarded by the client's mutex.
 * The server compares versions.
 */
#include "semaphore/shared_count-private.h"

#include "base/fork_gate.h"
#include "base/tag.h"
#include "core/monitor.h"
#include "core/namespace.h"
#include "lock/lock-private.h"
#include "nodes/call.h"

CURATOR_DESTROY_FUNC (unref_count, curator_shared_count_unref)

CuratorSharedCount *
curator_shared_count_new (CuratorClient *client, const char *path, gint32 seed, GError **error)
{
  CURATOR_CHECK_CALL (CURATOR_IS_CLIENT (client), error, NULL);
  if (!curator_lock_check_path (client, path, error))
    return NULL;
  CuratorSharedCount *count = g_new0 (CuratorSharedCount, 1);
  count->tag = CURATOR_TAG_SHARED_COUNT;
  curator_refs_init (&count->refs);
  count->client = curator_client_ref (client);
  count->given = g_strdup (path);
  count->path = curator_client_full_path (client, path);
  count->unref = unref_count;
  count->seed = seed;
  curator_not_shared ();
  count->value = seed;
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
  if (!curator_count_decode (data, length, &value))
    return CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT,
                           "the node holds no shared count: its payload cannot be read as one");
  curator_client_lock (count->client);
  curator_shared_count_store (count, value, result->version, result->mzxid);
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
  g_autoptr (GBytes) seed = curator_count_encode (count->seed);
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
  curator_shared_count_follow (count);
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

static CURATOR_UNLOCKED gboolean
check_started (CuratorSharedCount *count, GError **error)
{
  curator_client_lock (count->client);
  const gboolean started = count->started;
  curator_client_unlock (count->client);
  if (!started)
    g_set_error (error, CURATOR_ERROR, CURATOR_ERROR_NOT_STARTED,
                 "the shared count %s is not started", count->path);
  return started;
}

/* A written value counts at once, without waiting for the watch. */
static CURATOR_UNLOCKED CuratorCallResult *
write_now (CuratorSharedCount *count, const CuratorLimits *limits, gint32 value, gint32 version,
           gboolean *repeated, GError **error)
{
  g_autoptr (GBytes) bytes = curator_count_encode (value);
  CuratorCallResult *result =
      check_started (count, error)
          ? curator_call (limits, CURATOR_CALL_SET, count->path, bytes, version, repeated, error)
          : NULL;
  if (result != NULL) {
    curator_client_lock (count->client);
    curator_shared_count_store (count, value, result->version, result->mzxid);
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
  curator_shared_count_unfollow (count);
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
