#include "chaos_third.h"

#include "chaos.h"
#include "support/raw_zk.h"
#include "support/waiting.h"

#define LOG_EVENTS   50000
#define MOST_AT_ONCE 3
#define OLD_MS       200
/* The holder of a deleted node may ask to delete its name for as long as it believes, and a path
 * may hold such a request back for as long as the session lives. */
#define GRACE_NS G_GINT64_CONSTANT (15000000000)

/* A lock's node. */
typedef struct
{
  guint lock;
  char *path;
  struct Stat stat;
  GBytes *data;
} Node;

/* A node of the third party. */
typedef struct
{
  guint lock;
  char *path;
  gint64 czxid;
  gint64 session; /* 0: persistent */
  gint64 created_ns;
  gint64 seen_ns; /* when it was known to exist last */
} Foreign;

struct _ChaosThird
{
  ChaosKinds *kinds;
  GRand *rand;
  char *connect_string;
  RawZk *raw;
  Recorder *recorder;
  GPtrArray *foreign; /* Foreign */
  GPtrArray *closed;  /* paths without some permissions */
  GPtrArray *limited; /* paths with a quota */
  guint robbed;
};

static void
node_free (gpointer data)
{
  Node *node = data;
  g_free (node->path);
  g_clear_pointer (&node->data, g_bytes_unref);
  g_free (node);
}

static void
foreign_free (gpointer data)
{
  Foreign *foreign = data;
  g_free (foreign->path);
  g_free (foreign);
}

ChaosThird *
chaos_third_new (ChaosKinds *kinds, guint32 seed)
{
  ChaosThird *third = g_new0 (ChaosThird, 1);
  third->kinds = kinds;
  third->rand = g_rand_new_with_seed (seed);
  third->foreign = g_ptr_array_new_with_free_func (foreign_free);
  third->closed = g_ptr_array_new_with_free_func (g_free);
  third->limited = g_ptr_array_new_with_free_func (g_free);
  return third;
}

void
chaos_third_free (ChaosThird *third)
{
  raw_zk_close (third->raw);
  g_ptr_array_unref (third->foreign);
  g_ptr_array_unref (third->closed);
  g_ptr_array_unref (third->limited);
  g_free (third->connect_string);
  g_rand_free (third->rand);
  g_free (third);
}

void
chaos_third_use (ChaosThird *third, const char *connect_string)
{
  g_clear_pointer (&third->raw, raw_zk_close);
  g_ptr_array_set_size (third->foreign, 0);
  g_ptr_array_set_size (third->closed, 0);
  g_ptr_array_set_size (third->limited, 0);
  g_free (third->connect_string);
  third->connect_string = g_strdup (connect_string);
}

void
chaos_third_begin_epoch (ChaosThird *third, const char *directory)
{
  third->recorder = recorder_open (directory, CHAOS_MACHINE, CHAOS_THIRD_THREAD, LOG_EVENTS);
}

void
chaos_third_end_epoch (ChaosThird *third)
{
  g_clear_pointer (&third->recorder, recorder_close);
}

