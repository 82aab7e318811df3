/* Shared by the parts of the simulator. Runs with the baton, locks nothing.
 *
 *   sim_world.c     worlds, random numbers, processes
 *   sim_schedule.c  the schedule: which steps are possible, which one runs
 *   sim_actor.c     threads, the baton, ops->wait and ops->wake
 *   sim_leader.c    the quorum: transactions, sessions, the reaper
 *   sim_server.c    one server's view of it: reads, watches, answers
 *   sim_net.c       connections: opened, cut, silent
 *   sim_handle.c    the client library: queues, events, completions, watches
 *   sim_ops.c       the ops table
 *   sim_faults.c    faults, random and scripted
 */
#pragma once

#include "sim.h"

#include "sim_tree.h"

#define SIM_NEVER     G_MAXINT64
#define SIM_ZXID_BASE G_GINT64_CONSTANT (0x100000000)
#define SIM_N_TOUCHES 8

typedef struct _SimConn SimConn;
typedef struct _SimItem SimItem;
typedef struct _SimTxn SimTxn;
typedef struct _SimScript SimScript;
typedef struct _SimThread SimThread;

/* --- the log of the quorum ---------------------------------------------------------------- */

typedef enum
{
  SIM_TXN_CREATE,
  SIM_TXN_DELETE,
  SIM_TXN_SET,
  SIM_TXN_END_SESSION
} SimTxnType;

struct _SimTxn
{
  SimTxnType type;
  gint64 zxid;
  gint64 session;
  char *path; /* GRefString */
  GBytes *data;
  GPtrArray *paths; /* of GRefString: the ephemerals that END_SESSION removes */
  gboolean container;
};

struct _SimSession
{
  gint64 id;
  gint64 timeout_us;
  SimConn *conn;     /* the only one whose writes count */
  gint64 expires_at; /* SIM_NEVER while its client is heard from */
  gboolean doomed;   /* the leader was paused beyond its expiry: it expires for certain */
  guint end;         /* the length of the log that includes its end; 0: alive */
};

/* --- servers ------------------------------------------------------------------------------ */

struct _SimServer
{
  int id;
  SimTree *tree;
  guint applied;        /* of world->log */
  gint64 next_apply_at; /* when the next transaction arrives, if there is one */
  gint64 lag_until;     /* applies no transaction until then */
  gint64 cut_until;     /* no quorum until then; 0 if it is fine */
  gint64 hangs_up_at;   /* when a cut server closes its clients' connections */
  gboolean liar;
  GPtrArray *watches; /* of SimWatcher, by setting */
};

struct _SimConn
{
  int id;
  SimServer *server;
  SimSession *session;
  CuratorZkHandle *handle; /* NULL: an orphan, whose requests may still take effect */
  GQueue requests;         /* in flight to the server, or queued there */
  SimRequest *waiting;     /* decided by the quorum, not yet applied here */
  gint64 last_arrival;
  gint64 silent_until; /* 0 if it is not */
  gboolean deaf;       /* silent towards the client only */
  GQueue held;         /* SimItems withheld by the silence */
  gint64 touches[SIM_N_TOUCHES];
  guint n_touches;
};

/* --- the client library --------------------------------------------------------------------- */

typedef enum
{
  SIM_STAGE_QUEUED, /* no connection yet */
  SIM_STAGE_SENT,
  SIM_STAGE_ANSWERED, /* its completion is in the inbox */
  SIM_STAGE_DONE
} SimStage;

struct _SimRequest
{
  int refs;
  guint serial;
  SimOp op;
  SimStage stage;
  CuratorZkTicket *ticket; /* NULL for the library's own requests */
  char *path;              /* GRefString */
  GBytes *data;
  char **paths;
  int number; /* mode, version or watch type */
  gboolean watch;
  gint64 arrives_at;
  gint64 patience_ends; /* no pings follow it: its answer must arrive by then */
  SimScript *script;

  /* the answer */
  int rc;
  guint decided;     /* how much of the log a server must have applied before it answers */
  gboolean override; /* the client receives forced_rc instead */
  int forced_rc;
  char *reply_path;
  struct Stat stat;
  gboolean has_stat;
  GBytes *reply_data;
  GPtrArray *children;
  int failed_index;
};

typedef enum
{
  SIM_ITEM_REPLY,
  SIM_ITEM_WATCH,
  SIM_ITEM_SESSION
} SimItemKind;

struct _SimItem
{
  SimItemKind kind;
  gint64 arrives_at;
  SimRequest *request;
  int rc;
  gint64 zxid;
  int type;
  int state;
  char *path;       /* GRefString */
  gboolean arrived; /* the library's own state includes it */
  gboolean unwanted;
};

