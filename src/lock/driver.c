/* Drivers and the standard predicate (LockInternalsDriver, StandardLockInternalsDriver).
 *
 * Threads: any; no lock, because a driver never changes.
 */
#include "curator/lock_internals.h"

#include "base/tag.h"

#include "lock/lock_internals-private.h"
#include "lock/queue.h"

#include <string.h>

CuratorLockDriver *
curator_lock_driver_new (const CuratorLockDriverFuncs *funcs, gpointer user_data,
                         GDestroyNotify destroy)
{
  static const gpointer reserved[G_N_ELEMENTS (funcs->_reserved)];
  g_return_val_if_fail (funcs == NULL || memcmp (funcs->_reserved, reserved, sizeof reserved) == 0,
                        NULL);
  CuratorLockDriver *driver = g_new0 (CuratorLockDriver, 1);
  driver->tag = CURATOR_TAG_LOCK_DRIVER;
  curator_refs_init (&driver->refs);
  if (funcs != NULL)
    driver->funcs = *funcs;
  driver->user_data = user_data;
  driver->destroy = destroy;
  return driver;
}

CuratorLockDriver *
curator_lock_driver_new_builtin (CuratorPredicate predicate)
{
  CuratorLockDriver *driver = curator_lock_driver_new (NULL, NULL, NULL);
  driver->predicate = predicate;
  return driver;
}

CuratorLockDriver *
curator_lock_driver_standard (void)
{
  /* Its own reference keeps it from ever being freed. */
  static CuratorLockDriver driver = { .tag = CURATOR_TAG_LOCK_DRIVER,
                                      .refs = 1,
                                      .predicate = curator_standard_predicate,
                                      .nothing_overtakes = TRUE,
                                      .neighbours_succeed = TRUE };
  return &driver;
}

CURATOR_REF_FUNC (curator_lock_driver_ref, CuratorLockDriver, LOCK_DRIVER)

void
curator_lock_driver_unref (CuratorLockDriver *driver)
{
  g_return_if_fail (CURATOR_IS_LOCK_DRIVER (driver));
  if (curator_refs_dec (&driver->refs)) {
    if (driver->destroy != NULL)
      driver->destroy (driver->user_data);
    curator_tag_clear (driver);
    g_free (driver);
  }
}

void
curator_lock_driver_set_nothing_overtakes (CuratorLockDriver *driver, gboolean nothing_overtakes)
{
  g_return_if_fail (CURATOR_IS_LOCK_DRIVER (driver) && !g_atomic_int_get (&driver->is_used));
  driver->nothing_overtakes = nothing_overtakes;
}

/* Granted if fewer than max_leases are in front; else watch the node whose end lets us in. */
void
curator_standard_predicate (CuratorQueue *queue, gsize index, int max_leases,
                            CuratorPredicateResults *results)
{
  const gint64 front = (gint64) index - max_leases;
  results->gets_the_lock = front < 0;
  results->path_to_watch = front < 0 ? NULL : queue->names[front];
}

/* The same for a driver of the user's. */
void
curator_standard_gets_the_lock (CuratorLockDriver *driver, const char *const *children,
                                gsize n_children, const char *sequence_node_name, guint max_leases,
                                CuratorPredicateResults *results, gpointer user_data)
{
  for (gsize i = 0; i < n_children; i++) {
    if (strcmp (children[i], sequence_node_name) == 0) {
      results->gets_the_lock = i < max_leases;
      results->path_to_watch = results->gets_the_lock ? NULL : children[i - max_leases];
      return;
    }
  }
}
