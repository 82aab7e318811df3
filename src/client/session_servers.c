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

static CURATOR_LOCKED gboolean
are_known (CuratorClient *client)
{
  g_autoptr (GPtrArray) addresses = curator_servers_dup_addresses (client->known);
  return addresses->len > 0;
}

static CURATOR_LOCKED void
on_patience_over (gpointer data)
{
  CuratorSession *session = data;

  session->seeking.timer = NULL;
  if (are_known (session->client))
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
  if (pause_ms > 0) {
    session->seeking.pause =
        curator_timer_after (session->client, pause_ms * 1000, on_pause_over, session);
    return;
  }
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

/* What the handle should have now: transfer full. */
static CURATOR_LOCKED GPtrArray *
wanted_servers (CuratorSession *session)
{
  CuratorClient *client = session->client;
  const gint64 patience_us = (gint64) session->timeout_ms * 1000 / FORMER_SHARE;
  const gboolean with_former = session->state != CURATOR_SESSION_CONNECTED
                               && curator_connection_down_us (client) > patience_us;

  return curator_servers_copy (client->known, with_former);
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
  g_autoptr (GPtrArray) servers = wanted_servers (session);
  g_autofree char *addresses = curator_servers_join (servers);
  if (addresses == NULL)
    return FALSE;
  if (curator_connection_error_moved (client, servers))
    curator_info ("the servers are now at %s", addresses);
  const gboolean is_done = ops->set_servers (ops, session->handle, servers, addresses, may_leave);
  client->leaves_others &= !(is_done && may_leave);
  return !is_done;
}

static CURATOR_LOCKED gint64
pause_us (CuratorSession *session)
{
  CuratorClient *client = session->client;
  const gint64 least_us = (gint64) session->timeout_ms * 1000 / LOOK_UP_SHARE;

  if (session->state == CURATOR_SESSION_CONNECTED) {
    const gint64 up_us = curator_client_now_us (client) - session->seeking.since_us;
    return MIN (MAX (up_us / CONNECTED_SHARE, least_us), CONNECTED_US);
  }
  return MAX (MIN (curator_connection_down_us (client) / LATER_SHARE, LONGEST_US), least_us);
}

static CURATOR_LOCKED void
tick_later (CuratorSession *session, gboolean again)
{
  CuratorClient *client = session->client;

  curator_timer_cancel (client, &session->seeking.timer);
  if (again)
    session->seeking.timer = curator_timer_after (
        client, (gint64) session->timeout_ms * 1000 / LEAVE_SHARE, on_tick, session);
  else if (curator_servers_have_names (client->known))
    session->seeking.timer = curator_timer_after (client, pause_us (session), on_tick, session);
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
  else if (session->seeking.open != NULL && session->seeking.pause == NULL
           && (!curator_resolve_is_busy (client)
               || (session->seeking.timer == NULL && are_known (client))))
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
