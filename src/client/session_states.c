/* Opens sessions, follows their connection states and replaces a session that died.
 *
 * Mirrors ConnectionState and HandleHolder. Threads: events run on libzookeeper's completion
 * thread, timeouts on the timer thread, opening and closing on the session lane. Guarded by the
 * client's mutex.
 *
 * NOTES: the library reports an expiry only after it has reached a server again, and never reports
 * that a first connection failed. So both have timers of ours. A session that a timer ends is
 * replaced without waiting for the old handle to close.
 */
#include "client/session_states.h"

#include "base/path.h"
#include "base/server_list.h"
#include "base/threads.h"
#include "channel/channel_error.h"
#include "client/connect_deadline.h"
#include "client/server_update.h"
#include "client/session_close.h"
#include "client/session_servers.h"
#include "core/client-record.h"
#include "core/log.h"
#include "core/monitor.h"
#include "core/op.h"
#include "core/stats-private.h"
#include "core/zk_error.h"
#include "nodes/deletion.h"
#include "session/connection.h"
#include "session/connection_error.h"
#include "session/heartbeat.h"
#include "session/lease_clock.h"
#include "session/request.h"
#include "session/retry_loop.h"
#include "session/session.h"
#include "session/watch_table.h"

#include <errno.h>

#define FIRST_REOPEN_MS 100
#define LAST_REOPEN_MS  5000
/* A session that ends sooner is replaced after a pause. */
#define LASTING_US G_USEC_PER_SEC
/* Lock nodes created before this host's address is known have its name as payload. */
#define ADDRESS_PATIENCE_MS 250

static void open_handle (gpointer data) CURATOR_UNLOCKED;

static CURATOR_LOCKED void
set_loss_timer (CuratorSession *session, gint64 after_ms, CuratorWork func)
{
  curator_timer_cancel (session->client, &session->loss_timer);
  session->loss_timer = curator_timer_after (session->client, after_ms * 1000, func, session);
}

/* Runs on the timer thread. */
static CURATOR_LOCKED void
on_session_timeout (gpointer data)
{
  CuratorSession *session = data;
  session->loss_timer = NULL;
  curator_info ("session 0x%" G_GINT64_MODIFIER "x is presumed expired: no connection for %d ms",
                session->id, session->timeout_ms);
  curator_session_die (session, ZSESSIONEXPIRED);
}

/* The names are not resolved, or no handle could be opened. */
static CURATOR_LOCKED GError *
why_not_open (CuratorClient *client, int number)
{
  g_autofree char *hosts = curator_path_escape (client->connect_string);
  g_autofree char *addresses = client->known != NULL ? curator_servers_join (client->known) : NULL;

  if (client->known != NULL && addresses == NULL) {
    g_autofree char *why = curator_servers_dup_why (client->known);
    return g_error_new (CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_RESOLVE, "%s: %s", hosts, why);
  }
  g_autofree char *why = curator_shortage_describe (number);
  if (curator_is_shortage (number))
    return g_error_new (CURATOR_ERROR, CURATOR_ERROR_RESOURCES, "%s: %s", hosts, why);
  return g_error_new (CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_CONNECT, "%s: %s", hosts, why);
}

/* Runs on the timer thread. */
static CURATOR_LOCKED void
on_never_connected (gpointer data)
{
  CuratorSession *session = data;
  session->loss_timer = NULL;
  if (!session->client->state_posted)
    curator_client_set_state (session->client, CURATOR_CONNECTION_STATE_SUSPENDED);
  if (curator_session_servers_are_sought (session))
    curator_connection_error_opened (session->client, NULL, why_not_open (session->client, 0));
  curator_connection_error_warn (session->client);
  set_loss_timer (session, session->timeout_ms, on_session_timeout);
}

/* Grows with each attempt that has brought no session, or one that did not last. */
static CURATOR_LOCKED gint64
reopen_pause_ms (const CuratorClient *client)
{
  return MIN (FIRST_REOPEN_MS << MIN (client->opening.open_failures - 1, 10), LAST_REOPEN_MS);
}

/* A server has answered a request with an auth failure. It closes the connection, at each
 * reconnect, too. */
static CURATOR_LOCKED void
on_refused (CuratorSession *session, int rc)
{
  if (curator_client_is_running (session->client))
    curator_session_die (session, rc);
}

