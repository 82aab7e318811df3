/* CuratorClient: settings, life, connection state and its listeners (CuratorFramework).
 *
 * Mirrors CuratorFrameworkImpl and ConnectionStateManager. Threads: any enters the public calls;
 * the client's mutex guards everything but the set-up, which is constant after start.
 */
#include "client/client-private.h"

#include "client/await.h"
#include "client/connection.h"
#include "client/dispatch-private.h"
#include "client/features.h"
#include "client/listeners.h"
#include "client/log.h"
#include "client/monitor.h"
#include "client/op.h"
#include "client/path.h"
#include "client/reaper.h"
#include "client/retry_loop.h"
#include "client/session.h"
#include "client/settings.h"
#include "client/threads.h"
#include "client/zk_error.h"

#include <gio/gio.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>


static void
free_client (CuratorClient *client)
{
  curator_settings_clear (client);
  curator_listeners_clear (&client->listeners);
  curator_reaper_free (client->reaper);
  curator_dispatch_free (client->dispatch);
  if (client->ops->free != NULL)
    {
      client->ops->free (client->ops);
    }
  pthread_cond_destroy (&client->changed);
  pthread_mutex_destroy (&client->mutex);
  g_free (client);
}

CuratorClient *
curator_client_new_with_ops (const char *connect_string, CuratorRetryPolicy *retry_policy,
                             CuratorZkOps *ops)
{
  CuratorClient *client = g_new0 (CuratorClient, 1);

  curator_refs_init (&client->refs);
  curator_refs_init (&client->memory);
  curator_forks_watch ();
  client->fork_generation = curator_fork_generation ();
  client->ops = ops;
  client->free = free_client;
  curator_settings_init (client, connect_string, retry_policy);
  client->dispatch = curator_dispatch_new ();
  client->reaper = curator_reaper_new (client);
  client->state = CURATOR_STATE_SUSPENDED;
  client->listeners.are_news = TRUE;
  pthread_mutex_init (&client->mutex, NULL);
  pthread_cond_init (&client->changed, NULL);
  return client;
}

CuratorClient *
curator_client_new (const char *connect_string, CuratorRetryPolicy *retry_policy)
{
  return curator_client_new_with_ops (connect_string, retry_policy, curator_zk_ops_real ());
}

CuratorClient *
curator_client_ref (CuratorClient *client)
{
  g_return_val_if_fail (client != NULL, NULL);
  curator_refs_inc (&client->refs);
  return client;
}

static void close_client (CuratorClient *client, gboolean may_wait);

void
curator_client_unref (CuratorClient *client)
{
  g_return_if_fail (client != NULL);
  /* In the child of a fork nothing of ours is alive: what it frees it would take from nobody, and
   * closing would send the parent's session away. */
  if (client->fork_generation != curator_fork_generation ())
    {
      return;
    }
  if (curator_refs_dec (&client->refs))
    {
      /* Threads that serve clients wait for none of them: two could wait for each other. */
      close_client (client, !curator_dispatch_is_inside ());
      curator_client_memory_unref (client);
    }
}

gboolean
curator_client_is_connected (CuratorClient *client)
{
  return client->session != NULL && client->session->state == CURATOR_SESSION_CONNECTED;
}

/* @locks client mutex required. */
static gboolean
check_latent (CuratorClient *client, GError **error)
{
  switch (client->life)
    {
    case CURATOR_LIFE_LATENT:
      return TRUE;
    case CURATOR_LIFE_STARTED:
      g_set_error_literal (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT,
                           "the client has been started already");
      return FALSE;
    case CURATOR_LIFE_STOPPED:
    default:
      g_set_error_literal (error, CURATOR_ERROR, CURATOR_ERROR_CLOSED, "the client is closed");
      return FALSE;
    }
}

gboolean
curator_client_start (CuratorClient *client, GError **error)
{
  g_return_val_if_fail (client != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);
  if (!curator_client_check_forked (client, error))
    {
      return FALSE;
    }
  curator_client_lock (client);
  const gboolean latent = check_latent (client, error);
  curator_client_unlock (client);
  if (!latent || !curator_settings_settle (client, error))
    {
      return FALSE;
    }

  curator_client_lock (client);
  const gboolean started = check_latent (client, error) && curator_dispatch_start (client, error);
  if (started)
    {
      client->life = CURATOR_LIFE_STARTED;
      curator_session_open (client);
    }
  curator_client_unlock (client);
  return started;
}

/* block_until_connected is an operation without steps: the connection finishes it. */
typedef struct
{
  CuratorOp op;
  CuratorRetryLoop loop;
} ConnectWait;

static void
connect_wait_go (gpointer data)
{
  ConnectWait *wait = data;
  curator_retry_loop_stop (&wait->loop);
  curator_op_finish (&wait->op, NULL, NULL);
}

/* Waiting for ever means for ever: only the caller's deadline ends it. */
static void
connect_wait_give_up (gpointer data, int rc)
{
  ConnectWait *wait = data;
  curator_retry_loop_begin (&wait->loop);
}

