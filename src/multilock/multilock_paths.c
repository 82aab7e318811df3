/* A multi-lock over one mutex for each of several paths.
 *
 * Mirrors the constructor of InterProcessMultiLock that takes paths. Threads: any; no lock.
 */
#include "base/container.h"
#include "base/fork_gate.h"
#include "base/tag.h"
#include "curator/error.h"
#include "curator/multilock.h"
#include "curator/mutex.h"

#include <string.h>

CURATOR_DESTROY_FUNC (unref_lock, curator_lock_unref)

CuratorLock *
curator_multi_lock_new_for_paths (CuratorClient *client, const char *const *paths, GError **error)
{
  CURATOR_CHECK_CALL (CURATOR_IS_CLIENT (client) && paths != NULL, error, NULL);
  CURATOR_INSIDE_GATE;
  g_autoptr (GPtrArray) locks = g_ptr_array_new_with_free_func (unref_lock);

  for (gsize i = 0; paths[i] != NULL; i++) {
    for (gsize j = 0; j < i; j++) {
      if (strcmp (paths[i], paths[j]) == 0) {
        g_set_error (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT,
                     "%s is named twice: the multi-lock would count it twice", paths[i]);
        return NULL;
      }
    }
    CuratorLock *lock = curator_mutex_new (client, paths[i], error);
    if (lock == NULL)
      return NULL;
    g_ptr_array_add (locks, lock);
  }
  return curator_multi_lock_new ((CuratorLock *const *) locks->pdata, locks->len);
}

CuratorLock *
curator_multi_lock_new_for_paths_sorted (CuratorClient *client, const char *const *paths,
                                         GError **error)
{
  g_return_val_if_fail (CURATOR_IS_CLIENT (client) && paths != NULL, NULL);
  CURATOR_INSIDE_GATE;
  g_autoptr (GPtrArray) sorted = g_ptr_array_new ();

  for (gsize i = 0; paths[i] != NULL; i++)
    g_ptr_array_add (sorted, (gpointer) paths[i]);
  g_ptr_array_sort (sorted, curator_compare_strings);
  g_ptr_array_add (sorted, NULL);
  return curator_multi_lock_new_for_paths (client, (const char *const *) sorted->pdata, error);
}
