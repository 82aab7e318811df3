/* Connections: how requests and answers travel, and what remains after a cut.
 *
 * After a cut the client receives nothing more. The server may still execute requests that had
 * reached it, until the session moves to a new connection; until then the old one is an orphan
 * connection. Runs with the baton.
 */
#include "sim-private.h"

#include <string.h>

static gint64
hop (SimWorld *world)
{
  return sim_rand_us (world, world->config.latency_max_us);
}

static SimConn *
conn_new (SimWorld *world, SimServer *server, CuratorZkHandle *handle)
{
  SimConn *conn = g_new0 (SimConn, 1);

  conn->id = world->next_id++;
  conn->server = server;
  conn->session = handle->session;
  conn->handle = handle;
  conn->touches[0] = world->now;
  conn->n_touches = 1;
  g_ptr_array_add (world->conns, conn);
  conn->session->conn = conn;
  handle->conn = conn;
  sim_session_update (world, conn->session);
  return conn;
}

void
sim_conn_free (SimConn *conn)
{
  g_queue_clear_full (&conn->requests, (GDestroyNotify) sim_request_unref);
  g_queue_clear_full (&conn->held, (GDestroyNotify) sim_item_free);
  g_clear_pointer (&conn->waiting, sim_request_unref);
  g_free (conn);
}

void
sim_conn_discard (SimWorld *world, SimConn *conn)
{
  sim_server_forget_conn (conn->server, conn);
  if (conn->handle != NULL)
    conn->handle->conn = NULL;
  if (conn->session->conn == conn)
    conn->session->conn = NULL;
  g_ptr_array_remove (world->conns, conn);
}

/* --- from client to server -------------------------------------------------------------------- */

void
sim_conn_send (SimWorld *world, SimConn *conn, SimRequest *request)
{
  conn->last_arrival = MAX (conn->last_arrival, world->now + hop (world));
  request->arrives_at = conn->last_arrival;
  request->patience_ends =
      world->now + conn->handle->timeout_us / 3 + sim_rand_us (world, conn->handle->timeout_us / 3);
  request->stage = SIM_STAGE_SENT;
  g_queue_push_tail (&conn->requests, sim_request_ref (request));
}

static gboolean
needs_quorum (SimConn *conn, SimRequest *request)
{
  const SimOp op = request->op;

  return op != SIM_OP_GET && op != SIM_OP_EXISTS && op != SIM_OP_CHILDREN && op != SIM_OP_UNWATCH
         && (op != SIM_OP_SYNC || !conn->server->liar);
}

gboolean
sim_conn_can_execute (SimWorld *world, SimConn *conn, gint64 *due)
{
  SimRequest *request = g_queue_peek_head (&conn->requests);

  if (request == NULL || conn->waiting != NULL || (conn->silent_until != 0 && !conn->deaf))
    return FALSE;
  if ((sim_server_is_cut (world, conn->server) || world->frozen_until != 0)
      && needs_quorum (conn, request))
    return FALSE;
  /* Requests sent after the leader resumed find the session expired. */
  if (conn->session->doomed && request->serial >= world->thaw_serial)
    return FALSE;
  *due = request->arrives_at;
  return TRUE;
}

/* The server has received something from the client. */
void
sim_conn_touch (SimWorld *world, SimConn *conn, gint64 when)
{
  gint64 newest = conn->touches[(conn->n_touches - 1) % SIM_N_TOUCHES];

  if (when - newest > world->config.tick_ms * 1000 / SIM_N_TOUCHES)
    conn->touches[conn->n_touches++ % SIM_N_TOUCHES] = when;
  if (conn->session->expires_at != SIM_NEVER && !conn->session->doomed
      && !sim_server_is_cut (world, conn->server)) {
    conn->session->expires_at =
        MAX (conn->session->expires_at, when + conn->session->timeout_us + 1);
  }
}

/* The latest arrival not after `told`, or the earliest known arrival if there is none. */
static gint64
newest_arrival (SimConn *conn, gint64 told)
{
  gint64 oldest = SIM_NEVER;
  gint64 best = -1;

  for (guint i = 0; i < MIN (conn->n_touches, SIM_N_TOUCHES); i++) {
    oldest = MIN (oldest, conn->touches[i]);
    best = conn->touches[i] <= told ? MAX (best, conn->touches[i]) : best;
  }
  for (GList *l = conn->requests.head; l != NULL && conn->silent_until == 0; l = l->next) {
    gint64 heard = ((SimRequest *) l->data)->arrives_at;

    best = heard <= told ? MAX (best, heard) : best;
  }
  return best < 0 ? oldest : best;
}

