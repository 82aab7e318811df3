/* Finds the locks below a path, one level of the tree at a time, and inspects them all: again and
 * again, but for those that have not changed.
 *
 * Curator has no counterpart. Threads: any; takes the client's mutex only to read nodes.
 */
#include "curator/inspect.h"

#include "base/container.h"
#include "base/fork_gate.h"
#include "base/path.h"
#include "base/tag.h"
#include "core/monitor.h"
#include "core/namespace.h"
#include "inspect/fetch.h"
#include "inspect/grammar.h"
#include "inspect/inspection-private.h"
#include "inspect/listings.h"
#include "nodes/parents.h"

#include <string.h>

#define DEFAULT_MAX_NODES 100000

typedef struct
{
  CuratorClient *client;
  const CuratorLimits *limits;
  GHashTable *found;   /* full paths */
  GHashTable *digests; /* NULL, or full path to the digest of its children */
  GPtrArray *level;    /* full paths to list: of the next level while one is walked */
  GPtrArray *leaves;   /* full paths of this level without children: perhaps of other programs */
  guint left;          /* how many nodes may still be listed */
  gboolean keeps;      /* lists are kept for the next walk */
  gboolean is_first; /* the first level, which is always read: servers that are gone are noticed */
  gboolean complete;
} Walk;

static void
walk_clear (Walk *walk)
{
  g_hash_table_unref (walk->found);
  g_ptr_array_unref (walk->level);
  g_ptr_array_unref (walk->leaves);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Walk, walk_clear)

static void
visit (Walk *walk, const char *path, const GPtrArray *children)
{
  gboolean has_lock_nodes = FALSE;
  gboolean has_lease_nodes = FALSE;

  if (walk->digests != NULL) {
    const guint64 digest = curator_grammar_digest (children);
    g_hash_table_insert (walk->digests, g_strdup (path), g_memdup (&digest, sizeof digest));
  }
  for (guint i = 0; i < children->len; i++) {
    const char *name = g_ptr_array_index (children, i);
    if (curator_grammar_is_node (name, CURATOR_PARTICIPANT_KIND_MUTEX)
        || curator_grammar_is_node (name, CURATOR_PARTICIPANT_KIND_READ)
        || curator_grammar_is_node (name, CURATOR_PARTICIPANT_KIND_LATCH))
      has_lock_nodes = TRUE;
    else if (curator_grammar_is_node (name, CURATOR_PARTICIPANT_KIND_LEASE))
      has_lease_nodes = TRUE;
    /* Only /zookeeper is the server's. */
    else if (strcmp (path, "/") != 0 || strcmp (name, "zookeeper") != 0)
      g_ptr_array_add (walk->level, curator_path_join (path, name));
  }
  if (children->len == 0 && curator_grammar_may_queue (path))
    g_ptr_array_add (walk->leaves, g_strdup (path));
  /* A folder "leases" with lease nodes belongs to a semaphore. A folder "locks" may also be a mutex
   * of that name: see walk_result(). */
  if (has_lease_nodes && strcmp (curator_path_leaf (path), CURATOR_LEASES_NAME) == 0)
    g_hash_table_add (walk->found, curator_path_parent (path));
  else if (has_lock_nodes)
    g_hash_table_add (walk->found, g_strdup (path));
}

/* Visits those whose children are known. Returns the others: full paths to be listed. */
static CURATOR_UNLOCKED GPtrArray *
visit_known (Walk *walk, const GPtrArray *level)
{
  GPtrArray *unknown = g_ptr_array_new_with_free_func (g_free);

  curator_client_lock (walk->client);
  for (guint i = 0; i < level->len; i++) {
    const char *path = g_ptr_array_index (level, i);
    g_autoptr (GPtrArray) children =
        walk->keeps && !walk->is_first ? curator_listing_dup (walk->client, path) : NULL;
    if (children != NULL) {
      visit (walk, path, children);
      continue;
    }
    if (walk->keeps)
      curator_listing_begin (walk->client, path);
    g_ptr_array_add (unknown, g_strdup (path));
  }
  curator_client_unlock (walk->client);
  return unknown;
}

