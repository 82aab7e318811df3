/* Several locks as one. Mirrors InterProcessMultiLock.
 *
 * Members are acquired in the order given and released in reverse. If one cannot be had, those
 * already acquired are released again and its error is returned; the time-out covers them all. A
 * release tries every member, whatever fails, and reports all failures in one error. Callers that
 * share members must name them in the same order, or they may wait for each other for ever.
 */
#ifndef CURATOR_MULTILOCK_H
#define CURATOR_MULTILOCK_H

#include <curator/lock.h>
#include <curator/types.h>
#include <curator/visibility.h>

G_BEGIN_DECLS

/** A lock of locks. Mirrors InterProcessMultiLock(List<InterProcessLock>).
 *  @param locks    members, also of different clients; each gets a reference
 *  @param n_locks  0 makes a lock that is always acquired
 *  @return a new lock */
CURATOR_API
CuratorLock *curator_multi_lock_new (CuratorLock *const *locks, gsize n_locks);

/** A lock of mutexes, one for each path. Mirrors
 *  InterProcessMultiLock(CuratorFramework, List<String>).
 *  @param paths  NULL-terminated; in this order, no path twice
 *  @return a new lock; NULL with INVALID_ARGUMENT */
CURATOR_API
CuratorLock *curator_multi_lock_new_for_paths (CuratorClient *client, const char *const *paths,
                                               GError **error);

/** The same, but the members are taken in the byte order of their paths, so that callers that name
 *  them in different orders never wait for each other. No Java counterpart. */
CURATOR_API
CuratorLock *curator_multi_lock_new_for_paths_sorted (CuratorClient *client,
                                                      const char *const *paths, GError **error);

G_END_DECLS

#endif