void
curator_session_open (CuratorClient *client)
{
  CuratorSession *session = g_new0 (CuratorSession, 1);

  curator_refs_init (&session->refs);
  session->client = client;
  session->epoch = ++client->opening.epoch;
  session->timeout_ms = client->settings.session_timeout_ms;
  session->watches = curator_watches_table_new ();
  session->refused = on_refused;
  curator_client_memory_ref (client);
  client->session = session;
  client->sessions_open++;
  curator_count (client, CURATOR_COUNTER_SESSIONS, 1);
  const gint64 pause_ms = client->opening.open_failures > 0 ? reopen_pause_ms (client) : 0;
  /* The session may be over sooner than the pause: its time begins behind it, or no handle would
   * ever be opened. */
  set_loss_timer (session, pause_ms + client->settings.connection_timeout_ms, on_never_connected);
  curator_connection_error_down (client);
  curator_follow_configuration (client);
  curator_session_servers_find (
      session, client->opening.address_pending ? ADDRESS_PATIENCE_MS : pause_ms, open_handle);
}

void
curator_session_die (CuratorSession *session, int rc)
{
  CuratorClient *client = session->client;

  if (session->state == CURATOR_SESSION_DEAD)
    return;
  /* Whoever answers on a server's port may end each session at once. */
  const gboolean has_lasted =
      session->opened_us != 0 && curator_client_now_us (client) - session->opened_us >= LASTING_US;
  client->opening.open_failures = has_lasted ? 0 : client->opening.open_failures + 1;
  /* The next session is opened before the users are notified, so that they can use it at once. */
  session->state = CURATOR_SESSION_DEAD;
  if (curator_zk_is_auth_failure (rc)) {
    curator_warn ("the server refused the authentication");
    client->refused.auth_failure = rc;
    client->session = NULL;
  } else {
    curator_session_open (client);
  }
  curator_client_set_state (client, CURATOR_CONNECTION_STATE_LOST);
  if (client->refused.auth_failure != 0)
    curator_client_cancel_ops (client, rc); /* before their requests fail: it names the servers */
  curator_session_tear_down (session);
  curator_request_settle_all (session, rc);
  curator_dispatch_push (client, CURATOR_LANE_SESSION, curator_session_close_handle, session, NULL);
}

static CURATOR_LOCKED void
on_connected (CuratorSession *session, int state)
{
  CuratorClient *client = session->client;
  CuratorZkOps *ops = client->ops;
  int timeout_ms;
  const gint64 id = ops->session_id (ops, session->handle, &timeout_ms);

  /* No server grants that, but libzookeeper takes it for a session. */
  const gboolean is_granted = id != 0 && timeout_ms > 0 && state == ZOO_CONNECTED_STATE;
  if (!is_granted)
    curator_warn ("a server grants session 0x%" G_GINT64_MODIFIER "x with a timeout of %d ms%s", id,
                  timeout_ms, state == ZOO_CONNECTED_STATE ? "" : ", for reading only");
  /* Some servers answer a reconnect with a new session: the old one is over. */
  if (!is_granted || (session->ever_connected && id != session->id)) {
    curator_session_die (session, ZSESSIONEXPIRED);
    return;
  }
  if (!session->ever_connected) {
    /* Read without the mutex from now on. */
    session->ever_connected = TRUE;
    session->id = id;
  }
  /* A server may grant another timeout at each connect. */
  curator_lease_clock_set_timeout (session, timeout_ms);
  /* A program may forward an event of its handle twice. */
  if (session->state != CURATOR_SESSION_CONNECTED)
    curator_client_set_state (client, client->opening.ever_connected
                                          ? CURATOR_CONNECTION_STATE_RECONNECTED
                                          : CURATOR_CONNECTION_STATE_CONNECTED);
  session->state = CURATOR_SESSION_CONNECTED;
  g_free (session->server);
  session->server =
      ops->dup_server != NULL ? ops->dup_server (ops, session->handle, client->known) : NULL;
  session->room.has_answered = FALSE;
  curator_timer_cancel (session->client, &session->loss_timer);
  curator_connect_deadline_stop (session);
  curator_session_servers_connected (session);
  client->opening.ever_connected = TRUE;
  curator_connection_error_up (client);
  curator_heartbeat_connected (session);
  curator_watches_connected (session);
  for (GList *link = session->hooks.head; link != NULL; link = link->next) {
    CuratorSessionHook *hook = link->data;
    if (hook->connected != NULL)
      hook->connected (hook);
  }
  curator_deletions_connected (client);
  curator_retry_loop_connected (client);
}

