/* One server: the transactions that it has applied, its watches, and the answers it gives.
 *
 * Mirrors DataTree's watch managers and FinalRequestProcessor. Runs with the baton.
 */
#include "sim-private.h"

#include <string.h>

/* At most one of each. */
typedef struct
{
  char *path; /* GRefString */
  guint kind; /* SIM_WATCH_DATA or SIM_WATCH_CHILD */
  SimConn *conn;
} SimWatcher;

static void
watcher_free (gpointer data)
{
  g_ref_string_release (((SimWatcher *) data)->path);
  g_free (data);
}

SimServer *
sim_server_new (int id)
{
  SimServer *server = g_new0 (SimServer, 1);

  server->id = id;
  server->tree = sim_tree_new ();
  server->next_apply_at = SIM_NEVER;
  server->hangs_up_at = SIM_NEVER;
  server->watches = g_ptr_array_new_with_free_func (watcher_free);
  return server;
}

void
sim_server_free (SimServer *server)
{
  g_hash_table_unref (server->tree);
  g_ptr_array_unref (server->watches);
  g_free (server);
}

gboolean
sim_server_is_cut (SimWorld *world, SimServer *server)
{
  return server->cut_until > world->now;
}

/* --- watches -------------------------------------------------------------------------------- */

/* FALSE: there is none. */
static gboolean
remove_watch (SimServer *server, const char *path, guint kind, SimConn *conn)
{
  for (guint i = 0; i < server->watches->len; i++) {
    const SimWatcher *watcher = server->watches->pdata[i];

    if (watcher->conn == conn && watcher->kind == kind && strcmp (watcher->path, path) == 0) {
      g_ptr_array_remove_index (server->watches, i);
      return TRUE;
    }
  }
  return FALSE;
}

static void
set_watch (SimServer *server, const char *path, guint kind, SimConn *conn)
{
  SimWatcher *watcher = g_new (SimWatcher, 1);

  kind = kind == SIM_WATCH_CHILD ? kind : SIM_WATCH_DATA;
  remove_watch (server, path, kind, conn);
  *watcher = (SimWatcher){ g_ref_string_new (path), kind, conn };
  g_ptr_array_add (server->watches, watcher);
}

static void
notify (SimWorld *world, SimConn *conn, int type, char *path)
{
  if (conn->handle != NULL && sim_process_loses_event (conn->handle->process, SIM_LOST_AT_SERVER))
    return;
  SimItem *item = sim_item_new (SIM_ITEM_WATCH);
  item->type = type;
  item->state = ZOO_CONNECTED_STATE;
  item->path = g_ref_string_acquire (path);
  sim_conn_push (world, conn, item);
}

/* One event for each connection, whatever its watches are. */
static void
fire (SimWorld *world, SimServer *server, char *path, guint kinds, int type)
{
  g_autoptr (GPtrArray) conns = g_ptr_array_new ();

  for (guint i = 0; i < server->watches->len;) {
    const SimWatcher *watcher = server->watches->pdata[i];

    if ((watcher->kind & kinds) == 0 || strcmp (watcher->path, path) != 0) {
      i++;
      continue;
    }
    if (!g_ptr_array_find (conns, watcher->conn, NULL))
      g_ptr_array_add (conns, watcher->conn);
    g_ptr_array_remove_index (server->watches, i);
  }
  for (guint i = 0; i < conns->len; i++)
    notify (world, conns->pdata[i], type, path);
}

static void
fire_parent (SimWorld *world, SimServer *server, const char *path)
{
  char *parent = g_ref_string_new_len (path, MAX (strrchr (path, '/') - path, 1));

  fire (world, server, parent, SIM_WATCH_CHILD, ZOO_CHILD_EVENT);
  g_ref_string_release (parent);
}

static void
fire_deleted (SimWorld *world, SimServer *server, char *path)
{
  fire (world, server, path, SIM_WATCH_DATA | SIM_WATCH_CHILD, ZOO_DELETED_EVENT);
  fire_parent (world, server, path);
}

