/* Mutexes: one holder among all processes. lock.h has the functions to use them. */
#ifndef CURATOR_MUTEX_H
#define CURATOR_MUTEX_H

#include <curator/lock.h>
#include <curator/types.h>
#include <curator/visibility.h>

G_BEGIN_DECLS

/** Creates a fair, re-entrant mutex. Sends no request. Mirrors
 *  InterProcessMutex(CuratorFramework, String).
 *  @param path  absolute; acquiring creates it as needed, of container nodes
 *  @return a new lock; NULL with INVALID_ARGUMENT */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorLock *curator_mutex_new (CuratorClient *client, const char *path, GError **error);

/** Creates a mutex whose driver, see lock_internals.h, decides on nodes, order and predicate.
 *  Mirrors InterProcessMutex(CuratorFramework, String, LockInternalsDriver).
 *  @param lock_name   name of the nodes before their sequence number; "lock-" for a plain mutex
 *  @param max_leases  1 to 2147483647; passed to the driver
 *  @param driver      the lock takes its own reference; NULL for the standard driver
 *  @return a new lock; NULL with INVALID_ARGUMENT */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorLock *curator_mutex_new_with_driver (CuratorClient *client, const char *path,
                                            const char *lock_name, guint max_leases,
                                            CuratorLockDriver *driver, GError **error);

/** Creates a re-entrant mutex of a single ephemeral node: the client that creates the node holds
 *  the lock. There is no queue and no fairness, and each release wakes every waiter. Use it for few
 *  contenders, or to share such a node with a program in another language. No Java counterpart.
 *  @param node_path  absolute path of the node itself
 *  @return a new lock; NULL with INVALID_ARGUMENT */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorLock *curator_fixed_node_lock_new (CuratorClient *client, const char *node_path,
                                          GError **error);

/** Creates a fair mutex that is not re-entrant and that any thread may release. A second acquire
 *  waits, even on the same thread. A release without a hold fails with NOT_OWNER. It is a semaphore
 *  with one lease and can share a path only with such. Mirrors InterProcessSemaphoreMutex.
 *  @return a new lock; NULL with INVALID_ARGUMENT */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorLock *curator_semaphore_mutex_new (CuratorClient *client, const char *path, GError **error);

G_END_DECLS

#endif
