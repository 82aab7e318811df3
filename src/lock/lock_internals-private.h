/* A lock path and what acquires it: drivers, node requests, attempts (LockInternals).
 *
 * Any thread; guarded by the client's mutex unless a line says otherwise.
 */
#pragma once

#include "base/guards.h"
#include "base/tag.h"
#include "core/async.h"
#include "core/op.h"
#include "curator/lock_internals.h"
#include "lock/queue.h"

struct _CuratorNodeRequest
{
  CuratorTag tag;
  char *name;             /* NULL: the lock's */
  gboolean is_sequential; /* by its mode, both */
  gboolean is_ephemeral;
  GBytes *data; /* NULL: the lock's, or the client's default */
  gboolean protected_;
  gboolean has_guid;           /* data is unique: see curator_node_request_renew_guid() */
  CuratorLease *required_hold; /* a reference; the node needs this hold; or NULL */
};

/* getsTheLock of a built-in driver, by a node's position in the queue: its cost does not grow with
 * the queue. Called with the client's mutex held. */
typedef void (*CuratorPredicate) (CuratorQueue *queue, gsize index, int max_leases,
                                  CuratorPredicateResults *results);

struct _CuratorLockDriver
{
  CuratorTag tag;
  CuratorRefs refs;
  CuratorLockDriverFuncs funcs;
  gpointer user_data;
  GDestroyNotify destroy;
  /* Of the library's own, which runs with the mutex held; NULL: a user's driver. */
  CuratorPredicate predicate;
  /* Whether the node at index holds the lock; NULL: the first max_leases do. */
  gboolean (*holds) (CuratorQueue *queue, gsize index);
  gboolean nothing_overtakes; /* constant once it is used */
  gint is_used;               /* atomic: a lock has it */
  /* Of two with consecutive numbers the second is next, see local_queue.h. */
  gboolean neighbours_succeed;
};

/* A driver of the library's: never calls user code. */
CuratorLockDriver *curator_lock_driver_new_builtin (CuratorPredicate predicate);
/* For queues in which only the order counts; one for all of them. Borrowed. */
CuratorLockDriver *curator_lock_driver_standard (void);
/* The standard driver's decisions, for drivers that refine them. */
void curator_standard_predicate (CuratorQueue *queue, gsize index, int max_leases,
                                 CuratorPredicateResults *results);
void curator_standard_gets_the_lock (CuratorLockDriver *driver, const char *const *children,
                                     gsize n_children, const char *sequence_node_name,
                                     guint max_leases, CuratorPredicateResults *results,
                                     gpointer user_data);

typedef struct _CuratorRevocable CuratorRevocable;

/* One lock path as a recipe uses it; shared by the recipe's object and its attempts and leases. */
typedef struct
{
  CuratorRefs refs;
  gboolean is_one_node;  /* no queue: the node lock_name, if there is one, is the participant */
  CuratorClient *client; /* a memory reference */
  char *base;            /* full path of the parent of the lock nodes */
  const char *shown;     /* the user's path of the lock: the end of base, or shown_as */
  char *shown_as;        /* or NULL */
  char *lock_name;
  CuratorLockDriver *driver;
  GBytes *data; /* payload; NULL: the client's default */
  int max_leases CURATOR_GUARDED;
  gint64 max_hold_ms CURATOR_GUARDED; /* of each hold that is granted; or CURATOR_WAIT_FOREVER */
  GQueue attempts; /* the waiting ones, for _recheck(); guarded by the client's mutex */
  CuratorRevocable *revocable CURATOR_GUARDED;
  gboolean shares_queue; /* the participants are the nodes with lock_name in their names */
} CuratorLockInternals;

/* path: the user's, of the parent of the nodes; shown: that of the lock. driver: transfer full;
 * NULL: the standard one. */
CuratorLockInternals *curator_lock_internals_new (CuratorClient *client, const char *path,
                                                  const char *shown, const char *lock_name,
                                                  int max_leases, CuratorLockDriver *driver);
CuratorLockInternals *curator_lock_internals_ref (CuratorLockInternals *internals);
void curator_lock_internals_unref (CuratorLockInternals *internals);
/* The error of an acquire whose deadline has passed: TIMED_OUT, NO_ANSWER or CONNECTION_LOST.
 * is_contended: as far as is known another contender is in front. */
