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

typedef enum
{
  CURATOR_CLOCK_RUNNING, /* CLOCK_MONOTONIC, which stands still while the machine sleeps */
  CURATOR_CLOCK_ALWAYS,  /* the clock of leases */
  CURATOR_N_CLOCKS
} CuratorTimerClock;

typedef struct _CuratorDispatch CuratorDispatch;
typedef struct _CuratorTimer CuratorTimer;
typedef void (*CuratorWork) (gpointer data);

/* Runs func once on the timer thread, with the client's mutex held, at or after when_us of the
 * clock; never after curator_timer_cancel(). The timer frees itself when it fires or is cancelled:
 * func must clear the pointer to it, and cancelling sets it to NULL. Cancelling NULL does nothing.
 * By CURATOR_CLOCK_ALWAYS it is on time, too, when the machine has slept meanwhile. It may run too
 * early, when that clock has jumped, so that func can look what that means. */
CuratorTimer *curator_timer_add (CuratorClient *client, CuratorTimerClock clock, gint64 when_us,
                                 CuratorWork func, gpointer data) CURATOR_LOCKED;
/* The same by CURATOR_CLOCK_RUNNING, delay_us microseconds from now. */
CuratorTimer *curator_timer_after (CuratorClient *client, gint64 delay_us, CuratorWork func,
                                   gpointer data) CURATOR_LOCKED;
void curator_timer_cancel (CuratorClient *client, CuratorTimer **timer) CURATOR_LOCKED;

/* Runs func without any lock of ours, in order, on the lane. destroy runs right after it on the
 * same thread. Either may be NULL. A GMainContext of the user's replaces both lanes of callbacks. */
void curator_dispatch_push (CuratorClient *client, CuratorLane lane, CuratorWork func,
                            gpointer data, GDestroyNotify destroy) CURATOR_LOCKED;

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

/* For a driver of the lanes other than our threads.
 * ready_at: monotonic time at which the lane has work, G_MAXINT64 if it has none.
 * step: runs one piece of work if it is due; FALSE if nothing was due. */
gint64 curator_dispatch_ready_at (CuratorClient *client, CuratorLane lane) CURATOR_LOCKED;
gboolean curator_dispatch_step (CuratorClient *client, CuratorLane lane) CURATOR_UNLOCKED;

CuratorDispatch *curator_dispatch_new (void) CURATOR_LOCKED;
void curator_dispatch_free (CuratorDispatch *dispatch) CURATOR_LOCKED;
/* Starts the threads, if ops->threads. */
gboolean curator_dispatch_start (CuratorClient *client, GError **error) CURATOR_LOCKED;
/* The lanes finish their work and end. */
void curator_dispatch_stop (CuratorClient *client) CURATOR_LOCKED;
void curator_dispatch_session_ended (CuratorClient *client) CURATOR_LOCKED;
/* Waits until the sessions are closed and the lanes have ended, with the mutex unlocked, for a
 * limited time: warns if that is over. On a thread that serves a client it does not wait for lanes,
 * nor for a session of its own client unless that is the program's. */
void curator_dispatch_join (CuratorClient *client) CURATOR_LOCKED;
/* Runs func (data) once, right after an unlock, when all of them have ended, or when
 * curator_dispatch_join() would not wait any longer. */
void curator_dispatch_end_then (CuratorClient *client, CuratorWork func,
                                gpointer data) CURATOR_LOCKED;