/* A follower reports active sessions to the leader every half tick; what it had not reported when
 * it was cut off is never reported. The library pings after a third of the session timeout without
 * requests, unless its process is stopped. */
gint64
sim_conn_last_touch (SimWorld *world, SimConn *conn)
{
  gint64 period = conn->session->timeout_us / 3;
  gint64 told = world->now;

  if (conn->server->id > 0 && sim_server_is_cut (world, conn->server)) {
    told -= world->config.eager ? world->config.tick_ms * 1000 / 2
                                : sim_rand_us (world, world->config.tick_ms * 1000 / 2);
  }
  gint64 best = newest_arrival (conn, told);
  if (conn->handle != NULL && told <= conn->handle->process->paused_to)
    told = MIN (told, conn->handle->process->paused_from);
  return best < told ? best + (told - best) / period * period : best;
}

static void
misfortune (SimWorld *world, SimConn *conn, int rc)
{
  if (conn->handle == NULL)
    return;
  if (rc == ZSESSIONEXPIRED) {
    sim_session_end (world, conn->session, "scripted");
    rc = ZCONNECTIONLOSS;
  }
  if (rc == ZAUTHFAILED) {
    sim_handle_die (conn->handle, ZOO_AUTH_FAILED_STATE, ZAUTHFAILED);
    return;
  }
  sim_net_drop (world, conn->handle, rc, TRUE);
}

static gboolean
breaks_connection (int rc)
{
  return rc == ZCONNECTIONLOSS || rc == ZOPERATIONTIMEOUT || rc == ZSESSIONEXPIRED
         || rc == ZAUTHFAILED;
}

/* TRUE if the server does not execute the request. */
static gboolean
strikes_before (SimWorld *world, SimConn *conn, SimRequest *request)
{
  SimConfig *config = &world->config;
  int rc = ZOK;

  if (request->script != NULL && request->script->when == SIM_BEFORE_EFFECT)
    rc = request->script->rc;
  else if (conn->handle == NULL || world->healing || request->op == SIM_OP_CLOSE)
    return FALSE;
  else if (sim_chance (world, config->p_cut_before))
    rc = sim_chance (world, 0.7) ? ZCONNECTIONLOSS : ZOPERATIONTIMEOUT;
  else if (sim_chance (world, config->p_refuse))
    rc = sim_chance (world, 0.5) ? ZSESSIONMOVED : ZTHROTTLEDOP;
  if (rc == ZOK)
    return FALSE;
  sim_trace (world, "fault: #%u %s does not happen, %d", request->serial, sim_op_name (request->op),
             rc);
  if (breaks_connection (rc)) {
    if (request->script != NULL && request->op == SIM_OP_CREATE) {
      g_clear_pointer (&world->lost_create, sim_request_unref);
      world->lost_create = sim_request_ref (request);
      world->lost_by = conn->session;
    }
    misfortune (world, conn, rc);
    sim_request_unref (request);
    return TRUE;
  }
  request->rc = rc;
  sim_server_answer (world, conn, request);
  return TRUE;
}

static void
execute (SimWorld *world, SimConn *conn, SimRequest *request)
{
  if (needs_quorum (conn, request))
    sim_leader_execute (world, conn->session, request);
  else if (conn->handle != NULL)
    sim_server_read (world, conn, request);
  if (conn->handle == NULL)
    sim_request_unref (request);
  else if (conn->server->applied >= request->decided)
    sim_server_answer (world, conn, request);
  else
    conn->waiting = request;
}

void
sim_conn_execute (SimWorld *world, SimConn *conn)
{
  SimRequest *request = g_queue_pop_head (&conn->requests);
  int cut = ZOK;

  if (conn->handle != NULL)
    sim_conn_touch (world, conn, request->arrives_at);
  if (strikes_before (world, conn, request))
    return;
  if (request->script != NULL && request->script->when == SIM_AFTER_EFFECT) {
    cut = request->script->rc;
    request->override = !breaks_connection (cut);
    request->forced_rc = cut;
  } else if (conn->handle != NULL && !world->healing && request->op != SIM_OP_CLOSE
             && sim_chance (world, world->config.p_cut_after)) {
    cut = sim_chance (world, 0.7) ? ZCONNECTIONLOSS : ZOPERATIONTIMEOUT;
  }
  if (breaks_connection (cut) && conn->handle != NULL) {
    sim_trace (world, "fault: #%u %s happens, but %d", request->serial, sim_op_name (request->op),
               cut);
    /* Withholds the answer until the connection closes. */
    conn->silent_until = SIM_NEVER;
    conn->deaf = TRUE;
  }
  const gboolean is_late =
      world->late_is_scripted && request->op == world->late_op && conn->session == world->lost_by;
  if (is_late && world->late_is_before)
    sim_world_carry_out (world);
  execute (world, conn, request);
  if (is_late)
    sim_world_carry_out (world);
  if (breaks_connection (cut) && conn->handle != NULL)
    misfortune (world, conn, cut);
  else if (conn->handle == NULL && g_queue_is_empty (&conn->requests))
    sim_conn_discard (world, conn);
}