GError *curator_lock_internals_timed_out (const CuratorLockInternals *internals,
                                          const CuratorOp *op,
                                          gboolean is_contended) CURATOR_LOCKED;
/* Recipes that share a path, the full one, do not exclude each other. Warns once. */
void curator_lock_internals_warn_of_mix (CuratorClient *client, const char *path,
                                         const char *other_recipe) CURATOR_LOCKED;

/* fixForSorting with the path's driver: a CuratorQueueKeyFunc over a CuratorLockInternals. */
const char *curator_lock_internals_key (const char *name, gpointer internals);

/* Follows an attempt that is one of a batch. */
typedef struct _CuratorAttemptHook CuratorAttemptHook;

struct _CuratorAttemptHook
{
  /* Called with the client's mutex held, once at most: the first list does not grant the lock. The
   * attempt goes on like any other. */
  void (*not_first) (CuratorAttemptHook *hook);
};

/* What an attempt is to do, and what to call at its end. */
typedef struct
{
  CuratorNodeRequest *request; /* transfer full; NULL: what the driver describes */
  gint64 deadline_us;
  gboolean once;                  /* does not wait in the queue: ends with TIMED_OUT */
  CuratorAttemptHook *batch_hook; /* NULL: taken alone */
  /* Called with the client's mutex held, at the grant. It takes the lease, and the op has no
   * result. NULL: the op's result is the CuratorLease. */
  void (*granted) (CuratorLease *lease, gpointer data);
  CuratorOpDone done;
  gpointer data; /* for both */
} CuratorAttemptSpec;

/* Starts an attempt on the path. */
CuratorOp *curator_lock_internals_attempt (CuratorLockInternals *internals,
                                           const CuratorAttemptSpec *spec) CURATOR_UNLOCKED;
/* The same without asking the driver; no request means the default. */
CuratorOp *curator_lock_internals_attempt_locked (CuratorLockInternals *internals,
                                                  const CuratorAttemptSpec *spec) CURATOR_LOCKED;
/* TRUE if a sequential ephemeral node is taken, and the first in the queue is granted. */
gboolean curator_lock_internals_is_exclusive (const CuratorLockInternals *internals) CURATOR_LOCKED;
/* Sends the list that an attempt of a batch has put off. */
void curator_lock_internals_list (CuratorOp *op) CURATOR_LOCKED;
/* Ends an attempt of a batch that others will follow; its node is deleted. Harmless when it has
 * ended. */
void curator_lock_internals_withdraw (CuratorOp *op) CURATOR_LOCKED;
/* max_leases has changed: every waiter lists again. */
void curator_lock_internals_recheck (CuratorLockInternals *internals) CURATOR_LOCKED;

/* The lock nodes as user paths in order, holder first; foreign children are left out. */
char **curator_participants_await (CuratorLockInternals *internals, const CuratorLimits *limits,
                                   GError **error) CURATOR_UNLOCKED;
/* The same in two steps: what the op ends with, and what take makes of it, which may call the
 * user's driver. result: taken. */
CuratorOp *curator_participants_start (CuratorLockInternals *internals, gint64 deadline_us,
                                       CuratorOpDone done, gpointer data) CURATOR_UNLOCKED;
char **curator_participants_take (CuratorLockInternals *internals, gpointer result,
                                  const GError *failure, GError **error);

/* The request of most attempts: a protected ephemeral of the lock's name. Shared, not to be
 * freed. */
CuratorNodeRequest *curator_node_request_default (void);
CuratorNodeRequest *curator_node_request_new (const char *name);
/* Asks the driver to describe its node. */
CuratorNodeRequest *curator_node_request_ask (CuratorLockInternals *internals) CURATOR_UNLOCKED;
/* If it has a GUID, sets data to the client's default data, followed by a new one: each create has
 * its own, because an earlier one may still be deleted by it. */
void curator_node_request_renew_guid (CuratorNodeRequest *request,
                                      CuratorClient *client) CURATOR_LOCKED;
/* Harmless for the default. */
void curator_node_request_free (CuratorNodeRequest *request);
