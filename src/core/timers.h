/* Timers in the order in which they are due, by two clocks. Guarded by the client's mutex. */
#pragma once

#include "base/guards.h"
#include "core/dispatch.h"

struct _CuratorTimer
{
  gint64 when_us;
  guint64 serial;
  CuratorWork func;
  gpointer data;
  GList link CURATOR_GUARDED;           /* in the list */
  GSequenceIter *place CURATOR_GUARDED; /* in a tree, which frees the timer; or NULL */
};

typedef struct
{
  GQueue list CURATOR_GUARDED; /* of CURATOR_CLOCK_RUNNING */
  GSequence *trees[CURATOR_N_CLOCKS] CURATOR_GUARDED;
  guint64 last_serial CURATOR_GUARDED;
  gint64 stepped_us CURATOR_GUARDED; /* the last jump of CURATOR_CLOCK_ALWAYS that they know of */
} CuratorTimers;

void curator_timers_init (CuratorTimers *timers) CURATOR_LOCKED;
void curator_timers_clear (CuratorTimers *timers) CURATOR_LOCKED;
CuratorTimer *curator_timers_insert (CuratorTimers *timers, CuratorTimerClock clock, gint64 when_us,
                                     CuratorWork func, gpointer data) CURATOR_LOCKED;
/* Frees the timer. */
void curator_timers_remove (CuratorTimers *timers, CuratorTimer *timer) CURATOR_LOCKED;
/* What the monotonic clock shows when the timer's own shows when_us, unless the machine sleeps. */
gint64 curator_timers_due_us (CuratorClient *client, CuratorTimerClock clock, gint64 when_us);
/* The next timer, and when it is due by the monotonic clock. NULL and G_MAXINT64 if there is
 * none. */
CuratorTimer *curator_timers_first (CuratorTimers *timers, CuratorClient *client,
                                    gint64 *due_us) CURATOR_LOCKED;
