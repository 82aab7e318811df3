/* Statistics of a client: its counters, and a trace of single events.
 *
 * For dashboards and for the analysis of incidents. The nearest Java counterparts are TracerDriver
 * and AdvancedTracerDriver. All functions are thread-safe.
 *
 * Messages go to GLib's structured log, domain "curator". Those of libzookeeper are there too, as
 * INFO with CURATOR_SOURCE=libzookeeper. Debug messages are only produced if G_MESSAGES_DEBUG names
 * the domain when the first client starts.
 */
#ifndef CURATOR_STATS_H
#define CURATOR_STATS_H

#include <curator/types.h>
#include <curator/visibility.h>

G_BEGIN_DECLS

/** Counters of a client, all since its creation. Later versions only append. Durations are in the
 *  histograms of curator_client_format_metrics(). */
typedef enum
{
  /** Holds granted: locks of all kinds, leases of semaphores, and turns to take such leases. */
  CURATOR_COUNTER_GRANTS,
  /** Attempts, granted or failed, that found another contender ahead. */
  CURATOR_COUNTER_WAITS,
  /** Attempts that ended with an error, including timeouts and cancellations. */
  CURATOR_COUNTER_FAILURES,
  /** Holds released. */
  CURATOR_COUNTER_RELEASES,
  /** Holds lost because the server reported the session expired, or because no server was reached
   *  for the length of the session timeout. */
  CURATOR_COUNTER_LOST_SESSION,
  /** Holds lost because no quorum confirmed them in time. */
  CURATOR_COUNTER_LOST_CLOCK,
  /** Holds lost because another client deleted their node. */
  CURATOR_COUNTER_LOST_DELETED,
  /** Holds ended by closing the client. */
  CURATOR_COUNTER_LOST_CLOSED,
  /** Nodes deleted, by releases and in the background. */
  CURATOR_COUNTER_NODES_REAPED,
  /** Children of lock paths that are not lock nodes, counted in each listing. */
  CURATOR_COUNTER_NAMES_IGNORED,
  /** Heartbeats answered in time to extend the holds. */
  CURATOR_COUNTER_HEARTBEATS,
  /** Heartbeats that failed or were answered too late. */
  CURATOR_COUNTER_HEARTBEATS_MISSED,
  /** Sessions begun. */
  CURATOR_COUNTER_SESSIONS,
  /** Requests sent to the server. */
  CURATOR_COUNTER_REQUESTS,
  /** Checks of the session and the node before a grant, because the newest ones were too old. Each
   *  delays the grant by one round trip. */
  CURATOR_COUNTER_CONFIRMATIONS,
  /** Holds lost because they lasted longer than curator_lock_set_max_hold() allows. */
  CURATOR_COUNTER_LOST_MAX_HOLD
} CuratorCounter;

/** Copies all counters at one moment.
 *  @param values  out: an array of @p n values, indexed by #CuratorCounter
 *  @param n       length of @p values; counters unknown to this version of the library are 0
 *  @return the number of counters that this version has */
CURATOR_API
gsize curator_client_get_counters (CuratorClient *client, guint64 *values, gsize n);

/** Name of a counter, for example "grants"; NULL for other values. Static. */
CURATOR_API
const char *curator_counter_to_string (CuratorCounter counter);

/** Kinds of traced events. Later versions only append. */
typedef enum
{
  CURATOR_TRACE_KIND_GRANTED,  /**< a hold began; the duration is the time since the call */
  CURATOR_TRACE_KIND_FAILED,   /**< an attempt failed; the duration is the time since the call */
  CURATOR_TRACE_KIND_RELEASED, /**< a hold was released; the duration is how long it lasted */
  CURATOR_TRACE_KIND_LOST,     /**< a hold was lost; the duration is how long it lasted */
  CURATOR_TRACE_KIND_HEARTBEAT /**< a heartbeat was answered; the duration is the round trip */
} CuratorTraceKind;

/** One event; valid only during the call of the trace function. */
typedef struct _CuratorTraceEvent CuratorTraceEvent;

/** Called for each event, in order. Runs as a callback; see client.h. */
typedef void (*CuratorTraceFunc) (const CuratorTraceEvent *event, gpointer user_data);

/** Sets the only trace function of the client, before start. The nearest Java counterpart is
 *  CuratorZookeeperClient.setTracerDriver.
 *  @param func     NULL for none
 *  @param destroy  frees @p user_data with the client; may be NULL */
CURATOR_API
void curator_client_set_trace (CuratorClient *client, CuratorTraceFunc func, gpointer user_data,
                               GDestroyNotify destroy);

/** The kind of the event. */
CURATOR_API
CuratorTraceKind curator_trace_event_get_kind (const CuratorTraceEvent *event);

/** Path of the node, or of the lock if there is no node; "" for a heartbeat. Borrowed. */
CURATOR_API
const char *curator_trace_event_get_path (const CuratorTraceEvent *event);

/** Duration in microseconds; see #CuratorTraceKind. */
CURATOR_API
gint64 curator_trace_event_get_duration_us (const CuratorTraceEvent *event);

/** Id of the session in which the event happened; 0 if there was none. */
CURATOR_API
gint64 curator_trace_event_get_session_id (const CuratorTraceEvent *event);

G_END_DECLS

#endif