static void
connect_wait_cancel (CuratorOp *op, GError *reason)
{
  ConnectWait *wait = (ConnectWait *) op;
  curator_retry_loop_stop (&wait->loop);
  curator_op_finish (op, NULL, reason);
}

gboolean
curator_client_block_until_connected (CuratorClient *client, gint64 timeout_ms,
                                      GCancellable *cancellable, GError **error)
{
  static const CuratorOpClass klass = { .cancel = connect_wait_cancel };

  g_return_val_if_fail (client != NULL, FALSE);
  if (!curator_client_check_usable (client, error))
    {
      return FALSE;
    }
  CuratorAwait await;
  curator_await_init (&await, client);
  ConnectWait *wait = curator_op_alloc (sizeof *wait, &klass, client,
                                        curator_client_deadline (client, timeout_ms),
                                        curator_await_done, &await);
  curator_client_lock (client);
  if (curator_op_begin (&wait->op))
    {
      curator_retry_loop_init (&wait->loop, client, connect_wait_go, connect_wait_give_up, wait);
      curator_retry_loop_begin (&wait->loop);
    }
  curator_client_unlock (client);
  return curator_await_op (&await, &wait->op, cancellable, NULL, error);
}

CuratorConnectionState
curator_client_get_connection_state (CuratorClient *client)
{
  g_return_val_if_fail (client != NULL, CURATOR_STATE_LOST);
  if (!curator_client_check_forked (client, NULL))
    {
      return CURATOR_STATE_LOST;
    }
  curator_client_lock (client);
  const CuratorConnectionState state = client->state;
  curator_client_unlock (client);
  return state;
}

gint64
curator_client_get_session_id (CuratorClient *client)
{
  g_return_val_if_fail (client != NULL, 0);
  if (!curator_client_check_forked (client, NULL))
    {
      return 0;
    }
  curator_client_lock (client);
  const gint64 id = client->session != NULL ? client->session->id : 0;
  curator_client_unlock (client);
  return id;
}

gint64
curator_client_get_session_timeout (CuratorClient *client)
{
  g_return_val_if_fail (client != NULL, 0);
  if (!curator_client_check_forked (client, NULL))
    {
      return 0;
    }
  curator_client_lock (client);
  const gboolean known = client->session != NULL && client->session->ever_connected;
  const gint64 timeout = known ? client->session->timeout_ms : 0;
  curator_client_unlock (client);
  return timeout;
}

static void
call_state_listener (GCallback func, gpointer client, int state, gpointer user_data)
{
  ((CuratorStateListener) func) (client, (CuratorConnectionState) state, user_data);
}

void
curator_client_set_state (CuratorClient *client, CuratorConnectionState state)
{
  if (client->state_posted && client->state == state)
    {
      return;
    }
  client->state_posted = TRUE;
  curator_debug ("connection state %s -> %s", curator_connection_state_to_string (client->state),
                 curator_connection_state_to_string (state));
  client->state = state;
  curator_listeners_tell (&client->listeners, client, call_state_listener, client, NULL, NULL,
                          (int) state);
}

guint
curator_client_add_state_listener (CuratorClient *client, CuratorStateListener listener,
                                   gpointer user_data, GDestroyNotify destroy)
{
  g_return_val_if_fail (client != NULL && listener != NULL, 0);
  if (!curator_client_check_forked (client, NULL))
    {
      return 0;
    }
  curator_client_lock (client);
  const guint id = curator_listeners_add (&client->listeners, G_CALLBACK (listener), user_data,
                                          destroy);
  curator_client_unlock (client);
  return id;
}

void
curator_client_remove_state_listener (CuratorClient *client, guint id)
{
  g_return_if_fail (client != NULL);
  if (!curator_client_check_forked (client, NULL))
    {
      return;
    }
  curator_listeners_remove (&client->listeners, client, id);
}

void
curator_client_cancel_ops (CuratorClient *client, int rc)
{
  CuratorOp *op;
  while ((op = g_queue_peek_head (&client->ops_running)) != NULL)
    {
      GError *reason = rc == ZCLOSING
                           ? g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_CLOSED,
                                                  "the client was closed")
                           : curator_error_from_zk (rc, "connecting to", client->connect_string);
      op->klass->cancel (op, reason);
    }
}

static void
close_client (CuratorClient *client, gboolean may_wait)
{
  curator_client_lock (client);
  if (client->life != CURATOR_LIFE_STOPPED)
    {
      client->life = CURATOR_LIFE_STOPPED;
      client->state = CURATOR_STATE_LOST;
      curator_client_cancel_ops (client, ZCLOSING);
      curator_session_close_all (client);
      curator_dispatch_stop (client);
      /* What was collected is told before we wait: the waiters must not wait for the handle. */
      curator_client_unlock (client);
      curator_client_lock (client);
    }
  if (may_wait)
    {
      curator_dispatch_join (client);
    }
  curator_client_unlock (client);
}

void
curator_client_close (CuratorClient *client)
{
  g_return_if_fail (client != NULL);
  if (curator_client_check_forked (client, NULL))
    {
      close_client (client, TRUE);
    }
}