/* --- from server to client -------------------------------------------------------------------- */

void
sim_conn_push (SimWorld *world, SimConn *conn, SimItem *item)
{
  if (conn->handle == NULL) {
    sim_item_free (item);
  } else if (conn->silent_until != 0) {
    g_queue_push_tail (&conn->held, item);
  } else {
    item->arrives_at = world->now + hop (world);
    sim_handle_put (conn->handle, item);
  }
}

void
sim_conn_silence (SimWorld *world, SimConn *conn, gint64 duration_us, gboolean deaf)
{
  CuratorZkHandle *handle = conn->handle;
  gint64 third = handle->timeout_us / 3;
  SimItem *item;

  if (conn->silent_until != 0)
    return;
  conn->silent_until = world->now + duration_us;
  conn->deaf = deaf;
  while ((item = g_queue_peek_tail (&handle->inbox)) != NULL && item->arrives_at > world->now
         && item->kind != SIM_ITEM_SESSION) {
    if (item->request != NULL)
      item->request->stage = SIM_STAGE_SENT;
    g_queue_push_head (&conn->held, g_queue_pop_tail (&handle->inbox));
  }
  handle->inbox_last = world->now;
  handle->gives_up_at = world->now + third + sim_rand_us (world, third);
  sim_session_update (world, conn->session);
}

void
sim_conn_unsilence (SimWorld *world, SimConn *conn)
{
  SimItem *item;

  conn->silent_until = 0;
  if (conn->handle != NULL)
    conn->handle->gives_up_at = SIM_NEVER;
  while ((item = g_queue_pop_head (&conn->held)) != NULL)
    sim_conn_push (world, conn, item);
  sim_session_update (world, conn->session);
}

/* --- opening and cutting ---------------------------------------------------------------------- */

/* Some of the requests in flight still arrive. */
static void
make_orphan (SimWorld *world, SimConn *conn)
{
  gboolean lost = conn->silent_until != 0 && !conn->deaf;
  guint kept = 0;

  conn->handle = NULL;
  conn->silent_until = 0;
  g_queue_clear_full (&conn->held, (GDestroyNotify) sim_item_free);
  g_clear_pointer (&conn->waiting, sim_request_unref);
  for (GList *l = conn->requests.head; l != NULL && !lost; l = l->next)
    kept += ((SimRequest *) l->data)->arrives_at <= world->now ? 1 : 0;
  if (!lost)
    kept += sim_rand_below (world, conn->requests.length - kept + 1);
  while (conn->requests.length > kept)
    sim_request_unref (g_queue_pop_tail (&conn->requests));
  sim_server_forget_conn (conn->server, conn);
}

void
sim_net_abandon (SimWorld *world, CuratorZkHandle *handle)
{
  SimConn *conn = handle->conn;

  if (conn == NULL)
    return;
  sim_handle_lose_unarrived (handle);
  handle->conn = NULL;
  handle->gives_up_at = SIM_NEVER;
  make_orphan (world, conn);
  sim_session_update (world, conn->session);
  if (g_queue_is_empty (&conn->requests))
    sim_conn_discard (world, conn);
}

void
sim_net_drop (SimWorld *world, CuratorZkHandle *handle, int rc, gboolean tell)
{
  if (handle->conn == NULL)
    return;
  sim_trace (world, "%s/%d: connection to server %d is cut (%d)%s", handle->process->name,
             handle->id, handle->conn->server->id, rc, tell ? "" : ", quietly");
  sim_net_abandon (world, handle);
  handle->state = SIM_HANDLE_CONNECTING;
  handle->attempt_at = world->now + hop (world);
  if (tell)
    sim_handle_put_session (handle, ZOO_CONNECTING_STATE, 0);
  sim_handle_fail_pending (handle, rc, FALSE, 0);
  sim_cond_wake (world, handle);
}

