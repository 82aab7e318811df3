#include "chaos_third.h"

#include "belief.h"
#include "chaos.h"
#include "support/raw_zk.h"
#include "support/waiting.h"

#define LOG_EVENTS   50000
#define MOST_AT_ONCE 3
#define OLD_MS       200
/* The holder of a deleted node may ask to delete its name for as long as it believes, and a path
 * may hold such a request back for as long as the session lives. */
#define GRACE_NS G_GINT64_CONSTANT (15000000000)

/* A lock's node, or one of the third party; this one may be persistent. */
typedef struct
{
  guint lock;
  char *path;
  struct Stat stat;
  gint64 created_ns; /* of the third party: it exists since then at the latest, */
  gint64 seen_ns;    /* and was known to exist then */
} Node;

struct _ChaosThird
{
  ChaosKinds *kinds;
  GRand *rand;
  const char *connect_string;
  RawZk *raw;
  Recorder *recorder;
  GPtrArray *foreign; /* Node */
  GPtrArray *closed;  /* paths without some permissions */
  GPtrArray *limited; /* paths with a quota */
  guint robbed;
};

static void
node_free (gpointer data)
{
  g_free (((Node *) data)->path);
  g_free (data);
}

static Node *
node_new (guint lock, const char *path)
{
  Node *node = g_new0 (Node, 1);
  node->lock = lock;
  node->path = g_strdup (path);
  return node;
}

ChaosThird *
chaos_third_new (ChaosKinds *kinds, guint32 seed, const char *connect_string, const char *directory)
{
  ChaosThird *third = g_new0 (ChaosThird, 1);
  third->kinds = kinds;
  third->rand = g_rand_new_with_seed (seed);
  third->connect_string = connect_string;
  third->recorder = recorder_open (directory, CHAOS_MACHINE, CHAOS_THIRD_THREAD, LOG_EVENTS);
  third->foreign = g_ptr_array_new_with_free_func (node_free);
  third->closed = g_ptr_array_new_with_free_func (g_free);
  third->limited = g_ptr_array_new_with_free_func (g_free);
  return third;
}

guint
chaos_third_free (ChaosThird *third)
{
  const guint robbed = third->robbed;
  raw_zk_close (third->raw);
  recorder_close (third->recorder);
  g_ptr_array_unref (third->foreign);
  g_ptr_array_unref (third->closed);
  g_ptr_array_unref (third->limited);
  g_rand_free (third->rand);
  g_free (third);
  return robbed;
}

static gboolean
chance (ChaosThird *third, int percent)
{
  return g_rand_int_range (third->rand, 0, 100) < percent;
}

/* Opens a session if there is none. */
static gboolean
is_usable (ChaosThird *third)
{
  if (third->raw != NULL && raw_zk_is_expired (third->raw))
    g_clear_pointer (&third->raw, raw_zk_close);
  if (third->raw == NULL)
    third->raw = raw_zk_open (third->connect_string);
  return third->raw != NULL && raw_zk_is_connected (third->raw);
}

/* --- records ---------------------------------------------------------------------------------- */

static void
record (ChaosThird *third, RecordEvent event, RecordOp op, RecordResult result, gint64 at_ns)
{
  event.time_ns = at_ns;
  belief_note (third->recorder, event, op, result);
}

static void
record_taken (ChaosThird *third, const Node *node, gint64 before_ns, gboolean sure,
              gboolean recreated)
{
  const RecordEvent event = { .lock = node->lock,
                              .token = (guint64) node->stat.czxid,
                              .session = node->stat.ephemeralOwner,
                              .spare = (guint64) wait_now_ns (),
                              .limit = recreated };
  record (third, event, RECORD_NODE_TAKEN, sure ? RECORD_OK : RECORD_PENDING, before_ns);
}

/* Recorded afterwards, when it is known how long the node has existed. In a queue it only stands in
 * the way. */
static void
record_foreign (ChaosThird *third, const Node *node)
{
  const gboolean fixed = chaos_locks[node->lock].recipe == CHAOS_FIXED;
  const RecordEvent event = { .lock = node->lock,
                              .kind = RECORD_MUTEX,
                              .token = (guint64) node->stat.czxid,
                              .session = node->stat.ephemeralOwner,
                              .timeout_ms = -1,
                              .permits = 1,
                              .limit = 1 };
  record (third, event, RECORD_ACQUIRE_CALLED, RECORD_OK, node->created_ns);
  record (third, event, RECORD_ACQUIRE_RETURNED, fixed ? RECORD_OK : RECORD_FAILED,
          fixed ? node->created_ns : node->seen_ns);
  if (!fixed)
    return;
  record (third, event, RECORD_RELEASE_CALLED, RECORD_OK, node->seen_ns);
  record (third, event, RECORD_RELEASE_RETURNED, RECORD_PENDING, node->seen_ns);
}

