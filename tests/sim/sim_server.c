/* One server: the transactions that it has applied, its watches, and the answers it gives.
 *
 * Mirrors DataTree's watch managers and FinalRequestProcessor. Runs with the baton.
 */
#include "sim-private.h"

#include <string.h>

typedef struct
{
  char *path;      /* GRefString */
  GPtrArray *data; /* of SimConn, by setting */
  GPtrArray *child;
} SimWatchers;

static void
watchers_free (gpointer data)
{
  SimWatchers *watchers = data;

  g_ref_string_release (watchers->path);
  g_ptr_array_unref (watchers->data);
  g_ptr_array_unref (watchers->child);
  g_free (watchers);
}

SimServer *
sim_server_new (SimWorld *world, int id)
{
  SimServer *server = g_new0 (SimServer, 1);

  (void) world;
  server->id = id;
  server->tree = sim_tree_new ();
  server->next_apply_at = SIM_NEVER;
  server->hangs_up_at = SIM_NEVER;
  server->watches = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, watchers_free);
  server->conns = g_ptr_array_new ();
  return server;
}

void
sim_server_free (SimServer *server)
{
  sim_tree_free (server->tree);
  g_hash_table_unref (server->watches);
  g_ptr_array_unref (server->conns);
  g_free (server);
}

gboolean
sim_server_is_cut (SimWorld *world, SimServer *server)
{
  return server->cut_until > world->now;
}

/* --- watches -------------------------------------------------------------------------------- */

static void
add_once (GPtrArray *conns, SimConn *conn)
{
  if (!g_ptr_array_find (conns, conn, NULL))
    g_ptr_array_add (conns, conn);
}

void
sim_server_set_watch (SimServer *server, const char *path, guint kind, SimConn *conn)
{
  SimWatchers *watchers = g_hash_table_lookup (server->watches, path);

  if (watchers == NULL)
    {
      watchers = g_new0 (SimWatchers, 1);
      watchers->path = g_ref_string_new (path);
      watchers->data = g_ptr_array_new ();
      watchers->child = g_ptr_array_new ();
      g_hash_table_insert (server->watches, watchers->path, watchers);
    }
  add_once (kind == SIM_WATCH_CHILD ? watchers->child : watchers->data, conn);
}

static void
notify (SimWorld *world, SimConn *conn, int type, char *path)
{
  SimItem *item;

  if (conn->handle != NULL && sim_process_loses_event (conn->handle->process, SIM_LOST_AT_SERVER))
    return;
  item = sim_item_new (SIM_ITEM_WATCH);
  item->type = type;
  item->state = ZOO_CONNECTED_STATE;
  item->path = g_ref_string_acquire (path);
  sim_conn_push (world, conn, item);
}

/* One event for each connection, whatever its watches are. */
static void
fire (SimWorld *world, SimServer *server, const char *path, guint kinds, int type)
{
  SimWatchers *watchers = g_hash_table_lookup (server->watches, path);
  g_autoptr (GPtrArray) conns = NULL;
  char *name;

  if (watchers == NULL)
    return;
  conns = g_ptr_array_new ();
  for (guint i = 0; (kinds & SIM_WATCH_DATA) != 0 && i < watchers->data->len; i++)
    add_once (conns, watchers->data->pdata[i]);
  for (guint i = 0; (kinds & SIM_WATCH_CHILD) != 0 && i < watchers->child->len; i++)
    add_once (conns, watchers->child->pdata[i]);
  g_ptr_array_set_size (watchers->data,
                        (kinds & SIM_WATCH_DATA) != 0 ? 0 : (gint) watchers->data->len);
  g_ptr_array_set_size (watchers->child,
                        (kinds & SIM_WATCH_CHILD) != 0 ? 0 : (gint) watchers->child->len);
  name = g_ref_string_acquire (watchers->path);
  if (watchers->data->len + watchers->child->len == 0)
    g_hash_table_remove (server->watches, path);
  for (guint i = 0; i < conns->len; i++)
    notify (world, conns->pdata[i], type, name);
  g_ref_string_release (name);
}

static void
fire_parent (SimWorld *world, SimServer *server, const char *path)
{
  const char *slash = strrchr (path, '/');
  g_autofree char *parent =
      slash == path ? g_strdup ("/") : g_strndup (path, (gsize) (slash - path));

  fire (world, server, parent, SIM_WATCH_CHILD, ZOO_CHILD_EVENT);
}

static void
fire_deleted (SimWorld *world, SimServer *server, const char *path)
{
  fire (world, server, path, SIM_WATCH_DATA | SIM_WATCH_CHILD, ZOO_DELETED_EVENT);
  fire_parent (world, server, path);
}

static gboolean
forget_in (gpointer key, gpointer value, gpointer conn)
{
  SimWatchers *watchers = value;

  (void) key;
  g_ptr_array_remove (watchers->data, conn);
  g_ptr_array_remove (watchers->child, conn);
  return watchers->data->len + watchers->child->len == 0;
}