/* A leaf that is somebody's makes its parent a lock, whatever its name. */
static CURATOR_UNLOCKED gboolean
find_others (Walk *walk, GError **error)
{
  g_autoptr (GPtrArray) leaves = g_steal_pointer (&walk->leaves);
  g_autoptr (GArray) read = curator_fetch (walk->limits, CURATOR_FETCH_STAT, leaves, error);

  walk->leaves = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; read != NULL && i < read->len; i++) {
    const CuratorFetched *fetched = &g_array_index (read, CuratorFetched, i);
    if (curator_fetched_is_owned (fetched))
      g_hash_table_add (walk->found, curator_path_parent (g_ptr_array_index (leaves, i)));
  }
  return read != NULL;
}

static CURATOR_UNLOCKED gboolean
walk_level (Walk *walk, GError **error)
{
  g_autoptr (GPtrArray) level = g_steal_pointer (&walk->level);

  walk->level = g_ptr_array_new_with_free_func (g_free);
  if (level->len > walk->left) {
    g_ptr_array_set_size (level, (int) walk->left);
    walk->complete = FALSE;
  }
  walk->left -= level->len;
  g_autoptr (GPtrArray) unknown = visit_known (walk, level);
  g_autoptr (GArray) listed = curator_fetch (walk->limits, CURATOR_FETCH_CHILDREN, unknown, error);
  if (listed == NULL)
    return FALSE;
  for (guint i = 0; i < listed->len; i++) {
    const CuratorFetched *fetched = &g_array_index (listed, CuratorFetched, i);
    const char *path = g_ptr_array_index (unknown, i);
    g_autoptr (GError) missing = curator_parents_chroot_error (walk->client, fetched->rc);
    /* Only the root of a chroot can be missing. */
    if (missing != NULL && strcmp (path, walk->client->settings.servers->chroot) == 0) {
      g_propagate_error (error, g_steal_pointer (&missing));
      return FALSE;
    }
    if (fetched->rc == ZOK && walk->keeps) {
      curator_client_lock (walk->client);
      curator_listing_end (walk->client, path, fetched->children);
      curator_client_unlock (walk->client);
    }
    if (fetched->rc == ZOK)
      visit (walk, path, fetched->children);
    else if (fetched->rc != ZNONODE)
      walk->complete = FALSE;
  }
  walk->is_first = FALSE;
  return find_others (walk, error);
}

/* The folders of a semaphore that was found are no locks of their own. */
static char **
walk_result (Walk *walk)
{
  GPtrArray *paths = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer path;

  g_hash_table_iter_init (&iter, walk->found);
  while (g_hash_table_iter_next (&iter, &path, NULL)) {
    const char *leaf = curator_path_leaf (path);
    g_autofree char *parent = curator_path_parent (path);
    if ((strcmp (leaf, CURATOR_TURNS_NAME) != 0 && strcmp (leaf, CURATOR_LEASES_NAME) != 0)
        || !g_hash_table_contains (walk->found, parent))
      g_ptr_array_add (paths, g_strdup (curator_client_user_path (walk->client, path)));
  }
  g_ptr_array_sort (paths, curator_compare_strings);
  g_ptr_array_add (paths, NULL);
  return (char **) g_ptr_array_free (paths, FALSE);
}

/* As curator_client_find_locks(). digests, if not NULL, receives for each full path that was listed
 * a guint64: curator_grammar_digest() of its children. keeps: the walk is one of many; unchanged
 * nodes are watched and not listed again. */
static CURATOR_UNLOCKED char **
find_locks (const CuratorLimits *limits, const char *path, guint max_nodes, GHashTable *digests,
            gboolean keeps, gboolean *complete, GError **error)
{
  if ((path == NULL || strcmp (path, "/") != 0) && !curator_path_validate (path, error))
    return NULL;
  g_auto (Walk) walk = { .client = limits->client,
                         .digests = digests,
                         .limits = limits,
                         .found = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL),
                         .level = g_ptr_array_new_with_free_func (g_free),
                         .leaves = g_ptr_array_new_with_free_func (g_free),
                         .left = max_nodes > 0 ? max_nodes : DEFAULT_MAX_NODES,
                         .keeps = keeps,
                         .is_first = TRUE,
                         .complete = TRUE };
  g_ptr_array_add (walk.level, curator_client_full_path (limits->client, path));
  while (walk.level->len > 0)
    if (!walk_level (&walk, error))
      return NULL;
  if (complete != NULL)
    *complete = walk.complete;
  return walk_result (&walk);
}

