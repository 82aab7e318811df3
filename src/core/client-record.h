/* The struct of a client, which its parts share. Mirrors the fields of CuratorFrameworkImpl.
 *
 * Each part declares its functions in a header of its own; monitor.h locks the mutex. */
#ifndef CURATOR_CLIENT_PRIVATE_H
#define CURATOR_CLIENT_PRIVATE_H

#include "base/connect_string.h"
#include "base/guards.h"
#include "base/histogram.h"
#include "base/refs.h"
#include "base/tag.h"
#include "channel/channel_sasl.h"
#include "core/dispatch.h"
#include "core/listeners.h"
#include "core/zk_ops.h"
#include "curator/curator.h"
#include "curator/stats.h"
#include "curator/tls.h"

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
typedef struct _CuratorReaper CuratorReaper;
typedef struct _CuratorAfter CuratorAfter;

typedef struct
{
  CuratorWork func;
  gpointer data;
} CuratorContinuation;

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

  /* Settings: written before start, constant afterwards; the first one guarded by mutex then. */
  char *connect_string;
  CuratorConnectString *servers;
  char *namespace_; /* "a/b", or NULL */
  char *prefix;     /* chroot and namespace, "" or "/app/a/b" */
  int session_timeout_ms;
  int connection_timeout_ms;
  gboolean has_server_tick; /* server_tick_ms was set */
  int server_tick_ms;
  gboolean has_heartbeat;
  int heartbeat_ms;
  CuratorRetryPolicy *retry_policy;
  GPtrArray *auths;          /* CuratorAuth */
  CuratorTls *tls;           /* our copy; NULL: clear text */
  CuratorSaslSettings *sasl; /* NULL: none */
  struct ACL_vector acl;
  GBytes *default_data;   /* guarded by mutex once started: see host_address.h */
  gboolean wants_address; /* default_data stands for this host's address */
  gboolean compression;   /* of payloads */
  gboolean follows_configuration;
  guint long_queue; /* of so many nodes a list costs more than several reads */
  GMainContext *callback_context;
  CuratorTraceFunc trace;
  gpointer trace_data;
  GDestroyNotify trace_destroy;

  CuratorDispatch *dispatch; /* see dispatch.h */

  pthread_mutex_t mutex;
  /* Everything below is guarded by mutex. */
  pthread_cond_t changed;           /* close() and the lanes wait for it */
  int cancel_state CURATOR_GUARDED; /* of the thread that holds the mutex, before it took it */
  CuratorLife life; /* also written atomically, so it can be read without the mutex */
  /* To run after the next unlock. There is seldom more than the first, which needs no memory of its own;
   * its func is NULL if there is none. */
  CuratorContinuation after_first CURATOR_GUARDED;
  CuratorAfter *after_head CURATOR_GUARDED;
  CuratorAfter *after_tail CURATOR_GUARDED;
  GHashTable *spare_holds CURATOR_GUARDED; /* an empty table for mutex.c's next hold; or NULL */
  CuratorConnectionState state CURATOR_GUARDED;
  gboolean state_posted CURATOR_GUARDED; /* FALSE until the listeners got a first state */
  gboolean ever_connected CURATOR_GUARDED;
  gboolean address_pending CURATOR_GUARDED; /* a thread looks this host's address up */
  CuratorSession *session CURATOR_GUARDED;  /* the current one; NULL before start and after close */
  guint sessions_open CURATOR_GUARDED;      /* handles not closed yet, also of dead sessions */
  guint epoch CURATOR_GUARDED;              /* of the newest session */
  guint open_failures CURATOR_GUARDED; /* in a row: no handle, or a session that did not last */
  gboolean auth_failed CURATOR_GUARDED;             /* final: no further session is opened */
  gboolean no_containers CURATOR_GUARDED;           /* a server answered ZUNIMPLEMENTED */
  CuratorListeners listeners CURATOR_GUARDED;       /* CuratorStateListener */
  GQueue connection_waiters CURATOR_GUARDED;        /* CuratorRetryLoop waiting to be connected */
  GQueue ops_running CURATOR_GUARDED;               /* CuratorOp, to be cancelled by close */
  CuratorListeners error_listeners CURATOR_GUARDED; /* CuratorConnectionErrorListener */
  char *addresses CURATOR_GUARDED;                  /* what the newest handle connects to */
  GPtrArray *known CURATOR_GUARDED; /* CuratorServer; NULL if the handle is the program's */
  gboolean leaves_others
      CURATOR_GUARDED; /* a server that is not known is left once they are resolved */
  GHashTable *looking_up CURATOR_GUARDED; /* names, see resolve.c */
  GError *open_error CURATOR_GUARDED;     /* why no handle could be opened; NULL if one was */
  char *cause_told CURATOR_GUARDED;       /* what the error listeners were last notified of */
  gint64 down_since_us CURATOR_GUARDED;   /* monotonic; 0 while connected */
  gint64 warned_us CURATOR_GUARDED;       /* of this outage, monotonic; 0: not yet */
  CuratorTimer *error_timer CURATOR_GUARDED;
  CuratorReaper *reaper;
  GHashTable *mixed_paths CURATOR_GUARDED; /* paths with two recipes that were warned of */
  GHashTable *listings CURATOR_GUARDED;    /* NULL, or of inspect/listings.c */
  CuratorTimer *listings_timer CURATOR_GUARDED;
  guint64 counters[CURATOR_N_COUNTERS] CURATOR_GUARDED;
  CuratorHistogram durations[CURATOR_N_DURATIONS] CURATOR_GUARDED;
  guint n_waiting CURATOR_GUARDED; /* attempts that found another contender ahead */
};

typedef struct
{
  char *scheme;
  GBytes *auth;
} CuratorAuth;

/* As curator_client_new(), with another implementation of ZooKeeper's calls. */
CuratorClient *curator_client_new_with_ops (const char *connect_string,
                                            CuratorRetryPolicy *retry_policy, CuratorZkOps *ops);

#endif
