/* A client: creates its parts, starts them, and closes them in order.
 *
 * Mirrors CuratorFrameworkImpl. Threads: any; guarded by the client's mutex.
 */
#include "core/client-record.h"

#include "base/fork_gate.h"
#include "base/tag.h"
#include "base/thread_start.h"
#include "base/threads.h"
#include "channel/channel_error.h"
#include "client/host_address.h"
#include "client/session_close.h"
#include "client/session_states.h"
#include "client/settings.h"
#include "core/async.h"
#include "core/cond_init.h"
#include "core/dispatch.h"
#include "core/monitor.h"
#include "core/op.h"
#include "nodes/deletion.h"
#include "retry/retry_policy.h"
#include "session/connection.h"
#include "session/connection_error.h"

static CURATOR_LOCKED void *
free_now (void *data)
{
  CuratorClient *client = data;
  const CuratorThreadRole before = curator_thread_change_role (NULL, FALSE);

  curator_settings_clear (client);
  curator_listeners_clear (&client->listeners);
  curator_connection_error_clear (client);
  curator_gate_enter ();
  curator_deletions_free (client->deletions);
  g_clear_pointer (&client->known, g_ptr_array_unref);
  curator_attached_free (client->attached);
  curator_dispatch_free (client->dispatch);
  curator_gate_leave ();
  if (client->ops->free != NULL)
    client->ops->free (client->ops);
  pthread_cond_destroy (&client->ended);
  pthread_mutex_destroy (&client->mutex);
  curator_tag_clear (client);
  g_free (client);
  curator_thread_change_role (before.client, before.is_ours);
  return NULL;
}

/* The lanes have ended, and what is left frees what is the user's. */
static CURATOR_LOCKED void
free_client (CuratorClient *client)
{
  const gboolean has_user_data = client->settings.trace_destroy != NULL
                                 || !client->settings.retry_policy->is_builtin
                                 || curator_listeners_count (&client->listeners) > 0
                                 || curator_connection_error_has_listeners (client);

  if (!curator_thread_role ().is_ours || !client->ops->threads || !has_user_data
      || curator_thread_start_detached ("curator-calls", free_now, client) != 0)
    free_now (client);
}

CuratorClient *
curator_client_new_with_ops (const char *connect_string, CuratorRetryPolicy *retry_policy,
                             CuratorZkOps *ops)
{
  CURATOR_INSIDE_GATE;
  CuratorClient *client = g_new0 (CuratorClient, 1);

  curator_not_shared ();
  client->tag = CURATOR_TAG_CLIENT;
  curator_refs_init (&client->refs);
  curator_refs_init (&client->memory);
  curator_forks_watch ();
  client->fork_generation = curator_fork_generation ();
  client->ops = ops;
  client->free = free_client;
  curator_settings_init (client, connect_string, retry_policy);
  client->dispatch = curator_dispatch_new ();
  client->deletions = curator_deletions_new ();
  curator_connection_error_init (client);
  client->state = CURATOR_CONNECTION_STATE_SUSPENDED;
  client->listeners.on_state_lane = TRUE;
  pthread_mutex_init (&client->mutex, NULL);
  curator_cond_init (&client->ended, FALSE);
  return client;
}

CuratorClient *
curator_client_new (const char *connect_string, CuratorRetryPolicy *retry_policy)
{
  g_return_val_if_fail (retry_policy == NULL || CURATOR_IS_RETRY_POLICY (retry_policy), NULL);
  return curator_client_new_with_ops (connect_string, retry_policy, curator_zk_ops_real ());
}

CURATOR_REF_FUNC (curator_client_ref, CuratorClient, CLIENT)

static CURATOR_UNLOCKED void
close_client (CuratorClient *client, gboolean may_wait)
{
  curator_client_lock (client);
  if (client->life != CURATOR_LIFE_STOPPED) {
    g_atomic_int_set (&client->life, CURATOR_LIFE_STOPPED);
    client->state = CURATOR_CONNECTION_STATE_LOST;
    curator_client_cancel_ops (client, ZCLOSING);
    curator_session_close_all (client);
    curator_dispatch_stop (client);
    /* Unlocking runs the callers' completions now; they must not wait for the handle to close. */
    curator_client_unlock (client);
    curator_client_lock (client);
  }
  if (may_wait)
    curator_dispatch_join (client);
  curator_client_unlock (client);
}