void
sim_server_forget_conn (SimServer *server, SimConn *conn)
{
  for (guint i = server->watches->len; i > 0; i--)
    if (((SimWatcher *) server->watches->pdata[i - 1])->conn == conn)
      g_ptr_array_remove_index (server->watches, i - 1);
}

guint
sim_server_count_watches (SimServer *server, SimConn *conn)
{
  guint n = 0;

  for (guint i = 0; i < server->watches->len; i++)
    n += ((SimWatcher *) server->watches->pdata[i])->conn == conn ? 1 : 0;
  return n;
}

static void
restore_one (SimWorld *world, SimConn *conn, SimWatch *watch, guint kind, gint64 since)
{
  SimNode *node = sim_tree_lookup (conn->server->tree, watch->path);

  if (kind == SIM_WATCH_EXIST && node != NULL)
    notify (world, conn, ZOO_CREATED_EVENT, watch->path);
  else if (kind != SIM_WATCH_EXIST && node == NULL)
    notify (world, conn, ZOO_DELETED_EVENT, watch->path);
  else if (kind == SIM_WATCH_DATA && node->mzxid > since)
    notify (world, conn, ZOO_CHANGED_EVENT, watch->path);
  else if (kind == SIM_WATCH_CHILD && node->pzxid > since)
    notify (world, conn, ZOO_CHILD_EVENT, watch->path);
  else
    set_watch (conn->server, watch->path, kind, conn);
}

void
sim_server_restore_watches (SimWorld *world, SimConn *conn, gint64 since)
{
  static const guint kinds[] = { SIM_WATCH_DATA, SIM_WATCH_EXIST, SIM_WATCH_CHILD };

  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++) {
    for (guint i = 0; i < conn->handle->watches->len; i++) {
      SimWatch *watch = conn->handle->watches->pdata[i];

      if ((watch->kinds & kinds[k]) != 0)
        restore_one (world, conn, watch, kinds[k], since);
    }
  }
}

/* --- transactions arrive ---------------------------------------------------------------------- */

void
sim_server_notice (SimWorld *world)
{
  for (int i = 0; i < world->config.n_servers; i++) {
    SimServer *server = world->servers[i];

    if (server->next_apply_at == SIM_NEVER && server->applied < world->log->len) {
      server->next_apply_at = world->now + sim_rand_us (world, world->config.lag_max_us);
      server->next_apply_at = MAX (server->next_apply_at, server->lag_until);
    }
  }
}

static void
fire_for (SimWorld *world, SimServer *server, const SimTxn *txn)
{
  switch (txn->type) {
  case SIM_TXN_CREATE:
    fire (world, server, txn->path, SIM_WATCH_DATA, ZOO_CREATED_EVENT);
    fire_parent (world, server, txn->path);
    break;
  case SIM_TXN_DELETE:
    fire_deleted (world, server, txn->path);
    break;
  case SIM_TXN_SET:
    fire (world, server, txn->path, SIM_WATCH_DATA, ZOO_CHANGED_EVENT);
    break;
  case SIM_TXN_END_SESSION:
    for (guint i = 0; i < txn->paths->len; i++)
      fire_deleted (world, server, txn->paths->pdata[i]);
    break;
  }
}

static void
answer_those_who_waited (SimWorld *world, SimServer *server)
{
  for (guint i = 0; i < world->conns->len; i++) {
    SimConn *conn = world->conns->pdata[i];

    if (conn->server == server && conn->waiting != NULL
        && conn->waiting->decided <= server->applied)
      sim_server_answer (world, conn, g_steal_pointer (&conn->waiting));
  }
}

/* The server learns that a session has expired and closes its connection. */
static void
hang_up (SimWorld *world, SimServer *server, gint64 session)
{
  for (guint i = 0; i < world->conns->len; i++) {
    const SimConn *conn = world->conns->pdata[i];

    if (conn->server == server && conn->session->id == session && conn->handle != NULL
        && !conn->handle->closing) {
      sim_net_drop (world, conn->handle, ZCONNECTIONLOSS, TRUE);
      return;
    }
  }
}

