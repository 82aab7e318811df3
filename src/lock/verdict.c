/* What a list of children means for one of them: the driver's decision on a sorted queue.
 *
 * Mirrors LockInternals.getSortedChildren and StandardLockInternalsDriver.getsTheLock. Pure but for
 * a user's driver, and for a look at what the reaper is going to delete. Threads: any; a user's driver is
 * called without a lock.
 */
#include "lock/verdict.h"

#include "base/path.h"
#include "core/log.h"
#include "lock/queue.h"
#include "nodes/reaper.h"

/* So many nodes in front are read rather than listed again: the list of a long queue costs more than MANY
 * reads. */
#define FEW  2
#define MANY 6

static void
note_foreign (CuratorLockInternals *internals, const CuratorQueue *order)
{
  if (order->n_foreign > 0)
    {
      g_autofree char *shown = curator_path_escape (order->first_foreign);
      curator_debug ("%s: %" G_GSIZE_FORMAT
                     " children are no lock nodes and are ignored, such as %s",
                     internals->base, order->n_foreign, shown);
    }
}

/* The shortcuts of a queue that nothing overtakes. Its first max_leases nodes have the lock:
 * right behind them, the end of the very first lets us in. Behind a few nodes, the end of all of them
 * does. Further back, the end of the second node in front is a reason to list again. */
static void
apply_shortcuts (CuratorVerdict *verdict, const CuratorLockInternals *internals, int max_leases,
                 const CuratorQueue *order, gssize index)
{
  const CuratorLockDriver *driver = internals->driver;

  if (!driver->nothing_overtakes || verdict->watch == NULL || index < max_leases)
    {
      return;
    }
  verdict->is_long = order->n_names >= internals->client->long_queue;
  const gboolean is_front = g_str_equal (verdict->watch, order->names[index - max_leases]);
  verdict->is_next = is_front && index == max_leases;
  if (is_front && max_leases == 1 && index >= 2)
    {
      verdict->knows_front = index <= (verdict->is_long ? MANY : FEW);
      verdict->second_watch = order->names[index - 2];
      verdict->rest = order->names;
      verdict->n_rest = verdict->knows_front ? (gsize) index - 2 : 0;
    }
}

/* A node that nothing is watched for is woken by every change. */
static gboolean
is_near (const CuratorLockDriver *driver, int max_leases, CuratorQueue *order, const char *watched)
{
  const gssize index = watched != NULL ? curator_queue_index_of (order, watched) : -1;
  return index < 0
         || (driver->holds != NULL ? driver->holds (order, (gsize) index) : index < max_leases);
}

GPtrArray *
curator_verdict_copy_rest (const CuratorVerdict *verdict)
{
  GPtrArray *rest =
      verdict->n_rest > 0 ? g_ptr_array_new_full ((guint) verdict->n_rest, g_free) : NULL;

  for (gsize i = 0; i < verdict->n_rest; i++)
    {
      g_ptr_array_add (rest, g_strdup (verdict->rest[i]));
    }
  return rest;
}

static void
ask (CuratorLockInternals *internals, int max_leases, const char *own, CuratorQueue *order,
     gssize index, CuratorPredicateResults *results)
{
  CuratorLockDriver *driver = internals->driver;

  if (driver->predicate != NULL)
    {
      driver->predicate (order, (gsize) index, max_leases, results);
    }
  else if (driver->funcs.gets_the_lock != NULL)
    {
      driver->funcs.gets_the_lock (driver, (const char *const *) order->names, order->n_names, own,
                                   (guint) max_leases, results, driver->user_data);
    }
  else
    {
      curator_standard_gets_the_lock (driver, (const char *const *) order->names, order->n_names,
                                      own, (guint) max_leases, results, driver->user_data);
    }
}

static CuratorVerdict
ask_driver (CuratorLockInternals *internals, int max_leases, const char *own, CuratorQueue *order,
            gssize index)
{
  CuratorLockDriver *driver = internals->driver;
  CuratorPredicateResults results = { 0 };
  CuratorVerdict verdict = { .kind = VERDICT_WAIT, .n_foreign = order->n_foreign };

  note_foreign (internals, order);
  ask (internals, max_leases, own, order, index, &results);
  if (results.gets_the_lock)
    {
      verdict.kind = VERDICT_GRANTED;
      return verdict;
    }
  verdict.watch = results.path_to_watch;
  verdict.is_near = is_near (driver, max_leases, order, verdict.watch);
  apply_shortcuts (&verdict, internals, max_leases, order, index);
  return verdict;
}

CuratorVerdict
curator_judge (CuratorLockInternals *internals, int max_leases, const char *own,
               CuratorQueue *order)
{
  const gssize index = curator_queue_index_of (order, own);

  if (order->exhausted || index < 0)
    {
      const CuratorVerdict verdict = { .kind =
                                           order->exhausted ? VERDICT_EXHAUSTED : VERDICT_MISSING,
                                       .n_foreign = order->n_foreign };
      return verdict;
    }
  return ask_driver (internals, max_leases, own, order, index);
}

static gboolean
is_child (const GPtrArray *children, const char *name)
{
  for (guint i = 0; i < children->len; i++)
    {
      if (g_str_equal (g_ptr_array_index (children, i), name))
        {
          return TRUE;
        }
    }
  return FALSE;
}

CuratorVerdict
curator_judge_by_user (CuratorLockInternals *internals, int max_leases, const char *own,
                       gboolean sequential, const GPtrArray *children, CuratorQueue *order)
{
  curator_queue_init (order, (const char *const *) children->pdata, children->len,
                      curator_lock_internals_key, internals);
  const gboolean numbered = curator_queue_index_of (order, own) >= 0;

  if (numbered || (sequential && order->exhausted) || !is_child (children, own))
    {
      return curator_judge (internals, max_leases, own, order);
    }
  if (sequential)
    {
      const CuratorVerdict verdict = { .kind = VERDICT_UNNUMBERED };
      return verdict;
    }
  curator_queue_insert (order, own, curator_lock_internals_key, internals);
  order->n_foreign--;
  return ask_driver (internals, max_leases, own, order, -1);
}

static CURATOR_LOCKED gboolean
is_litter (const CuratorLockInternals *internals, const char *name)
{
  g_autofree char *path = curator_path_join (internals->base, name);
  return curator_reaper_will_delete (internals->client->reaper, path);
}

/* What is watched is in front, so if that is no litter the others need no look. */
gboolean
curator_verdict_is_for_litter (const CuratorVerdict *verdict, CuratorLockInternals *internals,
                               const char *own, const CuratorQueue *queue)
{
  if (verdict->kind != VERDICT_WAIT || curator_reaper_pending (internals->client->reaper) == 0
      || (verdict->watch != NULL && !is_litter (internals, verdict->watch)))
    {
      return FALSE;
    }
  g_autoptr (GPtrArray) others = g_ptr_array_new ();
  for (gsize i = 0; i < queue->n_names; i++)
    {
      if (!is_litter (internals, queue->names[i]))
        {
          g_ptr_array_add (others, queue->names[i]);
        }
    }
  g_auto (CuratorQueue) rest = { 0 };
  curator_queue_init (&rest, (const char *const *) others->pdata, others->len,
                      curator_lock_internals_key, internals);
  return curator_judge (internals, internals->max_leases, own, &rest).kind == VERDICT_GRANTED;
}