void
sim_server_forget_conn (SimServer *server, SimConn *conn)
{
  g_hash_table_foreach_remove (server->watches, forget_in, conn);
  g_ptr_array_remove (server->conns, conn);
}

guint
sim_server_count_watches (SimServer *server, SimConn *conn)
{
  GHashTableIter iter;
  gpointer value;
  guint n = 0;

  g_hash_table_iter_init (&iter, server->watches);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      SimWatchers *watchers = value;

      n += g_ptr_array_find (watchers->data, conn, NULL) ? 1 : 0;
      n += g_ptr_array_find (watchers->child, conn, NULL) ? 1 : 0;
    }
  return n;
}

static int
remove_watches (SimServer *server, SimConn *conn, const char *path, int type)
{
  SimWatchers *watchers = g_hash_table_lookup (server->watches, path);
  gboolean found;

  if (watchers == NULL)
    return ZNOWATCHER;
  found = g_ptr_array_remove (type == ZWATCHTYPE_CHILD ? watchers->child : watchers->data, conn);
  if (watchers->data->len + watchers->child->len == 0)
    g_hash_table_remove (server->watches, path);
  return found ? ZOK : ZNOWATCHER;
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
    sim_server_set_watch (conn->server, watch->path, kind, conn);
}

void
sim_server_restore_watches (SimWorld *world, SimConn *conn, gint64 since)
{
  static const guint kinds[] = { SIM_WATCH_DATA, SIM_WATCH_EXIST, SIM_WATCH_CHILD };

  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
    {
      for (guint i = 0; i < conn->handle->watches->len; i++)
        {
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
  for (int i = 0; i < world->n_servers; i++)
    {
      SimServer *server = world->servers[i];

      if (server->next_apply_at == SIM_NEVER && server->applied < world->log->len)
        {
          server->next_apply_at = world->now + sim_rand_us (world, world->config.lag_max_us);
          server->next_apply_at = MAX (server->next_apply_at, server->lag_until);
        }
    }
}

static void
fire_for (SimWorld *world, SimServer *server, const SimTxn *txn)
{
  switch (txn->type)
    {
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
    case SIM_TXN_COUNTER:
      break;
    }
}

static void
answer_those_who_waited (SimWorld *world, SimServer *server)
{
  for (guint i = 0; i < server->conns->len; i++)
    {
      SimConn *conn = server->conns->pdata[i];

      if (conn->waiting != NULL && conn->waiting->decided <= server->applied)
        sim_server_answer (world, conn, g_steal_pointer (&conn->waiting));
    }
}

/* The server learns that a session has expired and closes its connection. */
static void
hang_up (SimWorld *world, SimServer *server, gint64 session)
{
  for (guint i = 0; i < server->conns->len; i++)
    {
      SimConn *conn = server->conns->pdata[i];

      if (conn->session->id == session && conn->server == server)
        {
          if (conn->handle != NULL && !conn->handle->closing)
            sim_net_drop (world, conn->handle, ZCONNECTIONLOSS, TRUE);
          else if (conn->handle == NULL)
            sim_conn_discard (world, conn);
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
  for (guint i = n; i > 1; i--)
    {
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
    sim_server_set_watch (conn->server, request->path, kind, conn);
  if (node == NULL)
    return ZNONODE;
  sim_node_stat (node, &request->stat);
  request->has_stat = request->op != SIM_OP_CHILDREN;
  if (request->op == SIM_OP_GET && node->data != NULL)
    request->reply_data = g_bytes_ref (node->data);
  if (request->op == SIM_OP_CHILDREN)
    list_children (world, node, request);
  return ZOK;
}

void
sim_server_read (SimWorld *world, SimConn *conn, SimRequest *request)
{
  if (request->op == SIM_OP_UNWATCH)
    request->rc = remove_watches (conn->server, conn, request->path, request->number);
  else if (request->op != SIM_OP_SYNC)
    request->rc = read_node (world, conn, request);
  sim_server_answer (world, conn, request);
}

/* Takes the request's reference. */
void
sim_server_answer (SimWorld *world, SimConn *conn, SimRequest *request)
{
  SimItem *item;

  if (request->rc == ZOK && (request->op == SIM_OP_CREATE || request->op == SIM_OP_SET))
    {
      SimNode *node = sim_tree_lookup (
          conn->server->tree, request->op == SIM_OP_CREATE ? request->reply_path : request->path);

      if (node != NULL)
        {
          sim_node_stat (node, &request->stat);
          request->has_stat = TRUE;
        }
    }
  item = sim_item_new (SIM_ITEM_REPLY);
  item->request = request;
  item->rc = request->override ? request->forced_rc : request->rc;
  item->zxid = SIM_ZXID_BASE + (gint64) conn->server->applied;
  sim_conn_push (world, conn, item);
}