char **
curator_client_find_locks (CuratorClient *client, const char *path, guint max_nodes,
                           gboolean *complete, gint64 timeout_ms, GCancellable *cancellable,
                           GError **error)
{
  CURATOR_INSIDE_GATE;
  CuratorLimits limits;

  CURATOR_CHECK_WAITING (CURATOR_IS_CLIENT (client), cancellable, error, NULL);
  return curator_limits_init (&limits, client, timeout_ms, cancellable, error)
             ? find_locks (&limits, path, max_nodes, NULL, FALSE, complete, error)
             : NULL;
}

CURATOR_DESTROY_FUNC (unref_inspection, curator_inspection_unref)

static guint64
digest_of (GHashTable *digests, const char *path)
{
  const guint64 *digest = g_hash_table_lookup (digests, path);
  return digest != NULL ? *digest : 0;
}

/* Whether the walk has found the nodes that the inspection has. */
static gboolean
is_current (CuratorClient *client, const CuratorInspection *inspection, GHashTable *digests)
{
  g_autofree char *path = curator_client_full_path (client, inspection->path);
  guint64 digest = digest_of (digests, path);

  if (inspection->kind == CURATOR_LOCK_KIND_SEMAPHORE) {
    g_autofree char *leases = curator_path_join (path, CURATOR_LEASES_NAME);
    g_autofree char *turns = curator_path_join (path, CURATOR_TURNS_NAME);
    digest += digest_of (digests, leases) + digest_of (digests, turns);
  }
  return digest == inspection->digest;
}

/* Adds the inspection of one path. Returns FALSE with error if the client cannot read at all. */
static gboolean
add_inspection (GPtrArray *all, const CuratorLimits *limits, const char *path, gboolean *complete,
                GError **error)
{
  g_autoptr (GError) local = NULL;
  CuratorInspection *inspection = curator_inspect_within (limits, path, &local);

  if (inspection != NULL) {
    /* Without participants, it has become free since it was found. */
    g_ptr_array_add (all, inspection);
    g_ptr_array_set_size (all, (int) all->len - (inspection->participants->len == 0));
    return TRUE;
  }
  if (local->domain != CURATOR_ZK_ERROR) {
    g_propagate_error (error, g_steal_pointer (&local));
    return FALSE;
  }
  *complete = FALSE;
  return TRUE;
}

GPtrArray *
curator_client_inspect_all (CuratorClient *client, const char *path, GPtrArray *previous,
                            gboolean *complete, gint64 timeout_ms, GCancellable *cancellable,
                            GError **error)
{
  CURATOR_INSIDE_GATE;
  CURATOR_CHECK_WAITING (CURATOR_IS_CLIENT (client), cancellable, error, NULL);
  g_return_val_if_fail (previous == NULL || curator_is_array_of (previous, CURATOR_TAG_INSPECTION),
                        NULL);
  CuratorLimits limits;
  if (!curator_limits_init (&limits, client, timeout_ms, cancellable, error))
    return NULL;
  gboolean is_complete = TRUE;
  g_autoptr (GHashTable) digests = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_auto (GStrv) paths =
      find_locks (&limits, path, 0, digests, previous != NULL, &is_complete, error);
  g_autoptr (GHashTable) known = g_hash_table_new (g_str_hash, g_str_equal); /* by path */
  g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func (unref_inspection);

  if (paths == NULL)
    return NULL;
  for (guint i = 0; previous != NULL && i < previous->len; i++) {
    CuratorInspection *old = g_ptr_array_index (previous, i);
    g_hash_table_insert (known, old->path, old);
  }
  for (char **one = paths; *one != NULL; one++) {
    CuratorInspection *old = g_hash_table_lookup (known, *one);
    if (old != NULL && is_current (client, old, digests))
      g_ptr_array_add (all, curator_inspection_ref (old));
    else if (!add_inspection (all, &limits, *one, &is_complete, error))
      return NULL;
  }
  if (complete != NULL)
    *complete = is_complete;
  return g_steal_pointer (&all);
}