/* --- nodes ------------------------------------------------------------------------------------ */

static void
collect (ChaosThird *third, guint lock, const char *path, GPtrArray *nodes)
{
  g_auto (GStrv) names = raw_zk_children (third->raw, path);
  for (char **name = names; name != NULL && *name != NULL; name++) {
    g_autofree char *child = g_strconcat (path, "/", *name, NULL);
    struct Stat stat;
    if (raw_zk_stat (third->raw, child, &stat) != ZOK)
      continue;
    if (stat.ephemeralOwner == 0) {
      collect (third, lock, child, nodes);
    } else if (stat.ephemeralOwner != raw_zk_session (third->raw)) {
      Node *node = node_new (lock, child);
      node->stat = stat;
      g_ptr_array_add (nodes, node);
    }
  }
}

/* In place of a multi-lock, its first member. */
static guint
pick_lock (ChaosThird *third)
{
  const guint lock = (guint) g_rand_int_range (third->rand, 0, CHAOS_LOCKS);
  return chaos_locks[lock].recipe == CHAOS_MULTI ? chaos_locks[lock].first : lock;
}

/* Old enough that its holder, if it has one, holds for long. */
static gboolean
has_old_node (GPtrArray *nodes)
{
  const gint64 now_ms = g_get_real_time () / 1000;
  return nodes->len > 0
         && now_ms - ((const Node *) g_ptr_array_index (nodes, 0))->stat.ctime > OLD_MS;
}

/* More often of a lock whose holder is worth it. */
static GPtrArray *
nodes_of_some_lock (ChaosThird *third, gboolean fixed)
{
  GPtrArray *nodes = g_ptr_array_new_with_free_func (node_free);
  const gboolean old = chance (third, 60);
  for (int tries = 0; tries < 8 && !(old ? has_old_node (nodes) : nodes->len > 0); tries++) {
    const guint lock = fixed ? CHAOS_LOCKS - 1 - (guint) chance (third, 50) : pick_lock (third);
    g_autofree char *path = chaos_path (lock);
    g_ptr_array_set_size (nodes, 0);
    collect (third, lock, path, nodes);
  }
  return nodes;
}

/* Most often the one that is in front, which holds. */
static Node *
pick_node (ChaosThird *third, GPtrArray *nodes)
{
  if (nodes->len == 0)
    return NULL;
  const gint32 n = (gint32) nodes->len;
  return g_ptr_array_index (nodes, chance (third, 60) ? 0 : g_rand_int_range (third->rand, 0, n));
}

static gboolean
is_unknown (int rc)
{
  return rc == ZCONNECTIONLOSS || rc == ZOPERATIONTIMEOUT || rc == ZSESSIONEXPIRED
         || rc == ZINVALIDSTATE || rc == ZCLOSING;
}

/* Deletes it, and creates another of its name unless mode is RAW_ZK_NO_NODE. */
static int
take (ChaosThird *third, Node *node, GBytes *data, int mode)
{
  /* The name of a fixed node may stand for another one by now. */
  struct Stat deleted = { 0 };
  const gboolean ask = chaos_locks[node->lock].recipe == CHAOS_FIXED;
  const gint64 before_ns = wait_now_ns ();
  const int rc = raw_zk_replace (third->raw, node->path, data, mode, ask ? &deleted : NULL);
  if (ask && rc == ZOK)
    node->stat = deleted;
  if (rc == ZOK || is_unknown (rc))
    record_taken (third, node, before_ns, rc == ZOK, mode != RAW_ZK_NO_NODE);
  return rc;
}

/* --- deletion --------------------------------------------------------------------------------- */

static void
delete_node (ChaosThird *third, Node *node)
{
  if (take (third, node, NULL, RAW_ZK_NO_NODE) == ZOK)
    third->kinds->happened[CHAOS_KIND_DELETION]++;
}

/* One, or all and their parent. */
static void
delete_some (ChaosThird *third)
{
  g_autoptr (GPtrArray) nodes = nodes_of_some_lock (third, FALSE);
  Node *node = pick_node (third, nodes);
  if (node == NULL)
    return;
  if (!chance (third, 15)) {
    delete_node (third, node);
    return;
  }
  for (guint i = 0; i < nodes->len; i++)
    delete_node (third, g_ptr_array_index (nodes, i));
  g_autofree char *parent = g_path_get_dirname (node->path);
  raw_zk_delete (third->raw, parent); /* fails if it is not empty */
}

