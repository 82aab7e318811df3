/* The connection state: its getters, its listeners, and block_until_connected.
 *
 * Mirrors ConnectionStateManager; session_states.c decides which state it is. Threads: any; guarded
 * by the client's mutex.
 */
#include "session/connection.h"

#include "base/tag.h"
#include "core/async.h"
#include "core/await.h"
#include "core/client-record.h"
#include "core/listeners.h"
#include "core/log.h"
#include "core/monitor.h"
#include "session/connection_error.h"
#include "session/retry_loop.h"
#include "session/session.h"

static void
call_state_listener (GCallback func, gpointer client, int state, gpointer user_data)
{
  ((CuratorStateListener) func) (client, (CuratorConnectionState) state, user_data);
}

void
curator_client_set_state (CuratorClient *client, CuratorConnectionState state)
{
  if (client->state_posted && client->state == state)
    return;
  client->state_posted = TRUE;
  curator_debug ("connection state %s -> %s", curator_connection_state_to_string (client->state),
                 curator_connection_state_to_string (state));
  client->state = state;
  curator_listeners_notify (&client->listeners, 0, client, call_state_listener, client, NULL, NULL,
                            (int) state);
}

CuratorConnectionState
curator_client_get_connection_state (CuratorClient *client)
{
  g_return_val_if_fail (CURATOR_IS_CLIENT (client), CURATOR_CONNECTION_STATE_LOST);
  return CURATOR_UNLESS_FORKED (client, client->state, CURATOR_CONNECTION_STATE_LOST);
}

gint64
curator_client_get_session_id (CuratorClient *client)
{
  g_return_val_if_fail (CURATOR_IS_CLIENT (client), 0);
  return CURATOR_UNLESS_FORKED (client, client->session != NULL ? client->session->id : 0, 0);
}

char *
curator_client_dup_server (CuratorClient *client)
{
  g_return_val_if_fail (CURATOR_IS_CLIENT (client), NULL);
  return CURATOR_UNLESS_FORKED (
      client, curator_client_is_connected (client) ? g_strdup (client->session->server) : NULL,
      NULL);
}

gint64
curator_client_get_session_timeout_ms (CuratorClient *client)
{
  g_return_val_if_fail (CURATOR_IS_CLIENT (client), 0);
  return CURATOR_UNLESS_FORKED (
      client,
      client->session != NULL && client->session->ever_connected ? client->session->timeout_ms : 0,
      0);
}

guint
curator_client_add_state_listener (CuratorClient *client, CuratorStateListener listener,
                                   gpointer user_data, GDestroyNotify destroy)
{
  g_return_val_if_fail (CURATOR_IS_CLIENT (client) && listener != NULL, 0);
  return CURATOR_UNLESS_FORKED (
      client,
      curator_listeners_add (&client->listeners, client, G_CALLBACK (listener), user_data, destroy),
      0);
}

void
curator_client_remove_state_listener (CuratorClient *client, guint id)
{
  g_return_if_fail (CURATOR_IS_CLIENT (client));
  curator_listeners_remove (&client->listeners, client, id);
}

/* The operation of block_until_connected: it has no request, the connection finishes it. */
typedef struct
{
  CuratorOp op;
  CuratorRetryLoop loop;
} ConnectWait;

static CURATOR_LOCKED void
connect_wait_end (CuratorOp *op, GError *reason)
{
  ConnectWait *wait = (ConnectWait *) op;
  curator_retry_loop_stop (&wait->loop);
  curator_op_finish (op, NULL, reason);
}

static CURATOR_LOCKED void
connect_wait_go (gpointer data)
{
  connect_wait_end (data, NULL);
}

/* The retry policy does not end the wait: only the caller's deadline does. */
static CURATOR_LOCKED void
connect_wait_give_up (gpointer data, int rc)
{
  ConnectWait *wait = data;
  curator_retry_loop_begin (&wait->loop);
}

static CURATOR_LOCKED GError *
connect_wait_timed_out (CuratorOp *op)
{
  return curator_unanswered_error (op->client, "connecting to", op->client->connect_string,
                                   op->begun_us);
}

CuratorOp *
curator_connection_wait (CuratorClient *client, gint64 timeout_ms, CuratorOpDone done,
                         gpointer data)
{
  static const CuratorOpClass klass = { .cancel = connect_wait_end,
                                        .timed_out = connect_wait_timed_out };
  const gint64 deadline_us = curator_client_deadline (client, timeout_ms);
  ConnectWait *wait = curator_op_alloc (sizeof *wait, &klass, client, deadline_us, done, data);

  curator_client_lock (client);
  if (curator_op_begin (&wait->op)) {
    curator_retry_loop_init (&wait->loop, client, connect_wait_go, connect_wait_give_up, wait);
    curator_retry_loop_begin (&wait->loop);
  }
  curator_client_unlock (client);
  return &wait->op;
}

gboolean
curator_client_block_until_connected (CuratorClient *client, gint64 timeout_ms,
                                      GCancellable *cancellable, GError **error)
{
  CURATOR_CHECK_WAITING (CURATOR_IS_CLIENT (client), cancellable, error, FALSE);
  CuratorAwait await;

  if (!curator_check_call (client, cancellable, error))
    return FALSE;
  curator_await_init (&await, client);
  CuratorOp *op = curator_connection_wait (client, timeout_ms, curator_await_done, &await);
  return curator_await_op (&await, op, cancellable, NULL, error);
}
