/* Decisions of the quorum: the order of transactions, the expiry of sessions, the container reaper.
 *
 * Mirrors PrepRequestProcessor, SessionTrackerImpl and ContainerManager. Runs with the baton.
 */
#include "sim-private.h"

#include <stdio.h>
#include <string.h>

void
sim_txn_free (SimTxn *txn)
{
  g_clear_pointer (&txn->path, g_ref_string_release);
  g_clear_pointer (&txn->data, g_bytes_unref);
  g_clear_pointer (&txn->paths, g_ptr_array_unref);
  g_free (txn);
}

void
sim_txn_apply (SimTree *tree, const SimTxn *txn)
{
  switch (txn->type) {
  case SIM_TXN_CREATE:
    sim_tree_create (tree, txn->path, txn->data, txn->session, txn->container, txn->zxid);
    break;
  case SIM_TXN_DELETE:
    sim_tree_delete (tree, txn->path, txn->zxid);
    break;
  case SIM_TXN_SET:
    sim_tree_set (tree, txn->path, txn->data, txn->zxid);
    break;
  case SIM_TXN_END_SESSION:
    for (guint i = 0; i < txn->paths->len; i++)
      sim_tree_delete (tree, txn->paths->pdata[i], txn->zxid);
    break;
  }
}

static SimTxn *
txn_new (SimTxnType type, const char *path)
{
  SimTxn *txn = g_new0 (SimTxn, 1);

  txn->type = type;
  txn->path = path == NULL ? NULL : g_ref_string_new (path);
  return txn;
}

static void
commit (SimWorld *world, SimTxn *txn)
{
  txn->zxid = SIM_ZXID_BASE + (gint64) world->log->len + 1;
  g_ptr_array_add (world->log, txn);
  sim_txn_apply (world->tree, txn);
  sim_server_notice (world);
}

/* --- sessions --------------------------------------------------------------------------- */

static void
release_string (gpointer data)
{
  g_ref_string_release (data);
}

SimSession *
sim_session_new (SimWorld *world, gint64 timeout_us)
{
  SimSession *session = g_new0 (SimSession, 1);
  gint64 tick = world->config.tick_ms * 1000;

  session->id = G_GINT64_CONSTANT (0x10000000) + (gint64) world->sessions->len + 1;
  session->timeout_us = CLAMP (timeout_us, 2 * tick, 20 * tick);
  session->expires_at = SIM_NEVER;
  g_ptr_array_add (world->sessions, session);
  return session;
}