/* --- recreation ------------------------------------------------------------------------------- */

static gboolean
is_foreign_lock (ChaosThird *third, guint lock)
{
  for (guint i = 0; i < third->foreign->len; i++)
    if (((const Node *) g_ptr_array_index (third->foreign, i))->lock == lock)
      return TRUE;
  return FALSE;
}

/* A server may lag behind the others: what it shows after a write of the same session was true no
 * earlier than that write. */
static int
stat_after_a_write (ChaosThird *third, const char *path, struct Stat *stat)
{
  const int rc = raw_zk_set (third->raw, CHAOS_ROOT, "");
  return rc == ZOK ? raw_zk_stat (third->raw, path, stat) : rc;
}

static void
foreign_add (ChaosThird *third, const Node *node, int mode)
{
  Node *foreign = node_new (node->lock, node->path);
  const gint64 session = mode == ZOO_EPHEMERAL ? raw_zk_session (third->raw) : 0;
  foreign->created_ns = foreign->seen_ns = wait_now_ns ();
  if (stat_after_a_write (third, node->path, &foreign->stat) != ZOK
      || foreign->stat.ephemeralOwner != session)
    foreign->stat = (struct Stat){ .ephemeralOwner = session };
  g_ptr_array_add (third->foreign, foreign);
}

/* In one transaction, or with a moment between in which another may take the name. */
static int
recreate (ChaosThird *third, Node *node, GBytes *data, int mode)
{
  if (chance (third, 60))
    return take (third, node, data, mode);
  const int rc = take (third, node, data, RAW_ZK_NO_NODE);
  if (rc != ZOK)
    return rc;
  wait_ms (chance (third, 50) ? 0 : g_rand_int_range (third->rand, 0, 30));
  return raw_zk_create_bytes (third->raw, node->path, data, mode);
}

static void
recreate_some (ChaosThird *third)
{
  g_autoptr (GPtrArray) nodes = nodes_of_some_lock (third, chance (third, 50));
  Node *node = pick_node (third, nodes);
  if (node == NULL || third->foreign->len >= MOST_AT_ONCE || is_foreign_lock (third, node->lock))
    return;
  g_autoptr (GBytes) data = NULL;
  if (chance (third, 50))
    raw_zk_get (third->raw, node->path, &data, NULL);
  const int mode = chance (third, 80) ? ZOO_EPHEMERAL : ZOO_PERSISTENT;
  const int rc = recreate (third, node, data, mode);
  /* If it does not exist, that is found out. */
  if (rc == ZOK || is_unknown (rc))
    foreign_add (third, node, mode);
  third->kinds->happened[CHAOS_KIND_RECREATION] += rc == ZOK;
}

/* Whether it has gone, by whatever hand. */
static gboolean
foreign_is_gone (ChaosThird *third, Node *node)
{
  struct Stat stat = { 0 };
  const gint64 before_ns = wait_now_ns ();
  const int rc = stat_after_a_write (third, node->path, &stat);
  if (rc == ZOK && stat.ephemeralOwner == node->stat.ephemeralOwner
      && (node->stat.czxid == 0 || stat.czxid == node->stat.czxid)) {
    node->stat = stat;
    node->seen_ns = before_ns;
    return FALSE;
  }
  return rc == ZOK || rc == ZNONODE;
}

/* TRUE if it exists no more. */
static gboolean
foreign_remove (ChaosThird *third, Node *node)
{
  const gint64 session = node->stat.ephemeralOwner;
  const gboolean same_session = session == 0 || session == raw_zk_session (third->raw);
  if (foreign_is_gone (third, node)) {
    if (same_session && raw_zk_is_connected (third->raw) && node->stat.czxid != 0
        && node->seen_ns > node->created_ns + GRACE_NS) {
      g_printerr ("%s of a third party has been deleted\n", node->path);
      third->robbed++;
    }
    return TRUE;
  }
  if (!same_session)
    return FALSE; /* until its session has ended */
  Node deleted = { .lock = node->lock };
  const gint64 before_ns = wait_now_ns ();
  const int rc = raw_zk_replace (third->raw, node->path, NULL, RAW_ZK_NO_NODE, &deleted.stat);
  if (rc == ZOK && deleted.stat.czxid == node->stat.czxid)
    node->seen_ns = before_ns;
  else if (rc == ZOK)
    record_taken (third, &deleted, before_ns, TRUE, FALSE);
  return rc == ZOK;
}

