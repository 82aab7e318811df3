/* Several locks as one. Mirrors InterProcessMultiLock.
 *
 * Members are acquired in the given order and released in reverse. If one cannot be acquired, the
 * others are released and its error is returned; one timeout covers all members. A release tries
 * every member, even if one fails, and reports all failures in one error. Callers that share
 * members must name them in the same order, or they may deadlock.
 */
#ifndef CURATOR_MULTILOCK_H
#define CURATOR_MULTILOCK_H

#include <curator/lock.h>
#include <curator/types.h>
#include <curator/visibility.h>

G_BEGIN_DECLS

/** Creates a lock of other locks. Mirrors InterProcessMultiLock(List<InterProcessLock>).
 *  @param locks    members, also of different clients; the multi-lock takes a reference to each
 *  @param n_locks  with 0, every acquire succeeds at once
 *  @return a new lock */
CURATOR_API
CuratorLock *curator_multi_lock_new (CuratorLock *const *locks, gsize n_locks);

/** Creates a lock of mutexes, one for each path. Mirrors
 *  InterProcessMultiLock(CuratorFramework, List<String>).
 *  @param paths  NULL-terminated, in the order to acquire; no path twice
 *  @return a new lock; NULL with INVALID_ARGUMENT */
CURATOR_API
CuratorLock *curator_multi_lock_new_for_paths (CuratorClient *client, const char *const *paths,
                                               GError **error);

/** The same, but acquires the members in the byte order of their paths, so that callers that name
 *  them in different orders cannot deadlock. No Java counterpart. */
CURATOR_API
CuratorLock *curator_multi_lock_new_for_paths_sorted (CuratorClient *client,
                                                      const char *const *paths, GError **error);

G_END_DECLS

#endif
