/* The interface to ZooKeeper: a table of asynchronous calls, clocks and a way to wait.
 *
 * Curator has ZookeeperFactory here. zk_real.c implements it with libzookeeper-mt, the simulator
 * with an in-process ZooKeeper and a virtual clock. Elsewhere only guarded_write.c calls a
 * zoo_ function, which fills in an operation.
 *
 * Threads: any sends requests, with the client's mutex held. Completions and watch events run on a
 * thread of the implementation's choice, one at a time per handle, in the order of the wire, never
 * inside the call that sends the request.
 */
#pragma once

#include <glib.h>
#include <pthread.h>
#include <zookeeper/zookeeper.h>

typedef struct _CuratorZkOps CuratorZkOps;
typedef struct _CuratorZkHandle CuratorZkHandle;
typedef struct _CuratorZkTicket CuratorZkTicket;

/* The reply to a request. Its pointers are valid until the completion returns. Members that the
 * operation does not return are NULL or 0. */
typedef struct
{
  const char *path;                     /* create: the node's real name */
  const struct Stat *stat;              /* create, get, exists, set */
  const char *data;                     /* get; NULL for null data */
  int data_length;                      /* get; -1 for null data */
  const struct String_vector *children; /* get_children */
  int failed_index;                     /* check: index of the path that failed, or -1 */
} CuratorZkReply;

typedef void (*CuratorZkCompletion) (int rc, const CuratorZkReply *reply, CuratorZkTicket *ticket);

/* One request in flight. The caller allocates it (usually as the head of a larger struct) and keeps
 * it until the completion has run or close() of its handle has returned. */
struct _CuratorZkTicket
{
  CuratorZkCompletion completion;
  gpointer ops_rest;       /* the implementation's own: the handle's, or NULL */
  gpointer ops_data;       /* the implementation's own, for example the results of a multi */
  GDestroyNotify ops_free; /* frees ops_data; called by the ticket's owner */
};

/* Session events have type ZOO_SESSION_EVENT and path "". Every other event is a watch that fired.
 * */
typedef void (*CuratorZkWatcher) (int type, int state, const char *path, gpointer context);

/* A server has answered a ping of the library, which was sent at sent_us or later. By the clock of
 * boottime_us. Runs on a thread of the implementation's; context: the watcher's. */
typedef void (*CuratorZkPinged) (gint64 sent_us, gint64 answered_us, gpointer context);

/* A request returns ZOK if it was accepted; its completion usually runs, but may be lost. With any
 * other code its completion will not run. Strings and buffers may be freed as soon as the call
 * returns. Paths are full: they include chroot and namespace. */
/* Of an attempt to connect. */
typedef enum
{
  CURATOR_STAGE_PAUSED, /* before the next round */
  CURATOR_STAGE_CONNECTING,
  CURATOR_STAGE_ASKING, /* TCP is connected */
  CURATOR_N_STAGES
} CuratorStage;

typedef struct
{
  gint64 (*monotonic_us) (CuratorZkOps *ops); /* for waits and timeouts */
  /* For leases: goes on while the machine sleeps, and catches up where it can be seen that a
   * machine was paused with its clocks; see base/lease_time.h. */
  gint64 (*boottime_us) (CuratorZkOps *ops);
  gint64 (*stepped_us) (CuratorZkOps *ops); /* when it had to, or 0; NULL: it never has to */
} CuratorZkClocks;

struct _CuratorZkOps
{
  /* hosts: "address:port,…", numeric. NULL with errno set on failure, EAGAIN if the system has no
   * thread left. The watcher gets session events and all node events, always with this context. */
  CuratorZkHandle *(*open) (CuratorZkOps *ops, const char *hosts, int session_timeout_ms,
                            CuratorZkWatcher watcher, gpointer context);
  /* On the session lane: 0 if the handle may be closed, else after how many microseconds to ask
   * again. May be NULL: it may always be closed. */
  gint64 (*rest_us) (CuratorZkOps *ops, CuratorZkHandle *handle);
  /* Blocks for up to 4.5 s. Nothing is delivered after it has returned. */
  void (*close) (CuratorZkOps *ops, CuratorZkHandle *handle);
  /* Inside a CONNECTED event only; timeout_ms: out, the timeout that the server granted. */
  gint64 (*session_id) (CuratorZkOps *ops, CuratorZkHandle *handle, int *timeout_ms);
  /* The same: "host:port" of the server, as the list names it, or its address; transfer full.
   * servers: of CuratorServer, or NULL. NULL: unknown. May be NULL itself. */
  char *(*dup_server) (CuratorZkOps *ops, CuratorZkHandle *handle, GPtrArray *servers);
  /* Called right after open, before anything else, unless is_shared: the program authenticates its
   * handle itself. A refusal comes as AUTH_FAILED; success is not reported. */
  int (*add_auth) (CuratorZkOps *ops, CuratorZkHandle *handle, const char *scheme, const char *cert,
                   int cert_length);