typedef enum
{
  SIM_HANDLE_CONNECTING,
  SIM_HANDLE_CONNECTED,
  SIM_HANDLE_DEAD /* expired, or authentication failed */
} SimHandleState;

enum
{
  SIM_WATCH_DATA = 1 << 0,
  SIM_WATCH_EXIST = 1 << 1,
  SIM_WATCH_CHILD = 1 << 2
};

typedef struct
{
  char *path; /* GRefString */
  guint kinds;
} SimWatch;

struct _CuratorZkHandle
{
  SimWorld *world;
  SimProcess *process;
  int id;
  CuratorZkWatcher watcher;
  gpointer context;
  SimHandleState state;
  int dead_rc;
  gboolean dead_told; /* the CONNECTED event was delivered */
  gboolean bad_auth;
  gint64 timeout_us;
  gint64 first_timeout_us; /* the first that was granted */
  SimSession *session;
  SimConn *conn;
  gint64 last_zxid;
  GQueue pending; /* SimRequests accepted and not completed, in order */
  GQueue inbox;   /* SimItems */
  gint64 inbox_last;
  GPtrArray *watches; /* of SimWatch */
  gint64 attempt_at;
  gint64 gives_up_at; /* when the silence is noticed */
  gint64 stalled_until;
  gboolean delivering;
  gboolean closing;
  gboolean mute; /* closing, and the delivery thread has exited already */
  gboolean close_done;
};

/* --- processes and actors ------------------------------------------------------------------- */

typedef enum
{
  SIM_ACTOR_RUNNABLE,
  SIM_ACTOR_RUNNING,
  SIM_ACTOR_WAITING, /* for a condition variable, perhaps with a deadline of the simulator's */
  SIM_ACTOR_SLEEPING,
  SIM_ACTOR_IDLE, /* a lane without work */
  SIM_ACTOR_DONE
} SimActorState;

struct _SimActor
{
  SimWorld *world;
  SimProcess *process;
  char *name;
  int id;
  SimActorFunc func;
  void *(*run) (void *); /* a thread of the library's, instead */
  gpointer data;
  SimThread *thread;
  SimActorState state;
  gpointer cond;
  gint64 wakes_at;
  int lane; /* -1: not a lane */
};

/* --- the world ------------------------------------------------------------------------------ */

typedef enum
{
  SIM_STEP_ACTOR,
  SIM_STEP_LANE,
  SIM_STEP_DELIVER,
  SIM_STEP_CONNECT,
  SIM_STEP_EXECUTE,
  SIM_STEP_APPLY,
  SIM_STEP_EXPIRE,
  SIM_STEP_UNSILENCE,
  SIM_STEP_GIVE_UP,
  SIM_STEP_HANG_UP,
  SIM_STEP_UNCUT,
  SIM_STEP_RESUME,
  SIM_STEP_THAW,
  SIM_STEP_FAULT
} SimStepKind;

typedef struct
{
  SimStepKind kind;
  gpointer object;
  int index;
} SimStep;

struct _SimScript
{
  SimProcess *process;
  SimOp op;
  guint nth;
  guint seen;
  int rc;
  SimWhen when;
};

/* sim_world.c */
/* From zero to max: often zero, rarely long. */
gint64 sim_rand_us (SimWorld *world, gint64 max_us);
gboolean sim_chance (SimWorld *world, double probability);
guint sim_rand_below (SimWorld *world, guint n);
gboolean sim_process_runs (SimProcess *process);

/* sim_schedule.c */
/* index distinguishes steps of one kind, and is the same in every run. */
void sim_ready (SimWorld *world, gint64 due, SimStepKind kind, gpointer object, int index);

/* sim_trace.c */
void sim_trace_print (SimWorld *world);
const char *sim_fault_name (SimFault fault);

/* sim_actor.c */
void sim_actor_switch_to (SimActor *actor);
void sim_actor_free (SimActor *actor);
void sim_lane_step (SimProcess *process, int lane);
void sim_actors_collect (SimWorld *world);
/* The running actor waits for sim_cond_wake() by another thread, or until that moment. */
void sim_cond_wait (SimWorld *world, gpointer cond, gint64 until);
void sim_cond_wake (SimWorld *world, gpointer cond);
void sim_ops_wait (CuratorZkOps *ops, pthread_cond_t *cond, pthread_mutex_t *mutex);
void sim_ops_wake (CuratorZkOps *ops, pthread_cond_t *cond);
int sim_ops_start_thread (CuratorZkOps *ops, const char *name, void *(*run) (void *), void *data);