/* A server needs the leader to accept a client, unless it believes that it is the leader. */
static gboolean
takes_in (SimWorld *world, SimServer *server, CuratorZkHandle *handle)
{
  const SimSession *session = handle->session;

  if (SIM_ZXID_BASE + (gint64) server->applied < handle->last_zxid)
    return FALSE;
  if (sim_server_is_cut (world, server))
    return server->liar && session != NULL && (session->end == 0 || session->end > server->applied);
  return world->frozen_until == 0;
}

static SimServer *
find_server (SimWorld *world, CuratorZkHandle *handle)
{
  SimServer *candidates[SIM_MAX_SERVERS];
  guint n = 0;

  for (int i = 0; i < world->config.n_servers; i++) {
    SimServer *server = world->servers[i];

    if (!takes_in (world, server, handle))
      continue;
    if (i == handle->process->prefer_server)
      return server;
    candidates[n++] = server;
  }
  return n == 0 ? NULL : candidates[sim_rand_below (world, n)];
}

static void
attempt_failed (SimWorld *world, CuratorZkHandle *handle)
{
  gboolean silent = sim_chance (world, 0.25);

  sim_trace (world, "%s/%d: cannot connect%s", handle->process->name, handle->id,
             silent ? ", silence" : "");
  handle->attempt_at = world->now + (silent ? handle->timeout_us * 2 / 3 : handle->timeout_us / 60);
  sim_handle_fail_pending (handle, silent ? ZOPERATIONTIMEOUT : ZCONNECTIONLOSS, TRUE, 0);
}

/* The session has moved: requests still queued on its old connections are refused. */
static void
discard_orphans (SimWorld *world, SimSession *session)
{
  for (guint i = world->conns->len; i > 0; i--) {
    SimConn *conn = world->conns->pdata[i - 1];

    if (conn->session == session)
      sim_conn_discard (world, conn);
  }
}

static void
greet (SimWorld *world, CuratorZkHandle *handle, SimServer *server)
{
  SimSession *session = handle->session;

  if (!sim_server_is_cut (world, server))
    discard_orphans (world, session);
  SimConn *conn = conn_new (world, server, handle);
  handle->state = SIM_HANDLE_CONNECTED;
  handle->attempt_at = SIM_NEVER;
  handle->inbox_last = MAX (handle->inbox_last, world->now);
  sim_trace (world, "%s/%d: connected to server %d, session %" G_GINT64_MODIFIER "x",
             handle->process->name, handle->id, server->id, session->id);
  sim_handle_put_session (handle, ZOO_CONNECTED_STATE, hop (world));
  sim_server_restore_watches (world, conn, handle->last_zxid);
  for (GList *l = handle->pending.head; l != NULL; l = l->next) {
    SimRequest *request = l->data;

    if (request->stage == SIM_STAGE_QUEUED)
      sim_conn_send (world, conn, request);
  }
}

/* A server with other bounds. The leader counts by the new timeout once the client knows of it, see
 * sim_handle.c: that a lost reply hides a shorter one is ruled out. */
static void
renegotiate (SimWorld *world, CuratorZkHandle *handle)
{
  const gint64 tick = world->config.tick_ms * 1000;

  if (!world->healing && sim_chance (world, world->config.p_other_timeout)) {
    const double share = g_rand_double_range (world->rand, 0.25, 1);

    handle->timeout_us =
        MAX ((gint64) ((double) handle->first_timeout_us * share) / 1000 * 1000, 2 * tick);
    sim_trace (world, "%s/%d: is granted a timeout of %" G_GINT64_FORMAT " ms",
               handle->process->name, handle->id, handle->timeout_us / 1000);
  }
}

void
sim_net_connect (SimWorld *world, CuratorZkHandle *handle)
{
  SimProcess *process = handle->process;
  SimServer *server = NULL;

  if (!process->zombie && process->outage_until <= world->now
      && (world->healing || !sim_chance (world, world->config.p_connect_fails)))
    server = find_server (world, handle);
  if (server == NULL) {
    attempt_failed (world, handle);
    return;
  }
  if (handle->bad_auth) {
    sim_handle_die (handle, ZOO_AUTH_FAILED_STATE, ZAUTHFAILED);
    return;
  }
  if (handle->session == NULL) {
    handle->session = sim_session_new (world, handle->timeout_us);
    handle->timeout_us = handle->first_timeout_us = handle->session->timeout_us;
  } else if (handle->session->end != 0 && !sim_server_is_cut (world, server)) {
    sim_handle_die (handle, ZOO_EXPIRED_SESSION_STATE, ZSESSIONEXPIRED);
    return;
  } else {
    renegotiate (world, handle);
  }
  greet (world, handle, server);
}