static int
compare_paths (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static void
find_owned (SimNode *node, gpointer data)
{
  const SimTxn *txn = data;

  if (node->owner == txn->session)
    g_ptr_array_add (txn->paths, g_ref_string_acquire (node->path));
}

/* Its nodes are deleted in no particular order. */
void
sim_session_end (SimWorld *world, SimSession *session, const char *why)
{
  if (session->end != 0)
    return;
  SimTxn *txn = txn_new (SIM_TXN_END_SESSION, NULL);
  txn->session = session->id;
  txn->paths = g_ptr_array_new_with_free_func (release_string);
  sim_tree_foreach (world->tree, find_owned, txn);
  g_ptr_array_sort (txn->paths, compare_paths);
  sim_trace (world, "quorum: session %" G_GINT64_MODIFIER "x ends (%s), %u nodes go", session->id,
             why, txn->paths->len);
  session->expires_at = SIM_NEVER;
  session->end = world->log->len + 1;
  commit (world, txn);
}

/* Whether a path exists by which the leader could hear from this session's client. */
static gboolean
is_heard (SimWorld *world, SimSession *session)
{
  SimConn *conn = session->conn;

  return conn != NULL && conn->handle != NULL && world->frozen_until == 0
         && (conn->silent_until == 0 || conn->deaf) && !sim_server_is_cut (world, conn->server)
         && sim_process_runs (conn->handle->process);
}

void
sim_session_update (SimWorld *world, SimSession *session)
{
  if (session == NULL || session->end != 0 || session->doomed)
    return;
  if (is_heard (world, session)) {
    if (session->expires_at != SIM_NEVER)
      sim_conn_touch (world, session->conn, world->now);
    session->expires_at = SIM_NEVER;
  } else if (session->expires_at == SIM_NEVER) {
    gint64 heard = session->conn == NULL ? world->now : sim_conn_last_touch (world, session->conn);

    session->expires_at = heard + session->timeout_us + 1;
    if (!world->config.eager)
      session->expires_at += sim_rand_us (world, world->config.tick_ms * 1000);
    session->expires_at = MAX (session->expires_at, world->now + 1);
  }
}

/* --- requests ----------------------------------------------------------------------------- */

gboolean
sim_world_is_forbidden (SimWorld *world, const char *path)
{
  if (world->noauth == NULL)
    return FALSE;
  gsize length = strlen (world->noauth);
  return strncmp (path, world->noauth, length) == 0
         && (path[length] == '\0' || path[length] == '/');
}

gboolean
sim_world_is_unreadable (SimWorld *world, const char *path)
{
  return world->unreadable != NULL && strcmp (path, world->unreadable) == 0;
}

static gboolean
is_sequential (int mode)
{
  return mode == ZOO_PERSISTENT_SEQUENTIAL || mode == ZOO_EPHEMERAL_SEQUENTIAL;
}

static gboolean
is_ephemeral (int mode)
{
  return mode == ZOO_EPHEMERAL || mode == ZOO_EPHEMERAL_SEQUENTIAL;
}

static int
leader_create (SimWorld *world, SimSession *session, SimRequest *request)
{
  SimNode *parent = sim_tree_lookup_parent (world->tree, request->path);
  char *path = request->path;
  g_autofree char *numbered = NULL;

  if (parent == NULL)
    return ZNONODE;
  if (sim_world_is_forbidden (world, parent->path))
    return ZNOAUTH;
  if (is_sequential (request->number))
    path = numbered = g_strdup_printf ("%s%010d", request->path, parent->created);
  if (sim_tree_lookup (world->tree, path) != NULL)
    return ZNODEEXISTS;
  if (parent->owner != 0)
    return ZNOCHILDRENFOREPHEMERALS;
  SimTxn *txn = txn_new (SIM_TXN_CREATE, path);
  txn->data = g_bytes_ref (request->data);
  txn->container = request->number == ZOO_CONTAINER;
  request->reply_path = g_ref_string_acquire (txn->path);
  if (is_ephemeral (request->number) && session != NULL) {
    txn->session = session->id;
  }
  commit (world, txn);
  return ZOK;
}

static int
may_remove (SimWorld *world, const char *path, int version)
{
  SimNode *node = sim_tree_lookup (world->tree, path);

  if (node == NULL)
    return ZNONODE;
  if (sim_world_is_forbidden (world, path))
    return ZNOAUTH;
  if (version != -1 && version != node->version)
    return ZBADVERSION;
  if (sim_node_n_children (node) > 0)
    return ZNOTEMPTY;
  return ZOK;
}

static void
remove_node (SimWorld *world, SimSession *session, const char *path)
{
  SimNode *node = sim_tree_lookup (world->tree, path);

  if (world->config.private_nodes && node->owner != 0 && session != NULL
      && session->id != node->owner)
    sim_world_fail (world, "%s was deleted by another session than its owner", node->path);
  commit (world, txn_new (SIM_TXN_DELETE, path));
}

static int
leader_remove (SimWorld *world, SimSession *session, SimRequest *request)
{
  const int rc = may_remove (world, request->path, request->number);

  if (rc == ZOK)
    remove_node (world, session, request->path);
  return rc;
}

static int
may_check (SimWorld *world, const char *path)
{
  return sim_tree_lookup (world->tree, path) == NULL ? ZNONODE
         : sim_world_is_unreadable (world, path)     ? ZNOAUTH
                                                     : ZOK;
}

/* All or none. A check changes nothing and adds nothing to the log, but only a quorum can answer it.
 * A follower may apply a part of the deletes first, which is more than a real one does. */
static int
leader_multi (SimWorld *world, SimSession *session, SimRequest *request)
{
  const gboolean removes = request->op == SIM_OP_REMOVE_ALL;

  for (int i = 0; request->paths[i] != NULL; i++) {
    const char *path = request->paths[i];
    const int rc = removes ? may_remove (world, path, -1) : may_check (world, path);
    if (rc != ZOK) {
      request->failed_index = i;
      return rc;
    }
  }
  for (int i = 0; removes && request->paths[i] != NULL; i++)
    remove_node (world, session, request->paths[i]);
  return ZOK;
}

static int
leader_set (SimWorld *world, SimRequest *request)
{
  SimNode *node = sim_tree_lookup (world->tree, request->path);

  if (node == NULL)
    return ZNONODE;
  if (sim_world_is_forbidden (world, request->path))
    return ZNOAUTH;
  if (request->number != -1 && request->number != node->version)
    return ZBADVERSION;
  SimTxn *txn = txn_new (SIM_TXN_SET, request->path);
  txn->data = g_bytes_ref (request->data);
  commit (world, txn);
  return ZOK;
}

void
sim_leader_execute (SimWorld *world, SimSession *session, SimRequest *request)
{
  int rc = ZOK;

  if (session != NULL && session->end != 0)
    rc = ZSESSIONEXPIRED;
  else if (request->op == SIM_OP_CREATE)
    rc = leader_create (world, session, request);
  else if (request->op == SIM_OP_REMOVE)
    rc = leader_remove (world, session, request);
  else if (request->op == SIM_OP_SET)
    rc = leader_set (world, request);
  else if (request->op == SIM_OP_CHECK || request->op == SIM_OP_REMOVE_ALL)
    rc = leader_multi (world, session, request);
  else if (request->op == SIM_OP_CLOSE)
    sim_session_end (world, session, "closed");
  request->rc = rc;
  request->decided = world->log->len;
  sim_trace (world, "quorum: #%u %s -> %d %s", request->serial, sim_op_name (request->op), rc,
             request->reply_path != NULL ? strrchr (request->reply_path, '/') : "");
}

/* --- the container reaper and the operator -------------------------------------------------- */

static void
find_empty_container (SimNode *node, gpointer data)
{
  if (node->container && sim_node_n_children (node) == 0 && node->created > 0)
    g_ptr_array_add (data, g_ref_string_acquire (node->path));
}

gboolean
sim_leader_reap (SimWorld *world)
{
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (release_string);

  sim_tree_foreach (world->tree, find_empty_container, paths);
  g_ptr_array_sort (paths, compare_paths);
  for (guint i = 0; i < paths->len; i++) {
    sim_trace (world, "quorum: reaper deletes %s", (char *) paths->pdata[i]);
    commit (world, txn_new (SIM_TXN_DELETE, paths->pdata[i]));
  }
  return paths->len > 0;
}

/* Takes the data. FALSE: refused. */
static gboolean
execute_for_nobody (SimWorld *world, SimOp op, const char *path, GBytes *data, int number)
{
  SimRequest *request = sim_request_new (op, path);

  request->data = data;
  request->number = number;
  sim_trace (world, "operator: %s %s", sim_op_name (op), path);
  sim_leader_execute (world, NULL, request);
  const gboolean done = request->rc == ZOK;
  sim_request_unref (request);
  return done;
}

gboolean
sim_world_put (SimWorld *world, const char *path, const char *data, int mode)
{
  const gboolean exists = sim_world_exists (world, path);

  return execute_for_nobody (world, exists ? SIM_OP_SET : SIM_OP_CREATE, path,
                             g_bytes_new (data, strlen (data)), exists ? -1 : mode);
}

gboolean
sim_world_delete (SimWorld *world, const char *path)
{
  return execute_for_nobody (world, SIM_OP_REMOVE, path, NULL, -1);
}

gboolean
sim_world_exists (SimWorld *world, const char *path)
{
  return sim_tree_lookup (world->tree, path) != NULL;
}

char **
sim_world_children (SimWorld *world, const char *path)
{
  SimNode *node = sim_tree_lookup (world->tree, path);
  GPtrArray *paths = g_ptr_array_new ();

  for (guint i = 0; node != NULL && i < sim_node_n_children (node); i++)
    g_ptr_array_add (paths, g_strdup (((SimNode *) node->children->pdata[i])->path));
  g_ptr_array_sort (paths, compare_paths);
  g_ptr_array_add (paths, NULL);
  return (char **) g_ptr_array_free (paths, FALSE);
}

gint64
sim_world_czxid (SimWorld *world, const char *path)
{
  SimNode *node = sim_tree_lookup (world->tree, path);

  return node == NULL ? 0 : node->czxid;
}

void
sim_world_set_counter (SimWorld *world, const char *path, gint32 next)
{
  sim_tree_lookup (world->tree, path)->created = next;
}

void
sim_world_set_noauth (SimWorld *world, const char *path)
{
  g_free (world->noauth);
  world->noauth = g_strdup (path);
}

void
sim_world_set_unreadable (SimWorld *world, const char *path, gboolean is_hidden)
{
  world->is_hidden = is_hidden;
  g_free (world->unreadable);
  world->unreadable = g_strdup (path);
}

/* --- numbers, as shared counts have them ---------------------------------------------------- */

void
sim_world_set_number (SimWorld *world, const char *path, gint32 number)
{
  const gint32 wire = GINT32_TO_BE (number);

  execute_for_nobody (world, SIM_OP_SET, path, g_bytes_new (&wire, sizeof wire), -1);
}

GArray *
sim_world_numbers (SimWorld *world, const char *path)
{
  GArray *numbers = g_array_new (FALSE, FALSE, sizeof (gint32));

  for (guint i = 0; i < world->log->len; i++) {
    const SimTxn *txn = world->log->pdata[i];
    gint32 wire = 0;

    if ((txn->type == SIM_TXN_CREATE || txn->type == SIM_TXN_SET)
        && strcmp (txn->path, path) == 0) {
      if (g_bytes_get_size (txn->data) == sizeof wire)
        memcpy (&wire, g_bytes_get_data (txn->data, NULL), sizeof wire);
      wire = GINT32_FROM_BE (wire);
      g_array_append_val (numbers, wire);
    }
  }
  return numbers;
}

static void
find_ephemeral (SimNode *node, gpointer data)
{
  const char **found = data;

  if (node->owner != 0 && (*found == NULL || strcmp (node->path, *found) < 0))
    *found = node->path;
}

const char *
sim_world_find_ephemeral (SimWorld *world)
{
  const char *found = NULL;

  sim_tree_foreach (world->tree, find_ephemeral, &found);
  return found;
}
