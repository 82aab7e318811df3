/* Timers in the order in which they are due, by two clocks.
 *
 * Curator has no counterpart: Java's executors have timers of their own. Threads: any; guarded by
 * the client's mutex. What runs them is dispatch.c.
 *
 * NOTES: most timers by the running clock are due after nearly all others, and are cancelled. They
 * are in a list; the tree, which allocates memory and searches, has the rest.
 */
#include "core/timers.h"

#include "core/client-record.h"
#include "core/monitor.h"

/* A place in the list is looked for behind so many of its last timers. */
#define LAST_TIMERS 8

/* Those that are due at the same time fire in the order in which they were set. */
static int
compare_timers (gconstpointer a, gconstpointer b, gpointer user_data)
{
  const CuratorTimer *x = a;
  const CuratorTimer *y = b;
  if (x->when_us != y->when_us)
    return x->when_us < y->when_us ? -1 : 1;
  return x->serial < y->serial ? -1 : x->serial > y->serial;
}

static CURATOR_LOCKED void
link_behind (GQueue *list, GList *before, GList *link)
{
  link->prev = before;
  link->next = before != NULL ? before->next : list->head;
  *(link->prev != NULL ? &link->prev->next : &list->head) = link;
  *(link->next != NULL ? &link->next->prev : &list->tail) = link;
  list->length++;
}

/* FALSE: its place is too far from the end. */
static CURATOR_LOCKED gboolean
add_to_list (GQueue *list, CuratorTimer *timer)
{
  GList *before = list->tail;

  for (guint i = 0;
       i < LAST_TIMERS && before != NULL && compare_timers (before->data, timer, NULL) > 0; i++)
    before = before->prev;
  if (before != NULL && compare_timers (before->data, timer, NULL) > 0)
    return FALSE;
  timer->link.data = timer;
  link_behind (list, before, &timer->link);
  return TRUE;
}

void
curator_timers_init (CuratorTimers *timers)
{
  for (int clock = 0; clock < CURATOR_N_CLOCKS; clock++)
    timers->trees[clock] = g_sequence_new (g_free);
}

void
curator_timers_clear (CuratorTimers *timers)
{
  while (timers->list.head != NULL)
    curator_timers_remove (timers, timers->list.head->data);
  for (int clock = 0; clock < CURATOR_N_CLOCKS; clock++)
    g_sequence_free (timers->trees[clock]);
}

CuratorTimer *
curator_timers_insert (CuratorTimers *timers, CuratorTimerClock clock, gint64 when_us,
                       CuratorWork func, gpointer data)
{
  CuratorTimer *timer = g_new (CuratorTimer, 1);

  *timer = (CuratorTimer){
    .when_us = when_us, .serial = ++timers->last_serial, .func = func, .data = data
  };
  if (clock != CURATOR_CLOCK_RUNNING || !add_to_list (&timers->list, timer))
    timer->place = g_sequence_insert_sorted (timers->trees[clock], timer, compare_timers, NULL);
  return timer;
}

void
curator_timers_remove (CuratorTimers *timers, CuratorTimer *timer)
{
  if (timer->place != NULL) {
    g_sequence_remove (timer->place);
  } else {
    g_queue_unlink (&timers->list, &timer->link);
    g_free (timer);
  }
}

static CURATOR_LOCKED CuratorTimer *
first_of_tree (CuratorTimers *timers, CuratorTimerClock clock)
{
  GSequenceIter *first = g_sequence_get_begin_iter (timers->trees[clock]);
  return g_sequence_iter_is_end (first) ? NULL : g_sequence_get (first);
}

static CURATOR_LOCKED CuratorTimer *
first_running (CuratorTimers *timers)
{
  CuratorTimer *in_list = g_queue_peek_head (&timers->list);
  CuratorTimer *in_tree = first_of_tree (timers, CURATOR_CLOCK_RUNNING);
  return in_list == NULL || (in_tree != NULL && compare_timers (in_tree, in_list, NULL) < 0)
             ? in_tree
             : in_list;
}

/* Both clocks are read anew, one right after the other: if the machine sleeps in between, the timer
 * is early. */
gint64
curator_timers_due_us (CuratorClient *client, CuratorTimerClock clock, gint64 when_us)
{
  if (clock == CURATOR_CLOCK_RUNNING)
    return when_us;
  const gint64 now = curator_client_now_us (client);
  return now + (when_us - curator_client_boottime_us (client));
}

/* When the first timer of the clock that jumps is due. After a jump, which reading the clock finds,
 * all are: whoever waits for a moment of it is to look again. */
static CURATOR_LOCKED gint64
always_due_us (CuratorTimers *timers, CuratorClient *client, const CuratorTimer *first)
{
  const gint64 due_us = curator_timers_due_us (client, CURATOR_CLOCK_ALWAYS, first->when_us);
  CuratorZkOps *ops = client->ops;
  const gint64 stepped_us = ops->stepped_us != NULL ? ops->stepped_us (ops) : 0;
  if (stepped_us <= timers->stepped_us)
    return due_us;
  timers->stepped_us = stepped_us;
  for (GSequenceIter *iter = first->place; !g_sequence_iter_is_end (iter);
       iter = g_sequence_iter_next (iter)) {
    CuratorTimer *timer = g_sequence_get (iter);
    timer->when_us = 0;
  }
  return 0;
}

CuratorTimer *
curator_timers_first (CuratorTimers *timers, CuratorClient *client, gint64 *due_us)
{
  CuratorTimer *running = first_running (timers);
  CuratorTimer *always = first_of_tree (timers, CURATOR_CLOCK_ALWAYS);
  const gint64 running_us = running != NULL ? running->when_us : G_MAXINT64;
  const gint64 always_us = always != NULL ? always_due_us (timers, client, always) : G_MAXINT64;

  *due_us = MIN (running_us, always_us);
  return always_us < running_us ? always : running;
}
