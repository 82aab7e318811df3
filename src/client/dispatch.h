/* The four lanes on which a client's own work runs: timers, callbacks, news, session work.
 *
 * TIMERS     deadlines, retry sleeps, heartbeats, loss of a lease. Never runs user code, never
 *            blocks, so neither ZooKeeper's threads nor a slow callback can hold it up.
 * CALLBACKS  what the user asked to be told, when no GMainContext was named.
 * NEWS       of that, the states of connection and leases: a loss does not queue behind a callback
 *            that takes its time.
 * SESSION    what may block: name resolution, opening and closing ZooKeeper handles.
 *
 * In production each lane is a thread. With ops->threads FALSE nobody runs them: the simulator asks
 * when a lane has work and steps it. Guarded by the client's mutex unless a line says otherwise.
 */
#ifndef CURATOR_DISPATCH_H
#define CURATOR_DISPATCH_H

#include "curator/client.h"
#include "guards.h"

#include <glib.h>

typedef enum
{
  CURATOR_LANE_TIMERS,
  CURATOR_LANE_CALLBACKS,
  CURATOR_LANE_SESSION,
  CURATOR_LANE_STATES,
  CURATOR_N_LANES
} CuratorLane;

typedef struct _CuratorDispatch CuratorDispatch;
typedef struct _CuratorTimer CuratorTimer;
typedef void (*CuratorWork) (gpointer data);

/* Runs func under the client's mutex, on the timer lane, once, at or
 * after when_us (monotonic); not at all after curator_timer_cancel(). The timer frees itself when
 * it has fired or was cancelled: func forgets the pointer to it, and cancelling makes it NULL, which it
 * may have been. */
CuratorTimer *curator_timer_add (CuratorClient *client, gint64 when_us, CuratorWork func,
                                 gpointer data) CURATOR_LOCKED;
/* The same, delay_us microseconds from now. */
CuratorTimer *curator_timer_after (CuratorClient *client, gint64 delay_us, CuratorWork func,
                                   gpointer data) CURATOR_LOCKED;
void curator_timer_cancel (CuratorClient *client, CuratorTimer **timer) CURATOR_LOCKED;

/* Runs func without any lock of ours, in order, on the callback lane
 * or in the user's GMainContext; destroy (may be NULL) runs right after it on the same thread. */
void curator_dispatch_callback (CuratorClient *client, CuratorWork func, gpointer data,
                                GDestroyNotify destroy) CURATOR_LOCKED;
/* The same on the news lane. */
void curator_dispatch_state_callback (CuratorClient *client, CuratorWork func, gpointer data,
                                      GDestroyNotify destroy) CURATOR_LOCKED;

/* Runs func without any lock of ours, in order, on the session lane. */
void curator_dispatch_session_work (CuratorClient *client, CuratorWork func,
                                    gpointer data) CURATOR_LOCKED;

/* Between these, code of ours runs on a thread of libzookeeper's: what is told there may drop the last
 * reference to a client, whose end must not be waited for by a thread that it waits for. leave takes
 * what enter has returned. */
CuratorClient *curator_dispatch_enter (CuratorClient *client);
void curator_dispatch_leave (CuratorClient *before);

/* For a driver of the lanes other than our threads. @locks client mutex NOT held.
 * ready_at: monotonic time at which the lane has something to do, G_MAXINT64 if never.
 * step: runs one piece of work if it is due; FALSE if nothing was due. */
gint64 curator_dispatch_ready_at (CuratorClient *client, CuratorLane lane) CURATOR_UNLOCKED;
gboolean curator_dispatch_step (CuratorClient *client, CuratorLane lane) CURATOR_UNLOCKED;

#endif
