/* Closes a session: notifies its users, waits for requests in flight, closes the handle.
 *
 * Mirrors CuratorZookeeperClient.close. Threads: any starts it, the session lane closes handles;
 * guarded by the client's mutex.
 *
 * NOTES: closing our own session removes its nodes and watches from the server. A session shared
 * with the program stays open, so there we remove them one by one.
 */
#include "client/session_close.h"

#include "client/connect_deadline.h"
#include "client/session_servers.h"
#include "core/client-record.h"
#include "core/dispatch.h"
#include "core/log.h"
#include "core/monitor.h"
#include "nodes/deletion.h"
#include "session/connection_error.h"
#include "session/heartbeat.h"
#include "session/request.h"
#include "session/session.h"
#include "session/watch_table.h"

#define DRAIN_US   G_USEC_PER_SEC
#define CLEANUP_US (5 * G_USEC_PER_SEC)

/* LOST for every hold and hook of the session. */
static CURATOR_LOCKED void
notify_end (CuratorSession *session)
{
  GList *link;

  curator_heartbeat_died (session);
  while ((link = session->hooks.head) != NULL) {
    CuratorSessionHook *hook = link->data;
    curator_session_remove_hook (hook);
    hook->died (hook);
  }
}

void
curator_session_tear_down (CuratorSession *session)
{
  session->state = CURATOR_SESSION_DEAD;
  curator_timer_cancel (session->client, &session->loss_timer);
  curator_connect_deadline_stop (session);
  curator_session_servers_stop (session);
  notify_end (session);
  g_hash_table_remove_all (session->watches);
}

/* Runs on the timer thread. */
static CURATOR_LOCKED void
on_rest_over (gpointer data)
{
  CuratorSession *session = data;
  session->drain_timer = NULL;
  curator_dispatch_push (session->client, CURATOR_LANE_SESSION, curator_session_close_handle,
                         session, NULL);
}

void
curator_session_close_handle (gpointer data)
{
  CuratorSession *session = data;
  CuratorClient *client = session->client;
  CuratorZkOps *ops = client->ops;
  const gint64 rest_us =
      session->handle != NULL && ops->rest_us != NULL ? ops->rest_us (ops, session->handle) : 0;

  if (rest_us > 0) {
    /* The lane opens the next session meanwhile. */
    curator_client_lock (client);
    session->drain_timer = curator_timer_after (client, rest_us, on_rest_over, session);
    curator_client_unlock (client);
    return;
  }
  if (session->handle != NULL)
    ops->close (client->ops, session->handle);
  curator_client_lock (client);
  session->handle = NULL;
  curator_request_free_all (session);
  curator_dispatch_session_ended (client);
  if (!curator_client_is_running (client))
    curator_dispatch_stop (client);
  curator_client_unlock (client);
  curator_session_unref (session);
}

static CURATOR_LOCKED void
close_now (CuratorSession *session)
{
  curator_timer_cancel (session->client, &session->drain_timer);
  session->drained = NULL;
  curator_dispatch_push (session->client, CURATOR_LANE_SESSION, curator_session_close_handle,
                         session, NULL);
}

static CURATOR_LOCKED void
end_cleanup (CuratorSession *session)
{
  CuratorClient *client = session->client;

  session->cleaning_up = FALSE;
  client->session = NULL;
  curator_deletions_close (client);
  curator_session_tear_down (session);
  curator_request_settle_all (session, ZCLOSING);
  close_now (session);
}

/* Runs on the timer thread. */
static CURATOR_LOCKED void
on_drain_timeout (gpointer data)
{
  CuratorSession *session = data;
  session->drain_timer = NULL;
  if (session->cleaning_up) {
    curator_warn ("%u nodes and %u watches were not removed: they stay until the session ends",
                  curator_deletions_pending (session->client),
                  g_hash_table_size (session->watches));
    end_cleanup (session);
    return;
  }
  close_now (session);
}

/* No request is in flight any more. */
static CURATOR_LOCKED void
on_drained (CuratorSession *session)
{
  if (!session->cleaning_up)
    close_now (session);
  else if (curator_deletions_pending (session->client) == 0
           && g_hash_table_size (session->watches) == 0)
    end_cleanup (session);
}

/* The program's session outlives the client: deletes our nodes and watches, and waits for the
 * replies, also across a short disconnection. */
static CURATOR_LOCKED void
start_cleanup (CuratorSession *session)
{
  CuratorClient *client = session->client;
  const gint64 timeout_us =
      MIN ((gint64) client->settings.connection_timeout_ms * 1000, CLEANUP_US);

  session->drained = on_drained;
  session->cleaning_up = TRUE;
  curator_timer_cancel (session->client, &session->loss_timer);
  session->drain_timer = curator_timer_after (client, timeout_us, on_drain_timeout, session);
  notify_end (session);
  curator_watches_remove_all (session);
  if (session->in_flight.length == 0)
    on_drained (session);
}

void
curator_session_close_all (CuratorClient *client)
{
  CuratorSession *session = client->session;

  curator_connection_error_closed (client);
  if (session != NULL && session->handle != NULL && client->ops->is_shared) {
    start_cleanup (session);
    return;
  }
  curator_deletions_close (client);
  if (session == NULL)
    return;
  const gboolean connected = session->state == CURATOR_SESSION_CONNECTED;
  client->session = NULL;
  curator_session_tear_down (session);
  curator_request_settle_all (session, ZCLOSING);
  if (!connected || session->in_flight.length == 0) {
    close_now (session);
    return;
  }
  /* Waits for requests in flight, for a limited time. If a handle is closed before their replies
   * come, the library takes these for an error and drops the connection without closing the
   * session, whose nodes would stay until it expires. */
  session->drained = on_drained;
  session->drain_timer = curator_timer_after (client, DRAIN_US, on_drain_timeout, session);
}

/* Only deletions and the watches still use the session. */
void
curator_session_cleanup_event (CuratorSession *session, int state)
{
  if (state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE) {
    end_cleanup (session);
  } else if (state == ZOO_CONNECTED_STATE) {
    session->state = CURATOR_SESSION_CONNECTED;
    curator_watches_connected (session);
    curator_deletions_connected (session->client);
  } else {
    session->state = CURATOR_SESSION_DISCONNECTED;
  }
}
