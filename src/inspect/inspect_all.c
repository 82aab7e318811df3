/* Inspects every lock below a path again and again, and reads only those that have changed.
 *
 * Curator has no counterpart. Threads: any; takes the client's mutex only to read nodes.
 */
#include "curator/inspect.h"

#include "base/fork_gate.h"
#include "base/path.h"
#include "base/tag.h"
#include "core/namespace.h"
#include "inspect/find_locks-private.h"
#include "inspect/inspect-private.h"
#include "inspect/inspection-private.h"
#include "lock/wire.h"

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

/* By path; borrows from the array. */
static GHashTable *
index_of (GPtrArray *inspections)
{
  GHashTable *index = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; inspections != NULL && i < inspections->len; i++) {
    CuratorInspection *inspection = g_ptr_array_index (inspections, i);
    g_hash_table_insert (index, inspection->path, inspection);
  }
  return index;
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
  g_return_val_if_fail (CURATOR_IS_CLIENT (client), NULL);
  g_return_val_if_fail (curator_is_cancellable (cancellable), NULL);
  g_return_val_if_fail (previous == NULL || curator_is_array_of (previous, CURATOR_TAG_INSPECTION),
                        NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);
  CuratorLimits limits;
  if (!curator_limits_init (&limits, client, timeout_ms, cancellable, error))
    return NULL;
  gboolean is_complete = TRUE;
  g_autoptr (GHashTable) digests = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_auto (GStrv) paths =
      curator_find_locks_digests (&limits, path, 0, digests, previous != NULL, &is_complete, error);
  g_autoptr (GHashTable) known = index_of (previous);
  g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func (unref_inspection);

  if (paths == NULL)
    return NULL;
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
