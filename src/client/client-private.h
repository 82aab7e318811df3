/* What the parts of a client share: its monitor, its settings, and the small services built on them.
 *
 * One mutex per client guards all recipe and session state. Whoever holds it neither blocks nor
 * runs user code: it collects what must be told with curator_client_after_unlock(), and
 * curator_client_unlock() tells it. "@locks" in a comment says what a function needs.
 */
#ifndef CURATOR_CLIENT_PRIVATE_H
#define CURATOR_CLIENT_PRIVATE_H

#include "client/connect_string.h"
#include "client/dispatch.h"

#include "client/zk_ops.h"
#include "curator/curator.h"
#include "curator/stats.h"
#include "refs.h"

#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>

/* Bytes of a lock node. A server ends the connection of who sends 1 MiB; labels need no such sizes. */
#define CURATOR_MAX_PAYLOAD 4096

#define CURATOR_N_COUNTERS ((gsize) CURATOR_COUNTER_WAIT_LONGER + 1)

typedef struct _CuratorSession CuratorSession;
typedef struct _CuratorReaper CuratorReaper;
typedef struct _CuratorAfter CuratorAfter;
typedef struct _CuratorListener CuratorListener;

/* A list of users' functions; see listeners.h. Guarded by the client's mutex; zeroed is empty. */
typedef struct
{
  GPtrArray *all;  /* CuratorListener */
  guint last_id;
  gboolean are_news; /* told on the news lane */
} CuratorListeners;

typedef struct _CuratorRetryLoop CuratorRetryLoop;

typedef enum
{
  CURATOR_LIFE_LATENT,   /* before start */
  CURATOR_LIFE_STARTED,
  CURATOR_LIFE_STOPPED   /* closed or closing */
} CuratorLife;

struct _CuratorClient
{
  CuratorRefs refs;    /* users, locks and leases; at zero the client closes itself */
  CuratorRefs memory;  /* all refs together, each thread and each session; at zero it is freed */
  guint fork_generation;
  CuratorZkOps *ops;

  /* Set-up: written before start, constant afterwards. */
  char *connect_string;
  CuratorConnectString *servers;
  char *namespace_;            /* "a/b", or NULL */
  char *prefix;                /* chroot and namespace, "" or "/app/a/b" */
  int session_timeout_ms;
  int connection_timeout_ms;
  gboolean has_server_tick;    /* somebody has said */
  int server_tick_ms;
  gboolean has_heartbeat;
  int heartbeat_ms;
  CuratorRetryPolicy *retry_policy;
  GPtrArray *auths;            /* CuratorAuth */
  struct ACL_vector acl;
  GBytes *default_data;
  GMainContext *callback_context;
  CuratorTraceFunc trace;
  gpointer trace_data;
  GDestroyNotify trace_destroy;

  CuratorDispatch *dispatch;   /* the lanes; guarded as dispatch.h says */

  pthread_mutex_t mutex;
  /* Everything below is guarded by mutex. */
  pthread_cond_t changed;      /* close() and the lanes wait for it */
  CuratorLife life;
  CuratorAfter *after_head;    /* collected for the next unlock */
  CuratorAfter *after_tail;
  CuratorConnectionState state;
  gboolean state_posted;       /* the state before the first connection is nobody's news */
  gboolean ever_connected;
  CuratorSession *session;     /* the current one; NULL before start and after close */
  guint sessions_open;         /* handles not closed yet, dying ones included */
  guint epoch;                 /* of the newest session */
  guint open_failures;
  gboolean auth_failed;        /* final: no session will be opened any more */
  gboolean no_containers;      /* a server answered ZUNIMPLEMENTED */
  CuratorListeners listeners;  /* CuratorStateListener */
  GQueue connection_waiters;   /* CuratorRetryLoop waiting to be connected */
  GQueue ops_running;          /* CuratorOp, to be cancelled by close */
  CuratorReaper *reaper;
  guint64 counters[CURATOR_N_COUNTERS];
};

typedef struct
{
  char *scheme;
  GBytes *auth;
} CuratorAuth;

/* As curator_client_new(), with another ZooKeeper behind it. */
CuratorClient *curator_client_new_with_ops (const char *connect_string,
                                            CuratorRetryPolicy *retry_policy, CuratorZkOps *ops);

void curator_client_lock (CuratorClient *client);
/* @locality any thread. The client whose mutex the calling thread holds, or NULL. */
CuratorClient *curator_client_entered (void);
void curator_client_unlock (CuratorClient *client);
/* @locks client mutex required. Runs func(data) right after the mutex is given back, on the same
 * thread: internal continuations only, never the user's code. */
void curator_client_after_unlock (CuratorClient *client, CuratorWork func, gpointer data);

void curator_client_memory_ref (CuratorClient *client);
void curator_client_memory_unref (CuratorClient *client);

/* FALSE with FORKED, NOT_STARTED or CLOSED. @locks none. */
gboolean curator_client_check_usable (CuratorClient *client, GError **error);
gboolean curator_client_check_forked (CuratorClient *client, GError **error);
/* @locks client mutex required. */
gboolean curator_client_is_running (CuratorClient *client);
gboolean curator_client_is_connected (CuratorClient *client);
/* @locks client mutex required. Every operation under way ends with CLOSED, or with rc's error. */
void curator_client_cancel_ops (CuratorClient *client, int rc);
/* @locks client mutex required. Posts a state to the listeners unless it is the present one. */
void curator_client_set_state (CuratorClient *client, CuratorConnectionState state);

gint64 curator_client_now_us (CuratorClient *client);       /* monotonic */
gint64 curator_client_boottime_us (CuratorClient *client);
/* The absolute deadline of a call that begins now; G_MAXINT64 for CURATOR_WAIT_FOREVER. */
gint64 curator_client_deadline (CuratorClient *client, gint64 timeout_ms);

/* The path on the wire of a path of the user's, and back. */
char *curator_client_full_path (CuratorClient *client, const char *path);
const char *curator_client_user_path (CuratorClient *client, const char *full_path);

/* @locality any thread. The calling thread's number: handed out once, never used again. */
guint64 curator_thread_id (void);
/* Once per process: from then on the forks are counted. */
void curator_forks_watch (void);

G_GNUC_INTERNAL extern _Atomic guint curator_n_forks;

/* How many forks this process is away from the one that loaded us, once they are watched. */
static inline guint
curator_fork_generation (void)
{
  return atomic_load_explicit (&curator_n_forks, memory_order_relaxed);
}

/* The GError of a ZooKeeper code: CONNECTION_LOST, SESSION_EXPIRED, AUTH_FAILED, or the code itself
 * in CURATOR_ZK_ERROR. */
GError *curator_error_from_zk (int rc, const char *what, const char *path);
/* TRUE for codes after which the same request may be tried again (some leave its outcome unknown). */
gboolean curator_zk_is_retryable (int rc);
/* TRUE when the server may have carried the request out although it failed here. */
gboolean curator_zk_is_ambiguous (int rc);
/* TRUE for a server's last word: asking again brings the same. */
gboolean curator_zk_is_refusal (int rc);

#endif