guint
chaos_third_robbed (ChaosThird *third)
{
  const guint robbed = third->robbed;
  third->robbed = 0;
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
record_taken (ChaosThird *third, const Node *node, gint64 before_ns, gboolean sure,
              gboolean recreated)
{
  const RecordEvent event = { .op = RECORD_NODE_TAKEN,
                              .result = sure ? RECORD_OK : RECORD_PENDING,
                              .lock = node->lock,
                              .token = (guint64) node->stat.czxid,
                              .session = node->stat.ephemeralOwner,
                              .time_ns = before_ns,
                              .spare = (guint64) wait_now_ns (),
                              .limit = recreated };
  recorder_add (third->recorder, event);
}

static void
record (ChaosThird *third, RecordEvent event, RecordOp op, RecordResult result, gint64 at_ns)
{
  event.op = (guint8) op;
  event.result = (guint8) result;
  event.time_ns = at_ns;
  recorder_add (third->recorder, event);
}

/* Recorded afterwards, when it is known how long the node has existed. */
static void
record_foreign (ChaosThird *third, const Foreign *foreign)
{
  const gboolean fixed = chaos_locks[foreign->lock].recipe == CHAOS_FIXED;
  const RecordEvent event = { .lock = foreign->lock,
                              .kind = RECORD_MUTEX,
                              .token = (guint64) foreign->czxid,
                              .session = foreign->session,
                              .timeout_ms = -1,
                              .permits = 1,
                              .limit = 1 };
  record (third, event, RECORD_ACQUIRE_CALLED, RECORD_OK, foreign->created_ns);
  if (!fixed)
    {
      /* It only stands in the way. */
      record (third, event, RECORD_ACQUIRE_RETURNED, RECORD_FAILED, foreign->seen_ns);
      return;
    }
  record (third, event, RECORD_ACQUIRE_RETURNED, RECORD_OK, foreign->created_ns);
  record (third, event, RECORD_RELEASE_CALLED, RECORD_OK, foreign->seen_ns);
  record (third, event, RECORD_RELEASE_RETURNED, RECORD_PENDING, foreign->seen_ns);
}

/* --- nodes ------------------------------------------------------------------------------------ */

static void
collect (ChaosThird *third, guint lock, const char *path, GPtrArray *nodes)
{
  g_auto (GStrv) names = raw_zk_children (third->raw, path);
  for (char **name = names; name != NULL && *name != NULL; name++)
    {
      g_autofree char *child = g_strconcat (path, "/", *name, NULL);
      struct Stat stat;
      if (raw_zk_stat (third->raw, child, &stat) != ZOK)
        continue;
      if (stat.ephemeralOwner == 0)
        {
          collect (third, lock, child, nodes);
        }
      else if (stat.ephemeralOwner != raw_zk_session (third->raw))
        {
          Node *node = g_new0 (Node, 1);
          node->lock = lock;
          node->path = g_steal_pointer (&child);
          node->stat = stat;
          g_ptr_array_add (nodes, node);
        }
    }
}

static guint
pick_lock (ChaosThird *third)
{
  guint lock;
  do
    {
      lock = (guint) g_rand_int_range (third->rand, 0, CHAOS_LOCKS);
    }
  while (chaos_locks[lock].recipe == CHAOS_MULTI);
  return lock;
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
  for (int tries = 0; tries < 8 && !(old ? has_old_node (nodes) : nodes->len > 0); tries++)
    {
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
has_fixed_name (const Node *node)
{
  return chaos_locks[node->lock].recipe == CHAOS_FIXED;
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
  const gboolean ask = has_fixed_name (node);
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
delete_all (ChaosThird *third, GPtrArray *nodes)
{
  for (guint i = 0; i < nodes->len; i++)
    if (take (third, g_ptr_array_index (nodes, i), NULL, RAW_ZK_NO_NODE) == ZOK)
      chaos_kinds_count (third->kinds, CHAOS_KIND_DELETION);
  if (nodes->len > 0)
    {
      const Node *node = g_ptr_array_index (nodes, 0);
      g_autofree char *parent = g_path_get_dirname (node->path);
      raw_zk_delete (third->raw, parent); /* fails if it is not empty */
    }
}

static void
delete_some (ChaosThird *third)
{
  g_autoptr (GPtrArray) nodes = nodes_of_some_lock (third, FALSE);
  if (chance (third, 15))
    {
      delete_all (third, nodes);
      return;
    }
  Node *node = pick_node (third, nodes);
  if (node != NULL && take (third, node, NULL, RAW_ZK_NO_NODE) == ZOK)
    chaos_kinds_count (third->kinds, CHAOS_KIND_DELETION);
}

/* --- recreation ------------------------------------------------------------------------------- */

static gboolean
is_foreign_lock (ChaosThird *third, guint lock)
{
  for (guint i = 0; i < third->foreign->len; i++)
    {
      const Foreign *foreign = g_ptr_array_index (third->foreign, i);
      if (foreign->lock == lock)
        return TRUE;
    }
  return FALSE;
}

/* created_ns: it exists since then at the latest. */
static void
foreign_add (ChaosThird *third, const Node *node, int mode, gint64 created_ns)
{
  Foreign *foreign = g_new0 (Foreign, 1);
  struct Stat stat;
  foreign->lock = node->lock;
  foreign->path = g_strdup (node->path);
  foreign->session = mode == ZOO_EPHEMERAL ? raw_zk_session (third->raw) : 0;
  foreign->created_ns = created_ns;
  foreign->seen_ns = created_ns;
  if (raw_zk_stat (third->raw, node->path, &stat) == ZOK && stat.ephemeralOwner == foreign->session)
    foreign->czxid = stat.czxid;
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
  if (rc == ZOK)
    {
      foreign_add (third, node, mode, wait_now_ns ());
      chaos_kinds_count (third->kinds, CHAOS_KIND_RECREATION);
    }
  else if (is_unknown (rc))
    {
      foreign_add (third, node, mode, wait_now_ns ()); /* if it does not exist, that is found out */
    }
}

/* Whether it has gone, by whatever hand. */
static gboolean
foreign_is_gone (ChaosThird *third, Foreign *foreign)
{
  struct Stat stat = { 0 };
  const gint64 before_ns = wait_now_ns ();
  const int rc = raw_zk_stat (third->raw, foreign->path, &stat);
  if (rc == ZOK && stat.ephemeralOwner == foreign->session
      && (foreign->czxid == 0 || stat.czxid == foreign->czxid))
    {
      foreign->czxid = stat.czxid;
      foreign->seen_ns = before_ns;
      return FALSE;
    }
  return rc == ZOK || rc == ZNONODE;
}

/* TRUE if it exists no more. */
static gboolean
foreign_remove (ChaosThird *third, Foreign *foreign)
{
  struct Stat deleted = { 0 };
  const gboolean same_session =
      foreign->session == 0 || foreign->session == raw_zk_session (third->raw);
  if (foreign_is_gone (third, foreign))
    {
      if (same_session && raw_zk_is_connected (third->raw) && foreign->czxid != 0
          && foreign->seen_ns > foreign->created_ns + GRACE_NS)
        {
          g_printerr ("%s of a third party has been deleted\n", foreign->path);
          third->robbed++;
        }
      return TRUE;
    }
  if (!same_session)
    return FALSE; /* until its session has ended */
  Node node = { .lock = foreign->lock, .path = foreign->path };
  const gint64 before_ns = wait_now_ns ();
  const int rc = raw_zk_replace (third->raw, foreign->path, NULL, RAW_ZK_NO_NODE, &deleted);
  if (rc == ZOK && deleted.czxid == foreign->czxid)
    {
      foreign->seen_ns = before_ns;
    }
  else if (rc == ZOK)
    {
      node.stat = deleted;
      record_taken (third, &node, before_ns, TRUE, FALSE);
    }
  return rc == ZOK;
}

static gboolean
remove_foreign (ChaosThird *third, gboolean all)
{
  for (guint i = third->foreign->len; i > 0; i--)
    {
      Foreign *foreign = g_ptr_array_index (third->foreign, i - 1);
      if (!all && chance (third, 30))
        {
          foreign_is_gone (third, foreign);
        }
      else if (foreign_remove (third, foreign))
        {
          if (foreign->czxid != 0)
            record_foreign (third, foreign);
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
  if (raw_zk_set_world_acl (third->raw, path, some | ZOO_PERM_ADMIN) != ZNONODE)
    {
      g_ptr_array_add (third->closed, g_steal_pointer (&path));
      chaos_kinds_count (third->kinds, CHAOS_KIND_ACL);
    }
}

static gboolean
open_all (ChaosThird *third)
{
  for (guint i = third->closed->len; i > 0; i--)
    {
      const int rc =
          raw_zk_set_world_acl (third->raw, g_ptr_array_index (third->closed, i - 1), ZOO_PERM_ALL);
      if (rc == ZOK || rc == ZNONODE)
        g_ptr_array_remove_index_fast (third->closed, i - 1);
    }
  return third->closed->len == 0;
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
    chaos_kinds_count (third->kinds, CHAOS_KIND_QUOTA);
}

static gboolean
unlimit_all (ChaosThird *third)
{
  for (guint i = third->limited->len; i > 0; i--)
    {
      g_autofree char *folder = quota_path (g_ptr_array_index (third->limited, i - 1), "");
      const int rc = raw_zk_delete_tree (third->raw, folder);
      if (rc == ZOK || rc == ZNONODE)
        g_ptr_array_remove_index_fast (third->limited, i - 1);
    }
  return third->limited->len == 0;
}

/* --- all of them ------------------------------------------------------------------------------ */

void
chaos_third_disturb (ChaosThird *third, ChaosKind kind)
{
  if (!is_usable (third))
    return;
  switch ((int) kind)
    {
    case CHAOS_KIND_DELETION:
      delete_some (third);
      break;
    case CHAOS_KIND_RECREATION:
      recreate_some (third);
      break;
    case CHAOS_KIND_ACL:
      close_some (third);
      break;
    case CHAOS_KIND_QUOTA:
      limit_some (third);
      break;
    default:
      break;
    }
}

gboolean
chaos_third_heal (ChaosThird *third, gboolean all, int timeout_ms)
{
  const gint64 deadline = wait_now_ms () + timeout_ms;
  gboolean healed = FALSE;
  do
    {
      if (third->foreign->len == 0 && third->closed->len == 0 && third->limited->len == 0)
        return TRUE;
      if (is_usable (third))
        {
          const gboolean removed = remove_foreign (third, all);
          const gboolean opened = open_all (third);
          healed = unlimit_all (third) && removed && opened;
        }
      if (!healed)
        wait_ms (50);
    }
  while (!healed && wait_now_ms () < deadline);
  return healed;
}
