/* Custom lock recipes: a driver decides which node is created and who holds the lock.
 *
 * Mirrors LockInternalsDriver, LockInternalsSorter and PredicateResults. The engine does the rest:
 * create, list, watch, wait, retry, clean up. Pass the driver to curator_mutex_new_with_driver().
 *
 * The functions of a driver run on the caller's thread or on one thread of the client, possibly
 * concurrently, while the library holds no lock. One that blocks delays the client's other drivers
 * and retry policies, and nothing else. For curator_lock_get_participant_nodes_then(), they run
 * where its callback does.
 */
#ifndef CURATOR_LOCK_INTERNALS_H
#define CURATOR_LOCK_INTERNALS_H

#include <curator/types.h>
#include <curator/visibility.h>

G_BEGIN_DECLS

/** Result of the predicate. Mirrors PredicateResults. */
typedef struct
{
  /** TRUE if the lock is held. */
  gboolean gets_the_lock;
  /** Otherwise the name of the child whose deletion to wait for, preferably one of the strings in
   *  children. NULL waits for any change of the children. Read as soon as the function returns. */
  const char *path_to_watch;
} CuratorPredicateResults;

/** The functions of a driver. A NULL member takes the function of the standard driver, a mutex. */
typedef struct
{
  /** Describes the node to create with the curator_node_request_set_ functions; the engine creates
   *  it. The default is protected, ephemeral, sequential, with the lock's data. Mirrors
   *  createsTheLock. */
  void (*creates_the_lock) (CuratorLockDriver *driver, CuratorNodeRequest *request,
                            gpointer user_data);

  /** Decides whether the node holds the lock. Results are zero at entry.
   *  @param children            names of the children in order: those with a number, and the
   *                             attempt's own
   *  @param sequence_node_name  the attempt's own name; always one of them
   *  @param max_leases          how many may hold at the same time
   *  Mirrors getsTheLock. */
  void (*gets_the_lock) (CuratorLockDriver *driver, const char *const *children, gsize n_children,
                         const char *sequence_node_name, guint max_leases,
                         CuratorPredicateResults *results, gpointer user_data);

  /** Returns the part of @p name to sort by, as a pointer into @p name. The engine ignores a child
   *  as foreign if that part is not a sequence number of ten digits or is the whole name. Mirrors
   *  fixForSorting. */
  const char *(*fix_for_sorting) (CuratorLockDriver *driver, const char *name,
                                  const char *lock_name, gpointer user_data);

  /** Reserved; must be zero. */
  gpointer _reserved[5];
} CuratorLockDriverFuncs;

/** Creates a driver, which may serve any number of locks.
 *  @param funcs    copied; NULL for the standard driver
 *  @param destroy  frees @p user_data with the driver; may be NULL
 *  @return a new driver; unref it */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorLockDriver *curator_lock_driver_new (const CuratorLockDriverFuncs *funcs, gpointer user_data,
                                            GDestroyNotify destroy);

/** Declares that no node can be created ahead of a waiting one, as when the server numbers all
 *  nodes. Then the engine may skip listing the children after the watched node is deleted. Default
 *  FALSE for a driver with functions of its own. Call it before a lock is created with the driver.
 *  No Java counterpart. */
CURATOR_API
void curator_lock_driver_set_nothing_overtakes (CuratorLockDriver *driver,
                                                gboolean nothing_overtakes);

/** Adds a reference and returns @p driver. */
CURATOR_API
CuratorLockDriver *curator_lock_driver_ref (CuratorLockDriver *driver);

/** Drops a reference; dropping the last one frees the driver. Locks hold a reference to their
 *  driver. */
CURATOR_API
void curator_lock_driver_unref (CuratorLockDriver *driver);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorLockDriver, curator_lock_driver_unref)

/** Kinds of nodes. Mirrors CreateMode. If a node that is not sequential exists already, the attempt
 *  waits for its deletion and creates it then: the name excludes others, so such a node never has
 *  the protection prefix, whatever max_leases is at most one holds, and creating it is the grant
 *  unless the driver has a predicate. */
typedef enum
{
  CURATOR_CREATE_MODE_PERSISTENT,            /**< stays until deleted */
  CURATOR_CREATE_MODE_PERSISTENT_SEQUENTIAL, /**< the same, numbered by the server */
  CURATOR_CREATE_MODE_EPHEMERAL,             /**< ends with the session */
  CURATOR_CREATE_MODE_EPHEMERAL_SEQUENTIAL   /**< the same, numbered by the server */
} CuratorCreateMode;

/** Name of the node without the lock's path, the protection prefix and the sequence number;
 *  initially the recipe's lock name, for example "lock-". Owned by the request. */
CURATOR_API
const char *curator_node_request_get_name (const CuratorNodeRequest *request);

/** Sets the name of the node, one path component; copied. */
CURATOR_API
void curator_node_request_set_name (CuratorNodeRequest *request, const char *name);

/** Sets the kind of the node; default #CURATOR_CREATE_MODE_EPHEMERAL_SEQUENTIAL. */
CURATOR_API
void curator_node_request_set_mode (CuratorNodeRequest *request, CuratorCreateMode mode);

/** Sets the payload; copied. Default: the lock's data, or the client's default data. With more than
 *  4096 bytes the acquire fails with LIMIT_EXCEEDED. */
CURATOR_API
void curator_node_request_set_data (CuratorNodeRequest *request, const void *data, gsize length);

/** Sets whether the name gets the prefix "_c_<uuid>-", which identifies the node if the reply to
 *  its creation is lost; default TRUE, but never for a node that is not sequential. Without the
 *  prefix, an ephemeral node is identified by session and data, and a persistent one by a GUID that
 *  follows the default data. With data of your own, a persistent node whose creation reply is lost
 *  may stay behind. Mirrors CreateBuilder.withProtection. */
CURATOR_API
void curator_node_request_set_protected (CuratorNodeRequest *request, gboolean protected_);

G_END_DECLS

#endif
