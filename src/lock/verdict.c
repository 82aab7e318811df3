/* What a list of children means for one of them: the driver's decision on a sorted queue.
 *
 * Mirrors LockInternals.getSortedChildren and StandardLockInternalsDriver.getsTheLock. Pure but for
 * a user's driver, and for a look at what the client is going to delete. Threads: any; a user's
 * driver is called without a lock.
 */
#include "lock/verdict.h"

#include "base/path.h"
#include "core/log.h"
#include "lock/queue.h"
#include "nodes/deletion.h"

static void
note_foreign (CuratorLockInternals *internals, const CuratorQueue *queue)
{
  if (queue->n_foreign > 0) {
    g_autofree char *shown = curator_path_escape (queue->first_foreign);
    curator_debug ("%s: %" G_GSIZE_FORMAT " children are no lock nodes and are ignored, such as %s",
                   internals->base, queue->n_foreign, shown);
  }
}

/* The shortcuts of a queue that nothing overtakes. Its first max_leases nodes have the lock: right
 * behind them, the end of the very first lets us in. Further back, the end of the second node in
 * front is a reason to list again. */
static void
apply_shortcuts (CuratorVerdict *verdict, const CuratorLockInternals *internals, int max_leases,
                 const CuratorQueue *queue, gssize index)
{
  if (!internals->driver->nothing_overtakes || verdict->watch == NULL || index < max_leases
      || !g_str_equal (verdict->watch, queue->names[index - max_leases]))
    return;
  verdict->is_next = index == max_leases;
  if (max_leases == 1 && index >= 2)
    verdict->second_watch = queue->names[index - 2];
}

/* A node that nothing is watched for is woken by every change. */
static gboolean
is_near (const CuratorLockDriver *driver, int max_leases, CuratorQueue *queue, const char *watched)
{
  const gssize index = watched != NULL ? curator_queue_index_of (queue, watched) : -1;
  return index < 0
         || (driver->holds != NULL ? driver->holds (queue, (gsize) index) : index < max_leases);
}

static void
ask (CuratorLockInternals *internals, int max_leases, const char *own, CuratorQueue *queue,
     gssize index, CuratorPredicateResults *results)
{
  CuratorLockDriver *driver = internals->driver;

  if (driver->predicate != NULL) {
    driver->predicate (queue, (gsize) index, max_leases, results);
  } else if (driver->funcs.gets_the_lock != NULL) {
    driver->funcs.gets_the_lock (driver, (const char *const *) queue->names, queue->n_names, own,
                                 (guint) max_leases, results, driver->user_data);
  } else {
    curator_standard_gets_the_lock (driver, (const char *const *) queue->names, queue->n_names, own,
                                    (guint) max_leases, results, driver->user_data);
  }
}

static CuratorVerdict
ask_driver (CuratorLockInternals *internals, int max_leases, const char *own, CuratorQueue *queue,
            gssize index)
{
  CuratorLockDriver *driver = internals->driver;
  CuratorPredicateResults results = { 0 };
  CuratorVerdict verdict = { .kind = VERDICT_WAIT, .n_foreign = queue->n_foreign };

  note_foreign (internals, queue);
  ask (internals, max_leases, own, queue, index, &results);
  if (results.gets_the_lock) {
    verdict.kind = VERDICT_GRANTED;
    return verdict;
  }
  verdict.watch = results.path_to_watch;
  verdict.is_near = is_near (driver, max_leases, queue, verdict.watch);
  apply_shortcuts (&verdict, internals, max_leases, queue, index);
  return verdict;
}

CuratorVerdict
curator_judge (CuratorLockInternals *internals, int max_leases, const char *own,
               CuratorQueue *queue)
{
  const gssize index = curator_queue_index_of (queue, own);

  if (index < 0)
    return (CuratorVerdict){ .kind = VERDICT_MISSING, .n_foreign = queue->n_foreign };
  if (curator_queue_is_exhausted (queue, (gsize) index))
    return (CuratorVerdict){ .kind = VERDICT_EXHAUSTED, .n_foreign = queue->n_foreign };
  const char *twin = curator_queue_twin_of (queue, (gsize) index);
  return twin != NULL ? (
             CuratorVerdict){ .kind = VERDICT_TIED, .watch = twin, .n_foreign = queue->n_foreign }
                      : ask_driver (internals, max_leases, own, queue, index);
}

static gboolean
is_child (const GPtrArray *children, const char *name)
{
  for (guint i = 0; i < children->len; i++)
    if (g_str_equal (g_ptr_array_index (children, i), name))
      return TRUE;
  return FALSE;
}

CuratorVerdict
curator_judge_by_user (CuratorLockInternals *internals, int max_leases, const char *own,
                       gboolean sequential, const GPtrArray *children, CuratorQueue *queue)
{
  curator_queue_init (queue, (const char *const *) children->pdata, children->len,
                      curator_lock_internals_key, internals);
  const gboolean numbered = curator_queue_index_of (queue, own) >= 0;

  if (numbered || !is_child (children, own))
    return curator_judge (internals, max_leases, own, queue);
  if (sequential) {
    const CuratorVerdict verdict = { .kind = VERDICT_UNNUMBERED };
    return verdict;
  }
  curator_queue_insert (queue, own, curator_lock_internals_key, internals);
  queue->n_foreign--;
  return ask_driver (internals, max_leases, own, queue, -1);
}

static CURATOR_LOCKED gboolean
is_litter (const CuratorLockInternals *internals, const char *name)
{
  g_autofree char *path = curator_path_join (internals->base, name);
  return curator_deletions_has_path (internals->client, path);
}

/* What is watched is in front, so if that is no litter the others need no look. */
gboolean
curator_verdict_is_for_litter (const CuratorVerdict *verdict, CuratorLockInternals *internals,
                               const char *own, const CuratorQueue *queue)
{
  if (verdict->kind != VERDICT_WAIT || curator_deletions_pending (internals->client) == 0
      || (verdict->watch != NULL && !is_litter (internals, verdict->watch)))
    return FALSE;
  g_autoptr (GPtrArray) others = g_ptr_array_new ();
  for (gsize i = 0; i < queue->n_names; i++)
    if (!is_litter (internals, queue->names[i]))
      g_ptr_array_add (others, queue->names[i]);
  g_auto (CuratorQueue) rest = { 0 };
  curator_queue_init (&rest, (const char *const *) others->pdata, others->len,
                      curator_lock_internals_key, internals);
  return curator_judge (internals, internals->max_leases, own, &rest).kind == VERDICT_GRANTED;
}
