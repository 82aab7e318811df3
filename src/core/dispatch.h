/* The five lanes on which a client's own work runs.
 *
 * TIMERS     deadlines, retry sleeps, heartbeats, loss of a lease. Never runs user code and never
 *            blocks, so neither ZooKeeper's threads nor a slow callback can delay it.
 * CALLS      the user's callbacks, unless a GMainContext was named.
 * STATES     the user's listeners of connection and lease states: a loss does not queue behind a
 *            slow callback.
 * SESSION    what may block: name resolution, opening and closing ZooKeeper handles.
 * QUESTIONS  the functions of the user's that decide for the library: retry policies and lock drivers.
 *            Neither callbacks nor a GMainContext delay them.
 *
 * In production each lane is a thread. Those of TIMERS and SESSION start with the client, the
 * others when work is expected, or with the first work. If ops->threads is FALSE, the simulator
 * asks when a lane has work and steps it. Guarded by the client's mutex.
 */
#pragma once

#include "base/guards.h"
#include "curator/client.h"

#include <glib.h>

typedef enum
{
  CURATOR_LANE_TIMERS,
  CURATOR_LANE_CALLS,
  CURATOR_LANE_SESSION,
  CURATOR_LANE_STATES,
  CURATOR_LANE_QUESTIONS,
  CURATOR_N_LANES
} CuratorLane;

typedef struct _CuratorDispatch CuratorDispatch;
typedef struct _CuratorTimer CuratorTimer;
typedef void (*CuratorWork) (gpointer data);

/* Runs func once on the timer thread, with the client's mutex held, at or after when_us
 * (monotonic); never after curator_timer_cancel(). The timer frees itself when it fires or is
 * cancelled: func must clear the pointer to it, and cancelling sets it to NULL. Cancelling NULL
 * does nothing. */
CuratorTimer *curator_timer_add (CuratorClient *client, gint64 when_us, CuratorWork func,
                                 gpointer data) CURATOR_LOCKED;
/* The same, delay_us microseconds from now. */
CuratorTimer *curator_timer_after (CuratorClient *client, gint64 delay_us, CuratorWork func,
                                   gpointer data) CURATOR_LOCKED;
/* The same, at a time of the clock of leases: on time, too, when the machine has slept meanwhile.
 * It may run too early, when that clock has jumped, so that func can look what that means. */
CuratorTimer *curator_timer_at_boottime (CuratorClient *client, gint64 when_us, CuratorWork func,
                                         gpointer data) CURATOR_LOCKED;
void curator_timer_cancel (CuratorClient *client, CuratorTimer **timer) CURATOR_LOCKED;

/* Runs func without any lock of ours, in order, on the callback lane or in the user's GMainContext.
 * destroy (may be NULL) runs right after it on the same thread. */
void curator_dispatch_callback (CuratorClient *client, CuratorWork func, gpointer data,
                                GDestroyNotify destroy) CURATOR_LOCKED;
/* The same on the states lane. */
void curator_dispatch_state_callback (CuratorClient *client, CuratorWork func, gpointer data,
                                      GDestroyNotify destroy) CURATOR_LOCKED;

typedef enum
{
  CURATOR_EXPECTED_NOTHING,
  CURATOR_EXPECTED_CALLBACKS, /* which a GMainContext of the user's runs, if there is one */
  CURATOR_EXPECTED_CANCEL     /* curator_dispatch_cancel () */
} CuratorExpected;

/* User code may be called on the lane from now on: its thread is started, if the client runs,
 * because there may be no thread left when the work comes. */
void curator_dispatch_expect (CuratorClient *client, CuratorLane lane,
                              CuratorExpected what) CURATOR_LOCKED;

/* Cancels on the states lane, whatever the user's GMainContext: the handlers are user code. */
void curator_dispatch_cancel (CuratorClient *client, GCancellable *cancellable) CURATOR_LOCKED;

/* Runs func without any lock of ours, in order, on the lane of questions. */
void curator_dispatch_question (CuratorClient *client, CuratorWork func,
                                gpointer data) CURATOR_LOCKED;

/* Runs func without any lock of ours, in order, on the session lane. */
void curator_dispatch_session_work (CuratorClient *client, CuratorWork func,
                                    gpointer data) CURATOR_LOCKED;

/* For a driver of the lanes other than our threads.
 * ready_at: monotonic time at which the lane has work, G_MAXINT64 if it has none.
 * step: runs one piece of work if it is due; FALSE if nothing was due. */
gint64 curator_dispatch_ready_at (CuratorClient *client, CuratorLane lane) CURATOR_UNLOCKED;
gboolean curator_dispatch_step (CuratorClient *client, CuratorLane lane) CURATOR_UNLOCKED;
