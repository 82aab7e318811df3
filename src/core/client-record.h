/* The struct of a client, which its parts share. Mirrors the fields of CuratorFrameworkImpl.
 *
 * Each part declares its functions in a header of its own; monitor.h locks the mutex. */
#pragma once

#include "base/guards.h"
#include "base/histogram.h"
#include "base/refs.h"
#include "base/tag.h"
#include "core/attach.h"
#include "core/dispatch.h"
#include "core/listeners.h"
#include "core/settings-record.h"
#include "core/zk_ops.h"
#include "curator/curator.h"

#include <glib.h>
#include <pthread.h>

/* Bytes of data in a lock node. A server closes a connection on which 1 MiB arrives. */
#define CURATOR_MAX_PAYLOAD 4096

#define CURATOR_N_COUNTERS ((gsize) CURATOR_COUNTER_LOST_MAX_HOLD + 1)

/* What durations are kept of; see stats.c for the buckets. */
typedef enum
{
  CURATOR_DURATION_WAIT, /* from the call to the grant */
  CURATOR_DURATION_HOLD,
  CURATOR_DURATION_ROUND_TRIP,
  CURATOR_N_DURATIONS
} CuratorDuration;

typedef struct _CuratorSession CuratorSession;
typedef struct _CuratorDeletions CuratorDeletions;
typedef struct _CuratorAfter CuratorAfter;
typedef struct _CuratorConnectionErrors CuratorConnectionErrors;

struct _CuratorAfter
{
  CuratorAfter *next;
  CuratorWork func;
  gpointer data;
};

/* What the next unlock does. There is seldom more to run than the first, which needs no memory of
 * its own; its func is NULL if there is none. */
typedef struct
{
  /* The clocks as this thread has read them: 0, not yet. */
  gint64 now_us;
  gint64 boottime_us;
  struct _CuratorLast *before; /* with the mutex held */
  CuratorAfter first;
  CuratorAfter *tail;
} CuratorUnlock;

/* How sessions are opened. */
typedef struct
{
  guint epoch;         /* of the newest session */
  guint open_failures; /* in a row: no handle, or a session that did not last */
  gboolean ever_connected;
  gboolean address_pending; /* a thread looks this host's address up */
} CuratorOpening;

/* What servers have refused. */
typedef struct
{
  int auth_failure;       /* final: the code for which no further session is opened; or 0 */
  gboolean no_containers; /* ZUNIMPLEMENTED */
} CuratorRefusals;

typedef struct
{
  guint64 counters[CURATOR_N_COUNTERS];
  CuratorHistogram durations[CURATOR_N_DURATIONS];
  guint n_waiting; /* attempts that found another contender ahead */
} CuratorStats;

typedef enum
{
  CURATOR_LIFE_LATENT, /* before start */
  CURATOR_LIFE_STARTED,
  CURATOR_LIFE_STOPPED /* closed or closing */
} CuratorLife;

struct _CuratorClient
{
  CuratorTag tag;
  CuratorRefs refs;   /* of users, locks and leases; at zero the client closes itself */
  CuratorRefs memory; /* one for all refs, one for each thread and session; at zero it is freed */
  guint fork_generation;
  CuratorZkOps *ops;
  void (*free) (CuratorClient *client); /* called once, by the last memory reference */

  CuratorSettings settings; /* written before start, constant afterwards */
  /* Settings that change: guarded by mutex once started. */
  char *connect_string;
  GBytes *default_data; /* see host_address.h */

  CuratorDispatch *dispatch; /* see dispatch.h */
  pthread_cond_t ended;      /* a session or a lane has; with mutex */

  pthread_mutex_t mutex;
  /* Everything below is guarded by mutex. */
  CuratorLife life; /* also written atomically, so it can be read without the mutex */
  CuratorUnlock unlock CURATOR_GUARDED;
  CuratorConnectionState state CURATOR_GUARDED;
  gboolean state_posted CURATOR_GUARDED; /* FALSE until the listeners got a first state */
  CuratorOpening opening CURATOR_GUARDED;
  CuratorSession *session CURATOR_GUARDED; /* the current one; NULL before start and after close */
  guint sessions_open CURATOR_GUARDED;     /* handles not closed yet, also of dead sessions */
  CuratorRefusals refused CURATOR_GUARDED;
  CuratorListeners listeners CURATOR_GUARDED; /* CuratorStateListener */
  GQueue connection_waiters CURATOR_GUARDED;  /* CuratorRetryLoop that waits, or sleeps */
  GQueue ops_running CURATOR_GUARDED;         /* CuratorOp, to be cancelled by close */
  CuratorConnectionErrors *errors;            /* known to connection_error.c */
  GPtrArray *known CURATOR_GUARDED; /* CuratorServer; NULL if the handle is the program's */
  gboolean leaves_others
      CURATOR_GUARDED; /* a server that is not known is left once they are resolved */
  CuratorDeletions *deletions;
  CuratorAttachment *attached CURATOR_GUARDED; /* what upper layers keep here */
  CuratorStats stats CURATOR_GUARDED;
};

/* As curator_client_new(), with another implementation of ZooKeeper's calls. */
CuratorClient *curator_client_new_with_ops (const char *connect_string,
                                            CuratorRetryPolicy *retry_policy, CuratorZkOps *ops);
