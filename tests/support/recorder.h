/* Records a history of calls, grants and releases for the checker.
 *
 * Every event is a fixed record of 64 bytes in a memory-mapped log of its thread, so the history
 * survives a SIGKILL. One machine, one clock: CLOCK_MONOTONIC, which the Java worker's
 * System.nanoTime() reads too.
 *
 * Each thread has a log of its own and takes no lock. A log that is full is an error that the
 * reader reports: a lost event would be a lost verdict.
 */
#pragma once

#include <glib.h>

typedef enum
{
  RECORD_ACQUIRE_CALLED,   /* timeout_ms: -1 for none; permits: the number wanted */
  RECORD_ACQUIRE_RETURNED, /* result; when OK: token, session, permits */
  RECORD_RELEASE_CALLED,   /* token; the holder stops believing here */
  RECORD_RELEASE_RETURNED, /* token, result */
  RECORD_LOST,             /* token; the holder received LOST */
  RECORD_DEADLINE,         /* token; the holder's own deadline passed */
  RECORD_SESSION_ENDED,    /* session; no grant of it may come later */
  RECORD_PROCESS_DIED,     /* process; all its beliefs end here */
  RECORD_RESOURCE_WRITE,   /* token, result OK: the fenced resource accepted it */
  RECORD_SUSPECT,          /* token; the holder received SUSPECT */
  RECORD_SAMPLE,           /* token; timeout_ms: how long the lease was still provable */
  RECORD_STALL,            /* timeout_ms: for how long until now the whole process did not run */
  RECORD_NODE_TAKEN, /* a third party deleted the node of token and session after this time, and
                            * not later than spare; timeout_ms: how long its holder may still
                            * believe then; result PENDING: perhaps it did not */
  RECORD_N_OPS
} RecordOp;

typedef enum
{
  RECORD_MUTEX,
  RECORD_READ,
  RECORD_WRITE,
  RECORD_SEMAPHORE, /* limit: number of permits */
  RECORD_N_KINDS
} RecordKind;

typedef enum
{
  RECORD_OK,
  RECORD_TIMED_OUT, /* with timeout 0: busy */
  RECORD_CANCELLED,
  RECORD_CLOSED,
  RECORD_FAILED,
  RECORD_PENDING, /* a release that the server has not confirmed */
  RECORD_N_RESULTS
} RecordResult;

typedef struct
{
  gint64 time_ns;
  gint32 process;
  gint32 thread;
  guint64 token;
  gint64 session;
  gint64 timeout_ms;
  guint32 lock; /* the number of the lock, chosen by the test */
  guint32 serial;
  guint8 op;
  guint8 kind;
  guint8 result;
  guint8 reserved;
  gint16 permits;
  gint16 limit;
  guint64 spare; /* RECORD_NODE_TAKEN: a time in ns; a failed call: its error's code */
} RecordEvent;

G_STATIC_ASSERT (sizeof (RecordEvent) == 64);

typedef struct _Recorder Recorder;

/* The log of one thread; directory: shared by all logs of a history. */
Recorder *recorder_open (const char *directory, int process, int thread, gsize capacity);
void recorder_close (Recorder *recorder);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Recorder, recorder_close)
/* Fills in time (unless set), process, thread and serial number. */
void recorder_add (Recorder *recorder, RecordEvent event);

/* All events of all logs of a directory, by time. FALSE, with a message on stderr, if a log is full
 * or cannot be read. */
gboolean recorder_read_all (const char *directory, GArray *events);
/* Those of one process, which may still be running. */
gboolean recorder_read_process (const char *directory, int process, GArray *events);
/* Events that tie on the clock keep the order in which their thread recorded them. */
void recorder_sort (GArray *events);

/* One line of the Java worker: "QUEUED thread ns", "GRANTED thread ns node czxid" or "RELEASED
 * thread ns". model: lock, kind, process, permits, limit and timeout of its events. FALSE when the
 * line is none of these. */
gboolean recorder_import_line (const char *line, const RecordEvent *model, GArray *events);

const char *record_op_to_string (RecordOp op);
/* The thread, and what it deals with. */
static inline char *
record_dup_actor (const RecordEvent *event)
{
  return g_strdup_printf ("%d/%d/%u/%d", event->process, event->thread, event->lock, event->kind);
}

/* Whether an event is about the hold that was granted then. By token, so that any thread may
 * release; the calling thread's hold when the token is unknown. */
static inline gboolean
record_is_of_hold (const RecordEvent *event, const RecordEvent *grant)
{
  return grant->process == event->process && grant->lock == event->lock
         && grant->kind == event->kind
         && (event->token != 0 ? grant->token == event->token : grant->thread == event->thread);
}

/* Whether that deletion may have ended this hold. The record of several permits, or of the member
 * of a multi-lock, has only the token of its first node. */
static inline gboolean
record_may_have_ended (const RecordEvent *taken, const RecordEvent *grant)
{
  return taken->lock == grant->lock
         && (taken->token == grant->token
             || (grant->kind == RECORD_SEMAPHORE && taken->session == grant->session));
}