static CURATOR_LOCKED void
on_disconnected (CuratorSession *session)
{
  if (session->state != CURATOR_SESSION_CONNECTED)
    return;
  session->state = CURATOR_SESSION_DISCONNECTED;
  curator_request_note_loss (session);
  set_loss_timer (session, session->timeout_ms, on_session_timeout);
  curator_connect_deadline_start (session);
  /* After LOST comes RECONNECTED, as in Curator. */
  if (!curator_lease_clock_has_lapsed (session))
    curator_client_set_state (session->client, CURATOR_CONNECTION_STATE_SUSPENDED);
  curator_connection_error_down (session->client);
  curator_session_servers_follow (session);
  curator_heartbeat_suspended (session);
  curator_watches_disconnected (session);
}

static CURATOR_LOCKED void
on_session_event (CuratorSession *session, int state)
{
  /* A handle of the program's may have asked for a session that can only read. */
  if (state == ZOO_CONNECTED_STATE
      || (state == ZOO_READONLY_STATE && !session->client->ops->is_shared)) {
    on_connected (session, state);
  } else if (state == ZOO_EXPIRED_SESSION_STATE) {
    curator_info ("session 0x%" G_GINT64_MODIFIER "x expired", session->id);
    curator_session_die (session, ZSESSIONEXPIRED);
  } else if (state == ZOO_AUTH_FAILED_STATE) {
    curator_session_die (session, ZAUTHFAILED);
  } else {
    on_disconnected (session);
  }
}

/* Runs on libzookeeper's completion thread, or in the simulator. */
static CURATOR_UNLOCKED void
on_event (int type, int state, const char *path, gpointer context)
{
  CuratorSession *session = context;
  CuratorClient *client = session->client;
  const CuratorThreadRole before = curator_thread_change_role (client, TRUE);

  curator_client_lock (client);
  if (session->state != CURATOR_SESSION_DEAD) {
    if (type == ZOO_SESSION_EVENT && session->cleaning_up)
      curator_session_cleanup_event (session, state);
    else if (type == ZOO_SESSION_EVENT)
      on_session_event (session, state);
    else
      curator_watches_event (session, type, path);
  }
  curator_client_unlock (client);
  curator_thread_change_role (before.client, before.is_ours);
}

/* Runs on the channel's thread. */
static CURATOR_UNLOCKED void
on_pinged (gint64 sent_us, gint64 answered_us, gpointer context)
{
  CuratorSession *session = context;
  const CuratorThreadRole before = curator_thread_change_role (session->client, TRUE);

  curator_client_lock (session->client);
  curator_heartbeat_pinged (session, sent_us, answered_us);
  curator_client_unlock (session->client);
  curator_thread_change_role (before.client, before.is_ours);
}

static CURATOR_LOCKED void
opened (CuratorSession *session)
{
  CuratorClient *client = session->client;

  session->opened_us = curator_client_now_us (client);
  curator_connection_error_opened (client, client->known, NULL);
  /* The program authenticates its handle itself. */
  for (guint i = 0; !client->ops->is_shared && i < client->settings.auths->len; i++) {
    const CuratorAuth *auth = g_ptr_array_index (client->settings.auths, i);
    gsize length;
    const char *bytes = g_bytes_get_data (auth->auth, &length);
    client->ops->add_auth (client->ops, session->handle, auth->scheme, bytes, (int) length);
  }
  if (client->ops->report_pings != NULL)
    client->ops->report_pings (client->ops, session->handle, on_pinged);
  curator_connect_deadline_start (session);
  curator_session_servers_follow (session);
}

/* Runs on the session lane. Opens the handle with the mutex, which does not block, so that no event
 * is handled before the session has its handle. */
static void
open_handle (gpointer data)
{
  CuratorSession *session = data;
  CuratorClient *client = session->client;

  curator_client_lock (client);
  if (session->state != CURATOR_SESSION_DEAD) {
    g_autofree char *addresses =
        client->known != NULL ? curator_servers_join (client->known) : NULL;
    if (addresses != NULL || client->ops->is_shared) {
      /* The program's handle may have connected long ago. */
      if (!client->ops->is_shared)
        curator_lease_clock_connecting (session);
      session->handle = client->ops->open (client->ops, addresses,
                                           client->settings.session_timeout_ms, on_event, session);
    }
    if (session->handle == NULL) {
      client->opening.open_failures++;
      curator_connection_error_opened (client, NULL, why_not_open (client, errno));
      curator_connection_error_warn (client);
      curator_session_servers_find (session, reopen_pause_ms (client), open_handle);
    } else {
      opened (session);
    }
  }
  curator_client_unlock (client);
  curator_session_unref (session);
}