static void
apply_one (SimWorld *world, SimServer *server)
{
  const SimTxn *txn = world->log->pdata[server->applied++];

  sim_txn_apply (server->tree, txn);
  fire_for (world, server, txn);
  answer_those_who_waited (world, server);
  if (txn->type == SIM_TXN_END_SESSION)
    hang_up (world, server, txn->session);
}

void
sim_server_apply (SimWorld *world, SimServer *server, gboolean all)
{
  guint batch = all ? G_MAXUINT : 1 + sim_rand_below (world, 6);

  while (batch-- > 0 && server->applied < world->log->len)
    apply_one (world, server);
  server->next_apply_at = SIM_NEVER;
  sim_server_notice (world);
}

/* --- requests answered here ------------------------------------------------------------------- */

static void
list_children (SimWorld *world, SimNode *node, SimRequest *request)
{
  guint n = sim_node_n_children (node);

  request->children = g_ptr_array_new_full (n, g_free);
  for (guint i = 0; i < n; i++)
    g_ptr_array_add (request->children, g_strdup (sim_node_name (node->children->pdata[i])));
  /* Servers promise no order of children; this one shuffles them, so that no client can rely on
   * one. */
  for (guint i = n; i > 1; i--) {
    guint k = sim_rand_below (world, i);
    gpointer other = request->children->pdata[k];

    request->children->pdata[k] = request->children->pdata[i - 1];
    request->children->pdata[i - 1] = other;
  }
}

static int
read_node (SimWorld *world, SimConn *conn, SimRequest *request)
{
  SimNode *node = sim_tree_lookup (conn->server->tree, request->path);
  gboolean exists = request->op == SIM_OP_EXISTS;
  guint kind = request->op == SIM_OP_CHILDREN ? SIM_WATCH_CHILD : SIM_WATCH_DATA;
  const gboolean is_unreadable = sim_world_is_unreadable (world, request->path);

  if (node != NULL
      && ((!exists && sim_world_is_forbidden (world, request->path))
          || (is_unreadable && (!exists || world->is_hidden))))
    return ZNOAUTH;
  if (request->watch && (node != NULL || exists))
    set_watch (conn->server, request->path, kind, conn);
  if (node == NULL)
    return ZNONODE;
  sim_node_stat (node, &request->stat);
  request->has_stat = request->op != SIM_OP_CHILDREN;
  if (request->op == SIM_OP_GET)
    request->reply_data = g_bytes_ref (node->data);
  if (request->op == SIM_OP_CHILDREN)
    list_children (world, node, request);
  return ZOK;
}

void
sim_server_read (SimWorld *world, SimConn *conn, SimRequest *request)
{
  if (request->op == SIM_OP_UNWATCH) {
    const guint kind = request->number == ZWATCHTYPE_CHILD ? SIM_WATCH_CHILD : SIM_WATCH_DATA;

    request->rc = remove_watch (conn->server, request->path, kind, conn) ? ZOK : ZNOWATCHER;
  } else if (request->op != SIM_OP_SYNC)
    request->rc = read_node (world, conn, request);
}

/* Takes the request's reference. */
void
sim_server_answer (SimWorld *world, SimConn *conn, SimRequest *request)
{
  if (request->rc == ZOK && (request->op == SIM_OP_CREATE || request->op == SIM_OP_SET)) {
    SimNode *node = sim_tree_lookup (
        conn->server->tree, request->op == SIM_OP_CREATE ? request->reply_path : request->path);

    if (node != NULL) {
      sim_node_stat (node, &request->stat);
      request->has_stat = TRUE;
    }
  }
  SimItem *item = sim_item_new (SIM_ITEM_REPLY);
  item->request = request;
  item->rc = request->override ? request->forced_rc : request->rc;
  item->zxid = SIM_ZXID_BASE + (gint64) conn->server->applied;
  sim_conn_push (world, conn, item);
}
