/* The only door to ZooKeeper: a table of asynchronous calls, a clock and a way to wait.
 *
 * Production puts libzookeeper-mt behind it (zk_real.c); the simulator puts an in-process
 * ZooKeeper with a virtual clock behind it. Nothing outside zk_real.c calls a zoo_ function.
 *
 * Threads: requests are made under the client's mutex by any thread. Completions and watch events
 * arrive on a thread of the implementation's choice, one at a time per handle, in the order of the
 * wire, never from inside the call that asked for them.
 */
#ifndef CURATOR_ZK_OPS_H
#define CURATOR_ZK_OPS_H

#include <glib.h>
#include <pthread.h>
#include <zookeeper/zookeeper.h>

typedef struct _CuratorZkOps CuratorZkOps;
typedef struct _CuratorZkHandle CuratorZkHandle;
typedef struct _CuratorZkTicket CuratorZkTicket;

/* What a completion brings. Everything in it is borrowed and dies when the completion returns;
 * members that an operation does not return are NULL or 0. */
typedef struct
{
  const char *path;                     /* create: the node's real name */
  const struct Stat *stat;              /* create, get, exists, set */
  const char *data;                     /* get; NULL for null data */
  int data_length;                      /* get; -1 for null data */
  const struct String_vector *children; /* get_children */
  int failed_index;                     /* check: which path failed, -1 if none is to blame */
} CuratorZkReply;

typedef void (*CuratorZkCompletion) (int rc, const CuratorZkReply *reply, CuratorZkTicket *ticket);

/* One request under way. The caller allocates it (usually as the head of a larger struct) and keeps
 * it alive until the completion has run or close() of its handle has returned. */
struct _CuratorZkTicket
{
  CuratorZkCompletion completion;
  gpointer ops_data;       /* the implementation's own, for example the results of a multi */
  GDestroyNotify ops_free; /* frees ops_data; whoever retires the ticket calls it */
};

/* Session events have type ZOO_SESSION_EVENT and path ""; every other one is a watch that fired. */
typedef void (*CuratorZkWatcher) (int type, int state, const char *path, gpointer context);

/* Every request returns ZOK if it was accepted (its completion will usually, but not certainly,
 * come) or another code if it was not (its completion will not come). Strings and buffers may be
 * freed as soon as the call returns. Paths are full: chroot and namespace are already in them. */
struct _CuratorZkOps
{
  /* hosts: "address:port,…", numeric. NULL with errno set when no handle can be made.
   * The watcher gets session events and all node events, always with this context. */
  CuratorZkHandle *(*open) (CuratorZkOps *ops, const char *hosts, int session_timeout_ms,
                            CuratorZkWatcher watcher, gpointer context);
  /* Blocks for up to 4.5 s; when it returns nothing will be delivered any more. */
  void (*close) (CuratorZkOps *ops, CuratorZkHandle *handle);
  /* Both are valid inside a CONNECTED event only. */
  gint64 (*session_id) (CuratorZkOps *ops, CuratorZkHandle *handle);
  int (*session_timeout_ms) (CuratorZkOps *ops, CuratorZkHandle *handle);
  /* Called right after open, before anything else. The outcome shows as AUTH_FAILED or never. */
  int (*add_auth) (CuratorZkOps *ops, CuratorZkHandle *handle, const char *scheme, const char *cert,
                   int cert_length);

  int (*create) (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path, const char *data,
                 int length, const struct ACL_vector *acl, int mode, CuratorZkTicket *ticket);
  int (*remove) (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path, int version,
                 CuratorZkTicket *ticket);
  /* A watch is set only when the completion says ZOK (exists: also on ZNONODE). */
  int (*get) (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path, gboolean watch,
              CuratorZkTicket *ticket);
  int (*exists) (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path, gboolean watch,
                 CuratorZkTicket *ticket);
  int (*get_children) (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path, gboolean watch,
                       CuratorZkTicket *ticket);
  int (*set) (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path, const char *data,
              int length, int version, CuratorZkTicket *ticket);
  int (*sync) (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path,
               CuratorZkTicket *ticket);
  /* One multi of check(path, any version): a transaction that a quorum must commit. */
  int (*check) (CuratorZkOps *ops, CuratorZkHandle *handle, const char *const *paths, int n_paths,
                CuratorZkTicket *ticket);
  /* type: ZWATCHTYPE_DATA or ZWATCHTYPE_CHILD. Removes every watch of ours on the path, from the
   * server too unless others share the handle. No event is delivered. */
  int (*remove_all_watches) (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path,
                             ZooWatcherType type, CuratorZkTicket *ticket);

  gint64 (*monotonic_us) (CuratorZkOps *ops); /* for waits and time-outs */
  gint64 (*boottime_us) (CuratorZkOps *ops);  /* for leases: goes on while the machine sleeps */

  /* For names that nobody else has, in another process or on either side of a fork() either. */
  void (*random) (CuratorZkOps *ops, guint8 *bytes, gsize length);

  /* Like pthread_cond_wait and pthread_cond_broadcast. Waiting has no deadline of its own: what is
   * waited for has a timer of the client's. */
  void (*wait) (CuratorZkOps *ops, pthread_cond_t *cond, pthread_mutex_t *mutex);
  void (*wake) (CuratorZkOps *ops, pthread_cond_t *cond);

  /* Called, with the client's mutex held, after work was added to an empty or later lane; TRUE
   * means that the client runs a thread for each lane, FALSE that the implementation steps the
   * lanes itself (curator_dispatch_step). */
  gboolean threads;

  /* TRUE: open() takes a handle that the program made (hosts is NULL; errno ENOTCONN while there is
   * none), and close() leaves it and its session alone. What is ours on the server is then deleted
   * before the session is closed. */
  gboolean is_shared;
  /* Called when the client is freed; may be NULL. */
  void (*free) (CuratorZkOps *ops);
};

/* The table with libzookeeper-mt behind it; static, never freed. */
CuratorZkOps *curator_zk_ops_real (void);

#endif
