/* What a client has done so far: counters by one call, and a trace of single events.
 *
 * For dashboards and for the question "what happened last night". Curator has TracerDriver and
 * AdvancedTracerDriver; the counters go further. All functions are thread-safe.
 *
 * Messages are in GLib's structured log, domain "curator"; libzookeeper's own lines are there too,
 * as INFO with CURATOR_SOURCE=libzookeeper. Debug messages are only made when G_MESSAGES_DEBUG names
 * the domain as the first client starts.
 */
#ifndef CURATOR_STATS_H
#define CURATOR_STATS_H

#include <curator/types.h>
#include <curator/visibility.h>

G_BEGIN_DECLS

/** Counters of a client, all since it was made. Append only. */
typedef enum
{
  /** Holds granted: locks of every kind, leases of semaphores and their turns. */
  CURATOR_COUNTER_GRANTS,
  /** Grants and failures of attempts that found somebody in front of them. */
  CURATOR_COUNTER_WAITS,
  /** Attempts that ended with an error, time-outs and cancellations included. */
  CURATOR_COUNTER_FAILURES,
  /** Holds given back. */
  CURATOR_COUNTER_RELEASES,
  /** Holds lost because the server said that the session had expired, or nobody was reached for as
   *  long as it lasts. */
  CURATOR_COUNTER_LOST_SESSION,
  /** Holds lost because no quorum confirmed them in time. */
  CURATOR_COUNTER_LOST_CLOCK,
  /** Holds lost because somebody else deleted their node. */
  CURATOR_COUNTER_LOST_DELETED,
  /** Holds ended by closing the client. */
  CURATOR_COUNTER_LOST_CLOSED,
  /** Nodes deleted, by releases as well as in the background. */
  CURATOR_COUNTER_NODES_REAPED,
  /** Children of lock paths that were no lock nodes, each time that they were seen. */
  CURATOR_COUNTER_NAMES_IGNORED,
  /** Heartbeats answered in time to prove something. */
  CURATOR_COUNTER_HEARTBEATS,
  /** Heartbeats answered too late, or failed. */
  CURATOR_COUNTER_HEARTBEATS_MISSED,
  /** Sessions begun. */
  CURATOR_COUNTER_SESSIONS,
  /** Requests sent to the server. */
  CURATOR_COUNTER_REQUESTS,
  /** Grants by the time from the call to the grant: below 1 ms, 4 ms, 16 ms, 64 ms, 256 ms, 1.024 s,
   *  4.096 s, 16.384 s, 65.536 s, and longer. */
  CURATOR_COUNTER_WAIT_BELOW_1_MS,
  CURATOR_COUNTER_WAIT_BELOW_4_MS,
  CURATOR_COUNTER_WAIT_BELOW_16_MS,
  CURATOR_COUNTER_WAIT_BELOW_64_MS,
  CURATOR_COUNTER_WAIT_BELOW_256_MS,
  CURATOR_COUNTER_WAIT_BELOW_1024_MS,
  CURATOR_COUNTER_WAIT_BELOW_4096_MS,
  CURATOR_COUNTER_WAIT_BELOW_16384_MS,
  CURATOR_COUNTER_WAIT_BELOW_65536_MS,
  CURATOR_COUNTER_WAIT_LONGER
} CuratorCounter;

/** Copies the counters, taken at one moment.
 *  @param values  out: indexed by #CuratorCounter
 *  @param n       how many there is room for; counters that this library does not have are 0
 *  @return how many counters this library has */
CURATOR_API
gsize curator_client_get_counters (CuratorClient *client, guint64 *values, gsize n);

/** Name of a counter, for example "grants"; NULL for other values. Static. */
CURATOR_API
const char *curator_counter_to_string (CuratorCounter counter);

/** Kinds of traced events. Append only. */
typedef enum
{
  CURATOR_TRACE_GRANTED,  /**< a hold begins; the duration is the time from the call to it */
  CURATOR_TRACE_FAILED,   /**< an attempt ended without; the duration is the time since the call */
  CURATOR_TRACE_RELEASED, /**< a hold was given back; the duration is how long it lasted */
  CURATOR_TRACE_LOST,     /**< a hold was lost; the duration is how long it lasted */
  CURATOR_TRACE_HEARTBEAT /**< a heartbeat was answered; the duration is the round trip */
} CuratorTraceKind;

/** One event; valid during the call that brings it. */
typedef struct _CuratorTraceEvent CuratorTraceEvent;

/** Told each event, in order, where callbacks run; see client.h. */
typedef void (*CuratorTraceFunc) (const CuratorTraceEvent *event, gpointer user_data);

/** Sets the function that is told events; one for a client, before start.
 *  @param func     NULL for none
 *  @param destroy  frees @p user_data with the client; may be NULL */
CURATOR_API
void curator_client_set_trace (CuratorClient *client, CuratorTraceFunc func, gpointer user_data,
                               GDestroyNotify destroy);

/** What happened. */
CURATOR_API
CuratorTraceKind curator_trace_event_get_kind (const CuratorTraceEvent *event);

/** The node, or the lock's path where there is no node; "" for a heartbeat. Borrowed. */
CURATOR_API
const char *curator_trace_event_get_path (const CuratorTraceEvent *event);

/** Microseconds; see #CuratorTraceKind. */
CURATOR_API
gint64 curator_trace_event_get_duration_us (const CuratorTraceEvent *event);

/** The session in which it happened; 0 if there was none. */
CURATOR_API
gint64 curator_trace_event_get_session_id (const CuratorTraceEvent *event);

G_END_DECLS

#endif