static gboolean
remove_foreign (ChaosThird *third, gboolean all)
{
  for (guint i = third->foreign->len; i > 0; i--) {
    Node *node = g_ptr_array_index (third->foreign, i - 1);
    if (!all && chance (third, 30)) {
      foreign_is_gone (third, node);
    } else if (foreign_remove (third, node)) {
      if (node->stat.czxid != 0)
        record_foreign (third, node);
      g_ptr_array_remove_index_fast (third->foreign, i - 1);
    }
  }
  return !all || third->foreign->len == 0;
}

/* --- permissions and quotas ------------------------------------------------------------------- */

static void
close_some (ChaosThird *third)
{
  g_autoptr (GPtrArray) nodes = nodes_of_some_lock (third, FALSE);
  const Node *node = pick_node (third, nodes);
  const int some = g_rand_int_range (third->rand, 0, ZOO_PERM_ALL) & ~ZOO_PERM_ADMIN;
  if (node == NULL || third->closed->len >= MOST_AT_ONCE)
    return;
  g_autofree char *path =
      chance (third, 50) ? g_path_get_dirname (node->path) : g_strdup (node->path);
  if (raw_zk_set_world_acl (third->raw, path, some | ZOO_PERM_ADMIN) != ZNONODE) {
    g_ptr_array_add (third->closed, g_steal_pointer (&path));
    third->kinds->happened[CHAOS_KIND_ACL]++;
  }
}

static int
open_path (ChaosThird *third, const char *path)
{
  return raw_zk_set_world_acl (third->raw, path, ZOO_PERM_ALL);
}

static char *
quota_path (const char *path, const char *name)
{
  return g_strconcat ("/zookeeper/quota", path, name, NULL);
}

/* As "setquota -N 1" does: the path itself is counted, so nothing can be created below it. */
static void
limit_some (ChaosThird *third)
{
  if (third->limited->len >= MOST_AT_ONCE)
    return;
  g_autofree char *path = chaos_path (pick_lock (third));
  g_autofree char *folder = quota_path (path, "");
  g_autofree char *limits = quota_path (path, "/zookeeper_limits");
  g_autofree char *stats = quota_path (path, "/zookeeper_stats");
  if (!raw_zk_exists (third->raw, path) || raw_zk_exists (third->raw, limits)
      || raw_zk_make_path (third->raw, folder) != ZOK)
    return;
  g_ptr_array_add (third->limited, g_steal_pointer (&path));
  raw_zk_create (third->raw, stats, "count=0,bytes=0", ZOO_PERSISTENT, NULL);
  if (raw_zk_create (third->raw, limits, "count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=1",
                     ZOO_PERSISTENT, NULL)
      == ZOK)
    third->kinds->happened[CHAOS_KIND_QUOTA]++;
}

static int
unlimit_path (ChaosThird *third, const char *path)
{
  g_autofree char *folder = quota_path (path, "");
  return raw_zk_delete_tree (third->raw, folder);
}

/* TRUE if none of the paths is left. */
static gboolean
undo_all (ChaosThird *third, GPtrArray *paths, int (*undo) (ChaosThird *third, const char *path))
{
  for (guint i = paths->len; i > 0; i--) {
    const int rc = undo (third, g_ptr_array_index (paths, i - 1));
    if (rc == ZOK || rc == ZNONODE)
      g_ptr_array_remove_index_fast (paths, i - 1);
  }
  return paths->len == 0;
}

/* --- all of them ------------------------------------------------------------------------------ */

void
chaos_third_disturb (ChaosThird *third, ChaosKind kind)
{
  static void (*const kinds[CHAOS_KINDS]) (ChaosThird * third) = {
    [CHAOS_KIND_DELETION] = delete_some,
    [CHAOS_KIND_RECREATION] = recreate_some,
    [CHAOS_KIND_ACL] = close_some,
    [CHAOS_KIND_QUOTA] = limit_some,
  };
  if (is_usable (third))
    kinds[kind](third);
}

static gboolean
heal (ChaosThird *third, gboolean all)
{
  if (third->foreign->len == 0 && third->closed->len == 0 && third->limited->len == 0)
    return TRUE;
  if (!is_usable (third))
    return FALSE;
  const gboolean removed = remove_foreign (third, all);
  const gboolean opened = undo_all (third, third->closed, open_path);
  return undo_all (third, third->limited, unlimit_path) && removed && opened;
}

gboolean
chaos_third_heal (ChaosThird *third, gboolean all, int timeout_ms)
{
  return holds_within (heal (third, all), timeout_ms);
}