  /* Called right after open. NULL: nobody knows when the library sends its pings. */
  void (*report_pings) (CuratorZkOps *ops, CuratorZkHandle *handle, CuratorZkPinged pinged);

  /* Without a session: ends the stage in which the handle is if an earlier call saw that so long
   * ago, and returns TRUE; the handle then goes on to its next attempt. May be NULL: attempts
   * cannot be ended. */
  gboolean (*end_attempt) (CuratorZkOps *ops, CuratorZkHandle *handle,
                           const gint64 patience_us[CURATOR_N_STAGES], CuratorStage *ended);

  /* With a session, in which a heartbeat was sent: from now on the connection ends when the
   * server's host acknowledges nothing. silent_us > 0: and now if the server has acknowledged
   * everything and sent nothing for so long. FALSE: nobody knows the socket. NULL: the same. */
  gboolean (*bound_silence) (CuratorZkOps *ops, CuratorZkHandle *handle, gint64 silent_us);

  /* servers: of CuratorServer; addresses: the same as for open. The handle connects to these from
   * its next attempt on. leave: it also leaves a server that is not among them. FALSE: that has not
   * happened yet, and the caller calls again soon. May be NULL: the list stays as it was. */
  gboolean (*set_servers) (CuratorZkOps *ops, CuratorZkHandle *handle, GPtrArray *servers,
                           const char *addresses, gboolean leave);

  int (*create) (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path, const char *data,
                 int length, const struct ACL_vector *acl, int mode, CuratorZkTicket *ticket);
  int (*remove) (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path, int version,
                 CuratorZkTicket *ticket);
  /* The watch is set only if rc is ZOK (exists: also on ZNONODE). */
  int (*get) (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path, gboolean watch,
              CuratorZkTicket *ticket);
  int (*exists) (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path, gboolean watch,
                 CuratorZkTicket *ticket);
  int (*get_children) (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path, gboolean watch,
                       CuratorZkTicket *ticket);
  int (*set) (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path, const char *data,
              int length, int version, CuratorZkTicket *ticket);
  /* One multi of check(path, any version): a transaction that a quorum must commit. */
  int (*check) (CuratorZkOps *ops, CuratorZkHandle *handle, const char *const *paths, int n_paths,
                CuratorZkTicket *ticket);
  /* One multi of delete(path, any version): all or none. */
  int (*remove_all) (CuratorZkOps *ops, CuratorZkHandle *handle, const char *const *paths,
                     int n_paths, CuratorZkTicket *ticket);
  /* type: ZWATCHTYPE_DATA or ZWATCHTYPE_CHILD. Removes every watch of ours on the path, from the
   * server too unless others share the handle. No event is delivered. */
  int (*remove_all_watches) (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path,
                             ZooWatcherType type, CuratorZkTicket *ticket);
  /* Without a connection: the next one begins without our watches on the path. No event is
   * delivered, and nothing is sent. */
  void (*forget_watches) (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path,
                          ZooWatcherType type);

  CuratorZkClocks clocks;

  /* For unique names: differs between processes, also across a fork(). */
  void (*random) (CuratorZkOps *ops, guint8 *bytes, gsize length);

  /* Like pthread_cond_wait and pthread_cond_broadcast. A wait has no timeout: a timer of the client
   * wakes it. */
  void (*wait) (CuratorZkOps *ops, pthread_cond_t *cond, pthread_mutex_t *mutex);
  void (*wake) (CuratorZkOps *ops, pthread_cond_t *cond);
  /* Starts a thread for a function of the user's, which nobody joins: 0, or the error of
   * pthread_create. */
  int (*start_thread) (CuratorZkOps *ops, const char *name, void *(*run) (void *), void *data);

  /* TRUE: the client runs a thread for each lane. FALSE: the implementation steps the lanes itself
   * (curator_dispatch_step). */
  gboolean threads;

  /* TRUE: open() adopts the program's handle (hosts is NULL; errno ENOTCONN without a handle), and
   * close() keeps that handle and its session open. The client deletes its nodes and watches before
   * close(). */
  gboolean is_shared;
  /* Why no server has done since then: a new error, or NULL. NULL: the handle does not know. */
  GError *(*dup_failure) (CuratorZkOps *ops, gint64 since_us);
  /* Called when the client is freed; may be NULL. */
  void (*free) (CuratorZkOps *ops);
};

/* The table that calls libzookeeper-mt; static, never freed. */
CuratorZkOps *curator_zk_ops_real (void);
