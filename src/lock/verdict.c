/* What a list of children means for one of them: the driver's word on a sorted queue.
 *
 * Mirrors LockInternals.getSortedChildren and StandardLockInternalsDriver.getsTheLock. Pure but for a
 * user's driver; threads: any, and with a user's driver without a lock.
 */
#include "lock/verdict.h"

#include "client/log.h"
#include "client/path.h"
#include "lock/queue.h"

/* @locks client mutex held for a driver of ours, none for a user's. */
CuratorVerdict
curator_judge (CuratorLockInternals *internals, int max_leases, const char *own,
               const char *const *children, gsize n_children, gboolean sequential)
{
  CuratorLockDriver *driver = internals->driver;
  g_auto (CuratorQueue) queue = { 0 };
  CuratorPredicateResults results = { 0 };

  curator_queue_init (&queue, children, n_children, curator_lock_internals_key, internals);
  if (queue.n_foreign > 0)
    {
      g_autofree char *shown = curator_path_escape (queue.first_foreign);
      curator_debug ("%s: %" G_GSIZE_FORMAT " children are no lock nodes and are ignored, as %s",
                     internals->base, queue.n_foreign, shown);
    }
  if (sequential && queue.exhausted)
    {
      return (CuratorVerdict){ .kind = VERDICT_EXHAUSTED, .n_foreign = queue.n_foreign };
    }
  if (sequential && curator_queue_index_of (&queue, own) < 0)
    {
      return (CuratorVerdict){ .kind = VERDICT_MISSING, .n_foreign = queue.n_foreign };
    }
  if (driver->funcs.gets_the_lock != NULL)
    {
      driver->funcs.gets_the_lock (driver, (const char *const *) queue.names, queue.n_names, own,
                                   max_leases, &results, driver->user_data);
    }
  else
    {
      curator_standard_gets_the_lock (driver, (const char *const *) queue.names, queue.n_names, own,
                                      max_leases, &results, NULL);
    }
  return (CuratorVerdict){ .kind = results.gets_the_lock ? VERDICT_OURS : VERDICT_WAIT,
                           .watch = results.gets_the_lock ? NULL : g_strdup (results.path_to_watch),
                           .n_foreign = queue.n_foreign };
}