void
curator_client_unref (CuratorClient *client)
{
  g_return_if_fail (CURATOR_IS_CLIENT (client));
  /* The child of a fork has none of our threads, and closing would end the parent's session. */
  if (client->fork_generation != curator_fork_generation ())
    return;
  if (curator_refs_dec (&client->refs)) {
    /* A thread that serves a client must not wait: two of them could wait for each other. But the
       * program's handle is free when its last reference is gone. */
    const CuratorThreadRole role = curator_thread_role ();
    close_client (client, role.client == NULL || (client->ops->is_shared && !role.is_ours));
    curator_client_memory_unref (client);
  }
}

static CURATOR_LOCKED gboolean
check_latent (CuratorClient *client, GError **error)
{
  const gboolean started = client->life == CURATOR_LIFE_STARTED;
  return client->life == CURATOR_LIFE_LATENT
         || CURATOR_REFUSE (error, started ? CURATOR_ERROR_ALREADY_STARTED : CURATOR_ERROR_CLOSED,
                            started ? "the client was already started" : "the client is closed");
}

gboolean
curator_client_start (CuratorClient *client, GError **error)
{
  CURATOR_CHECK_CALL (CURATOR_IS_CLIENT (client), error, FALSE);
  if (!curator_client_check_forked (client, error))
    return FALSE;
  curator_client_lock (client);
  const gboolean may_start = check_latent (client, error) && curator_check_random (error);
  curator_client_unlock (client);
  if (!may_start || !curator_settings_prepare (client, error))
    return FALSE;

  curator_client_lock (client);
  const gboolean started = check_latent (client, error) && curator_dispatch_start (client, error);
  if (started) {
    g_atomic_int_set (&client->life, CURATOR_LIFE_STARTED);
    curator_host_address_look_up (client);
    curator_session_open (client);
  }
  curator_client_unlock (client);
  return started;
}

void
curator_client_close (CuratorClient *client)
{
  g_return_if_fail (CURATOR_IS_CLIENT (client));
  if (curator_client_check_forked (client, NULL))
    close_client (client, TRUE);
}

CURATOR_DESTROY_FUNC (unref_client, curator_client_unref)

static void
deliver_connected (GCallback callback, gpointer client, gpointer result, const GError *error,
                   gpointer user_data)
{
  ((CuratorClientConnectedCallback) callback) (client, error, user_data);
}

void
curator_client_block_until_connected_then (CuratorClient *client, gint64 timeout_ms,
                                           GCancellable *cancellable,
                                           CuratorClientConnectedCallback callback,
                                           gpointer user_data)
{
  g_return_if_fail (CURATOR_IS_CLIENT (client) && callback != NULL);
  g_return_if_fail (curator_is_cancellable (cancellable));
  CuratorAsync *async = curator_async_new (client, curator_client_ref (client), unref_client,
                                           deliver_connected, G_CALLBACK (callback), user_data);
  GError *error = NULL;
  CuratorOp *op = curator_check_call (client, cancellable, &error)
                      ? curator_connection_wait (client, timeout_ms, curator_async_done, async)
                      : NULL;

  curator_async_started (async, op, cancellable, error);
}

static void
deliver_closed (GCallback callback, gpointer client, gpointer result, const GError *error,
                gpointer user_data)
{
  ((CuratorClientCloseCallback) callback) (client, user_data);
}

static CURATOR_UNLOCKED void
on_closed (gpointer async)
{
  curator_async_end (async, NULL);
}

void
curator_client_close_then (CuratorClient *client, CuratorClientCloseCallback callback,
                           gpointer user_data)
{
  g_return_if_fail (CURATOR_IS_CLIENT (client) && callback != NULL);
  const gboolean is_forked = !curator_client_check_forked (client, NULL);
  /* On a thread of its own, because another callback may never return. */
  const gboolean is_apart = !is_forked && client->settings.callback_context == NULL;
  CuratorAsync *async =
      curator_async_new (is_apart ? NULL : client, curator_client_ref (client), unref_client,
                         deliver_closed, G_CALLBACK (callback), user_data);

  if (is_forked) {
    on_closed (async);
    return;
  }
  close_client (client, FALSE);
  curator_client_lock (client);
  curator_dispatch_end_then (client, on_closed, async);
  curator_client_unlock (client);
}