/* sim_leader.c */
void sim_txn_free (SimTxn *txn);
void sim_txn_apply (SimTree *tree, const SimTxn *txn);
SimSession *sim_session_new (SimWorld *world, gint64 timeout_us);
/* The quorum ends the session: its ephemeral nodes go. */
void sim_session_end (SimWorld *world, SimSession *session, const char *why);
/* Starts or stops the clock of expiry after a change of the connection's health. */
void sim_session_update (SimWorld *world, SimSession *session);
void sim_leader_execute (SimWorld *world, SimSession *session, SimRequest *request);
gboolean sim_leader_reap (SimWorld *world);
gboolean sim_world_is_forbidden (SimWorld *world, const char *path);
gboolean sim_world_is_unreadable (SimWorld *world, const char *path);

/* sim_server.c */
SimServer *sim_server_new (int id);
void sim_server_free (SimServer *server);
void sim_server_notice (SimWorld *world);
void sim_server_apply (SimWorld *world, SimServer *server, gboolean all);
void sim_server_read (SimWorld *world, SimConn *conn, SimRequest *request);
void sim_server_answer (SimWorld *world, SimConn *conn, SimRequest *request);
void sim_server_restore_watches (SimWorld *world, SimConn *conn, gint64 since);
void sim_server_forget_conn (SimServer *server, SimConn *conn);
guint sim_server_count_watches (SimServer *server, SimConn *conn);
gboolean sim_server_is_cut (SimWorld *world, SimServer *server);

/* sim_net.c */
void sim_conn_free (SimConn *conn);
void sim_conn_send (SimWorld *world, SimConn *conn, SimRequest *request);
gboolean sim_conn_can_execute (SimWorld *world, SimConn *conn, gint64 *due);
void sim_conn_execute (SimWorld *world, SimConn *conn);
/* Removes a connection that has no requests left at the server. */
void sim_conn_discard (SimWorld *world, SimConn *conn);
/* Towards the client. Takes the item. */
void sim_conn_push (SimWorld *world, SimConn *conn, SimItem *item);
void sim_conn_silence (SimWorld *world, SimConn *conn, gint64 duration_us, gboolean deaf);
void sim_conn_unsilence (SimWorld *world, SimConn *conn);
/* Records that the server received something; returns when the leader last heard from the
 * client. */
void sim_conn_touch (SimWorld *world, SimConn *conn, gint64 when);
gint64 sim_conn_last_touch (SimWorld *world, SimConn *conn);
void sim_net_connect (SimWorld *world, CuratorZkHandle *handle);
/* Ends a connection from both sides. */
void sim_net_abandon (SimWorld *world, CuratorZkHandle *handle);
/* rc: the result of the requests in flight. */
void sim_net_drop (SimWorld *world, CuratorZkHandle *handle, int rc, gboolean tell);

/* sim_handle.c */
SimRequest *sim_request_new (SimOp op, const char *path);
SimRequest *sim_request_ref (SimRequest *request);
void sim_request_unref (SimRequest *request);
SimItem *sim_item_new (SimItemKind kind);
void sim_item_free (SimItem *item);
CuratorZkHandle *sim_handle_new (SimProcess *process, gint64 timeout_us, CuratorZkWatcher watcher,
                                 gpointer context);
void sim_handle_free (CuratorZkHandle *handle);
void sim_handle_put (CuratorZkHandle *handle, SimItem *item);
void sim_handle_put_session (CuratorZkHandle *handle, int state, gint64 delay_us);
void sim_handle_deliver (CuratorZkHandle *handle);
void sim_handle_lose_unarrived (CuratorZkHandle *handle);
/* Completes the requests in flight, except for the last `lose` ones, which never complete. */
void sim_handle_fail_pending (CuratorZkHandle *handle, int rc, gboolean queued_only, guint lose);
void sim_handle_die (CuratorZkHandle *handle, int state, int rc);
SimWatch *sim_handle_watch (CuratorZkHandle *handle, const char *path);
guint sim_handle_take_watch (CuratorZkHandle *handle, const char *path, guint kinds);

/* sim_ops.c */
void sim_ops_fill (CuratorZkOps *ops);

/* sim_faults.c */
void sim_faults_schedule_next (SimWorld *world);
void sim_fault_strike_at_random (SimWorld *world);
void sim_server_uncut (SimWorld *world, SimServer *server);
void sim_server_hang_up (SimWorld *world, SimServer *server);
void sim_world_thaw (SimWorld *world);
/* Drops the event if one was to be lost at this point. */
gboolean sim_process_loses_event (SimProcess *process, SimLoss where);
SimScript *sim_script_match (SimWorld *world, SimProcess *process, SimOp op, gboolean at_submit);
void sim_process_resume (SimProcess *process);
