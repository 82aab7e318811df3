/* Timers in the order in which they are due, by two clocks.
 *
 * Curator has no counterpart: Java's executors have timers of their own. Threads: any; guarded by
 * the client's mutex. What runs them is dispatch.c.
 */
#include "core/timers.h"

#include "core/client-record.h"
#include "core/monitor.h"

/* GLib inserts a timer behind those that are due at the same time: they fire in the order in which
 * they were set. */
static int
compare_timers (gconstpointer a, gconstpointer b, gpointer user_data)
{
  const CuratorTimer *x = a;
  const CuratorTimer *y = b;
  return x->when_us < y->when_us ? -1 : x->when_us > y->when_us;
}

CuratorTimer *
curator_timers_insert (CuratorTimers *timers, CuratorTimerClock clock, gint64 when_us,
                       CuratorWork func, gpointer data)
{
  CuratorTimer *timer = g_new (CuratorTimer, 1);
  GSequence *queue = timers->queues[clock];
  GSequenceIter *last = g_sequence_iter_prev (g_sequence_get_end_iter (queue));

  *timer = (CuratorTimer){ .when_us = when_us, .func = func, .data = data };
  /* Most timers are due after all others. GLib's search allocates memory. */
  timer->place =
      g_sequence_iter_is_end (last) || compare_timers (g_sequence_get (last), timer, NULL) <= 0
          ? g_sequence_append (queue, timer)
          : g_sequence_insert_sorted (queue, timer, compare_timers, NULL);
  return timer;
}

static CURATOR_LOCKED CuratorTimer *
first_of_clock (CuratorTimers *timers, CuratorTimerClock clock)
{
  GSequenceIter *first = g_sequence_get_begin_iter (timers->queues[clock]);
  return g_sequence_iter_is_end (first) ? NULL : g_sequence_get (first);
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
  const gint64 stepped_us = ops->clocks.stepped_us != NULL ? ops->clocks.stepped_us (ops) : 0;
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
  CuratorTimer *running = first_of_clock (timers, CURATOR_CLOCK_RUNNING);
  CuratorTimer *always = first_of_clock (timers, CURATOR_CLOCK_ALWAYS);
  const gint64 running_us = running != NULL ? running->when_us : G_MAXINT64;
  const gint64 always_us = always != NULL ? always_due_us (timers, client, always) : G_MAXINT64;

  *due_us = MIN (running_us, always_us);
  return always_us < running_us ? always : running;
}
