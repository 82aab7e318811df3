/* Follows the servers of a session: their names are looked up while there is no connection.
 *
 * Mirrors HostProvider.updateServerList(). Threads: the timer thread, and those that look names up;
 * guarded by the client's mutex.
 *
 * NOTES: servers that restart under new addresses must be found before the session expires, so a
 * handle gets new addresses while it tries the old ones. A name server may be wrong: a name that
 * has no answer keeps its addresses, and after a quarter of the session timeout the former ones are
 * tried, too. Whoever has just lost a server may soon lose others, so names are looked up often
 * after a connect, then seldom.
 */
#include "client/session_servers.h"

#include "base/server_list.h"
#include "client/connect_deadline.h"
#include "core/log.h"
#include "core/monitor.h"
#include "session/connection_error.h"
#include "zk/resolve.h"

/* How long a name without an answer delays the others. */
#define PATIENCE_US (250 * 1000)
/* Between look-ups: 1/20 of the session timeout, later more. */
#define LOOK_UP_SHARE 20
#define LATER_SHARE   10
#define LONGEST_US    (5 * G_USEC_PER_SEC)
/* While connected: a name server that hangs later does no harm. The share is of the time since the
 * connect. */
#define CONNECTED_SHARE 2
#define CONNECTED_US    (60 * G_USEC_PER_SEC)
/* Between two attempts to make the handle leave another server. */
#define LEAVE_SHARE  50
#define FORMER_SHARE 4

static void on_names_found (CuratorClient *client) CURATOR_LOCKED;
static void on_tick (gpointer data) CURATOR_LOCKED;

static CURATOR_LOCKED void
open_now (CuratorSession *session)
{
  const CuratorWork open = session->seeking.open;

  session->seeking.open = NULL;
  curator_timer_cancel (session->client, &session->seeking.timer);
  curator_dispatch_push (session->client, CURATOR_LANE_SESSION, open, curator_session_ref (session),
                         NULL);
}

gboolean
curator_session_servers_are_sought (const CuratorSession *session)
{
  return session->seeking.open != NULL && session->seeking.pause == NULL;
}

static CURATOR_LOCKED void
on_patience_over (gpointer data)
{
  CuratorSession *session = data;

  session->seeking.timer = NULL;
  if (curator_servers_n_addresses (session->client->known) > 0)
    open_now (session);
}

static CURATOR_LOCKED void
find_now (CuratorSession *session)
{
  CuratorClient *client = session->client;

  if (client->known != NULL)
    curator_resolve_start (client, on_names_found);
  if (client->known == NULL || !curator_resolve_is_busy (client)) {
    open_now (session);
    return;
  }
  curator_timer_cancel (client, &session->seeking.timer);
  session->seeking.timer = curator_timer_after (client, PATIENCE_US, on_patience_over, session);
}

static CURATOR_LOCKED void
on_pause_over (gpointer data)
{
  CuratorSession *session = data;

  session->seeking.pause = NULL;
  find_now (session);
}

void
curator_session_servers_find (CuratorSession *session, gint64 pause_ms, CuratorWork open)
{
  session->seeking.open = open;
  if (pause_ms > 0)
    session->seeking.pause =
        curator_timer_after (session->client, pause_ms * 1000, on_pause_over, session);
  else
    find_now (session);
}

void
curator_session_servers_hurry (CuratorClient *client)
{
  CuratorSession *session = client->session;

  if (session != NULL && session->seeking.pause != NULL) {
    curator_timer_cancel (client, &session->seeking.pause);
    find_now (session);
  }
}

/* TRUE: the handle has to be told once more. */
static CURATOR_LOCKED gboolean
tell_handle (CuratorSession *session)
{
  CuratorClient *client = session->client;
  CuratorZkOps *ops = client->ops;
  const gboolean may_leave = session->state == CURATOR_SESSION_DISCONNECTED
                             || (client->leaves_others && !curator_resolve_is_busy (client));

  if (session->handle == NULL || ops->set_servers == NULL)
    return FALSE;
  const gint64 patience_us = (gint64) session->timeout_ms * 1000 / FORMER_SHARE;
  const gboolean with_former = session->state != CURATOR_SESSION_CONNECTED
                               && curator_connection_down_us (client) > patience_us;
  g_autoptr (GPtrArray) servers = curator_servers_copy (client->known, with_former);
  g_autofree char *addresses = curator_servers_join (servers);
  if (addresses == NULL)
    return FALSE;
  if (curator_connection_error_moved (client, servers))
    curator_info ("the servers are now at %s", addresses);
  const gboolean is_done = ops->set_servers (ops, session->handle, servers, addresses, may_leave);
  client->leaves_others &= !(is_done && may_leave);
  return !is_done;
}

static CURATOR_LOCKED void
tick_later (CuratorSession *session, gboolean again)
{
  CuratorClient *client = session->client;
  const gint64 timeout_us = (gint64) session->timeout_ms * 1000;
  const gboolean is_up = session->state == CURATOR_SESSION_CONNECTED;
  const gint64 since_us = is_up ? curator_client_now_us (client) - session->seeking.since_us
                                : curator_connection_down_us (client);
  gint64 pause_us = timeout_us / LOOK_UP_SHARE;

  curator_timer_cancel (client, &session->seeking.timer);
  if (again)
    pause_us = timeout_us / LEAVE_SHARE;
  else if (!curator_servers_have_names (client->known))
    return;
  else if (is_up)
    pause_us = MIN (MAX (since_us / CONNECTED_SHARE, pause_us), CONNECTED_US);
  else
    pause_us = MAX (MIN (since_us / LATER_SHARE, LONGEST_US), pause_us);
  session->seeking.timer = curator_timer_after (client, pause_us, on_tick, session);
}

/* Runs on the timer thread. */
static void
on_tick (gpointer data)
{
  CuratorSession *session = data;

  session->seeking.timer = NULL;
  curator_resolve_start (session->client, on_names_found);
  tick_later (session, tell_handle (session));
}

/* Runs on the thread of a look-up. */
static void
on_names_found (CuratorClient *client)
{
  CuratorSession *session = client->session;

  if (session == NULL)
    return;
  if (session->handle != NULL)
    tick_later (session, tell_handle (session));
  else if (curator_session_servers_are_sought (session)
           && (!curator_resolve_is_busy (client)
               || (session->seeking.timer == NULL
                   && curator_servers_n_addresses (client->known) > 0)))
    open_now (session);
}

void
curator_session_servers_follow (CuratorSession *session)
{
  CuratorClient *client = session->client;

  if (client->known != NULL && client->ops->set_servers != NULL) {
    curator_resolve_start (client, on_names_found);
    tick_later (session, tell_handle (session));
  }
}

void
curator_session_servers_connected (CuratorSession *session)
{
  if (session->client->known != NULL && session->client->ops->set_servers != NULL) {
    session->seeking.since_us = curator_client_now_us (session->client);
    tick_later (session, session->client->leaves_others);
  }
}

/* A pause is for the servers before, unless it is for this host's address. */
void
curator_session_servers_replaced (CuratorClient *client)
{
  if (client->opening.open_failures > 0) {
    client->opening.open_failures = 0;
    curator_session_servers_hurry (client);
  }
  if (client->session != NULL)
    curator_connect_deadline_restart (client->session);
  curator_resolve_start (client, on_names_found);
  on_names_found (client);
}

void
curator_session_servers_stop (CuratorSession *session)
{
  session->seeking.open = NULL;
  curator_timer_cancel (session->client, &session->seeking.pause);
  curator_timer_cancel (session->client, &session->seeking.timer);
}
