/* Mutexes: one holder among all processes. See lock.h for what can be done with them. */
#ifndef CURATOR_MUTEX_H
#define CURATOR_MUTEX_H

#include <curator/lock.h>
#include <curator/lock_internals.h>
#include <curator/types.h>
#include <curator/visibility.h>

G_BEGIN_DECLS

/** A fair, re-entrant mutex. Nothing is sent to the server. Mirrors
 *  InterProcessMutex(CuratorFramework, String).
 *  @param path  absolute; made as needed, with container nodes as parents
 *  @return a new lock; NULL with INVALID_ARGUMENT */
CURATOR_API
CuratorLock *curator_mutex_new (CuratorClient *client, const char *path, GError **error);

/** A mutex whose nodes, order and predicate a driver decides. Mirrors
 *  InterProcessMutex(CuratorFramework, String, LockInternalsDriver).
 *  @param lock_name   name of the nodes before the server's number; "lock-" for a plain mutex
 *  @param max_leases  at least 1; handed to the driver
 *  @param driver      the lock takes a reference of its own; NULL for the standard driver
 *  @return a new lock; NULL with INVALID_ARGUMENT */
CURATOR_API
CuratorLock *curator_mutex_new_with_driver (CuratorClient *client, const char *path,
                                            const char *lock_name, int max_leases,
                                            CuratorLockDriver *driver, GError **error);

/** A re-entrant mutex that is a single ephemeral node: who creates it holds. There is no queue and
 *  no fairness, every waiter wakes at each release: for few contenders, or where a program in
 *  another language uses such a node. No Java counterpart.
 *  @param node_path  absolute path of the node itself
 *  @return a new lock; NULL with INVALID_ARGUMENT */
CURATOR_API
CuratorLock *curator_fixed_node_lock_new (CuratorClient *client, const char *node_path,
                                          GError **error);

/** A fair mutex that is not re-entrant and that any thread may release. A second acquire waits,
 *  even on the same thread. Release without a hold fails with NOT_OWNER. It is a semaphore of one
 *  lease and shares paths only with those. Mirrors InterProcessSemaphoreMutex.
 *  @return a new lock; NULL with INVALID_ARGUMENT */
CURATOR_API
CuratorLock *curator_semaphore_mutex_new (CuratorClient *client, const char *path, GError **error);

G_END_DECLS

#endif
