/* Making lock recipes of your own: a driver says which node is created and who holds the lock.
 *
 * Mirrors LockInternalsDriver, LockInternalsSorter and PredicateResults. The engine does the rest:
 * create, list, watch, wait, retry, clean up. Pass the driver to curator_mutex_new_with_driver().
 *
 * The functions of a driver run without any lock of the library, on the caller's thread or on one of
 * the library's, possibly on several at once. They compute; what blocks in them delays others.
 */
#ifndef CURATOR_LOCK_INTERNALS_H
#define CURATOR_LOCK_INTERNALS_H

#include <curator/types.h>
#include <curator/visibility.h>

G_BEGIN_DECLS

/** What the predicate found. Mirrors PredicateResults. */
typedef struct
{
  /** TRUE if the lock is held. */
  gboolean gets_the_lock;
  /** Else the child, by name, whose end is waited for: best one of the strings in children. NULL:
   *  any change of the children. Read right after the function has returned. */
  const char *path_to_watch;
} CuratorPredicateResults;

/** The decisions of a driver. Members that are NULL are the standard driver's, that of a mutex. */
typedef struct
{
  /** Describes the node with the curator_node_request_set_ functions; the engine creates it. What
   *  is not set stays: protected, ephemeral, sequential, the lock's data. Mirrors
   *  createsTheLock. */
  void (*creates_the_lock) (CuratorLockDriver *driver, CuratorNodeRequest *request,
                            gpointer user_data);

  /** Decides. Results are zero at entry.
   *  @param children            names of the children in order, foreign ones left out
   *  @param sequence_node_name  our own name; always one of them
   *  @param max_leases          how many may hold at a time
   *  Mirrors getsTheLock. */
  void (*gets_the_lock) (CuratorLockDriver *driver, const char *const *children, gsize n_children,
                         const char *sequence_node_name, int max_leases,
                         CuratorPredicateResults *results, gpointer user_data);

  /** The part of @p name to sort by: a pointer into @p name. A child whose part is not a sequence
   *  number of ten digits, or has nothing in front of it, is foreign: it takes no part. Mirrors
   *  fixForSorting. */
  const char *(*fix_for_sorting) (CuratorLockDriver *driver, const char *name,
                                  const char *lock_name, gpointer user_data);

  /** Zero. */
  gpointer _reserved[5];
} CuratorLockDriverFuncs;

/** Makes a driver; it may serve any number of locks.
 *  @param funcs    copied; NULL for the standard driver
 *  @param destroy  frees @p user_data with the driver; may be NULL
 *  @return a new driver; unref it */
CURATOR_API
CuratorLockDriver *curator_lock_driver_new (const CuratorLockDriverFuncs *funcs, gpointer user_data,
                                            GDestroyNotify destroy);

/** Declares that no node can appear in front of a waiting one later, as is so when all are numbered
 *  by the server. The engine may then spare itself a listing when the node waited for goes. Default
 *  FALSE for drivers with functions of their own. Call it before the driver is used. */
CURATOR_API
void curator_lock_driver_set_nothing_overtakes (CuratorLockDriver *driver,
                                                gboolean nothing_overtakes);

/** Adds a reference and returns @p driver. */
CURATOR_API
CuratorLockDriver *curator_lock_driver_ref (CuratorLockDriver *driver);

/** Drops a reference; the last one frees. Locks keep their driver. */
CURATOR_API
void curator_lock_driver_unref (CuratorLockDriver *driver);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorLockDriver, curator_lock_driver_unref)

/** Kinds of nodes. Mirrors CreateMode. A create that is not sequential and finds its name taken
 *  waits until that node goes and tries again. */
typedef enum
{
  CURATOR_CREATE_PERSISTENT,            /**< stays until deleted */
  CURATOR_CREATE_PERSISTENT_SEQUENTIAL, /**< the same, numbered by the server */
  CURATOR_CREATE_EPHEMERAL,             /**< ends with the session */
  CURATOR_CREATE_EPHEMERAL_SEQUENTIAL   /**< the same, numbered by the server */
} CuratorCreateMode;

/** Name of the node without the lock's path and without what the engine and the server add; at
 *  first the recipe's lock name, for example "lock-". Owned by the request. */
CURATOR_API
const char *curator_node_request_get_name (CuratorNodeRequest *request);

/** Names the node: one path component. Copied. */
CURATOR_API
void curator_node_request_set_name (CuratorNodeRequest *request, const char *name);

/** Sets the kind; default #CURATOR_CREATE_EPHEMERAL_SEQUENTIAL. */
CURATOR_API
void curator_node_request_set_mode (CuratorNodeRequest *request, CuratorCreateMode mode);

/** Sets the payload; copied. Default: the lock's, or the client's default data. With more than 4096
 *  bytes the acquire fails with LIMIT_EXCEEDED. */
CURATOR_API
void curator_node_request_set_data (CuratorNodeRequest *request, const void *data, gsize length);

/** Whether the name gets the prefix "_c_<uuid>-", by which the node is found again when the answer
 *  to its create was lost; default TRUE. Without it only the session tells whose a node is. Mirrors
 *  CreateBuilder.withProtection. */
CURATOR_API
void curator_node_request_set_protected (CuratorNodeRequest *request, gboolean protected_);

G_END_DECLS

#endif
