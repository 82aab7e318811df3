/* Timers in the order in which they are due, by two clocks. Guarded by the client's mutex. */
#pragma once

#include "base/guards.h"
#include "core/dispatch.h"

struct _CuratorTimer
{
  gint64 when_us;
  CuratorWork func;
  gpointer data;
  GSequenceIter *place CURATOR_GUARDED; /* frees the timer when it is removed */
};

typedef struct
{
  GSequence *queues[CURATOR_N_CLOCKS] CURATOR_GUARDED; /* which free their timers */
  gint64 stepped_us CURATOR_GUARDED; /* the last jump of CURATOR_CLOCK_ALWAYS that they know of */
} CuratorTimers;

CuratorTimer *curator_timers_insert (CuratorTimers *timers, CuratorTimerClock clock, gint64 when_us,
                                     CuratorWork func, gpointer data) CURATOR_LOCKED;
/* What the monotonic clock shows when the timer's own shows when_us, unless the machine sleeps. */
gint64 curator_timers_due_us (CuratorClient *client, CuratorTimerClock clock, gint64 when_us);
/* The next timer, and when it is due by the monotonic clock. NULL and G_MAXINT64 if there is
 * none. */
CuratorTimer *curator_timers_first (CuratorTimers *timers, CuratorClient *client,
                                    gint64 *due_us) CURATOR_LOCKED;
