/* Several locks as one. Mirrors InterProcessMultiLock.
 *
 * Members are acquired in the given order and released in reverse. If one cannot be acquired, the
 * others are released and its error is returned; one timeout covers all members. A release tries
 * every member, even if one fails, and reports all failures in one error. Callers that share
 * members must name them in the same order, or they may deadlock.
 *
 * When the last member is granted, all are checked. If one was lost while the others were waited
 * for, all are released and acquired again within the same timeout; with a timeout of 0 the call
 * fails with LOCK_LOST.
 *
 * A multi-lock as a member stands for its own members, at any depth. One without members stands for
 * nothing. A multi-lock that is left without members protects nothing: acquire and release of a
 * thread succeed at once, and there is no lease: curator_lock_dup_lease() returns NULL, and
 * curator_lock_acquire_lease() and curator_lock_acquire_then() fail with UNSUPPORTED.
 */
#ifndef CURATOR_MULTILOCK_H
#define CURATOR_MULTILOCK_H

#include <curator/lock.h>
#include <curator/types.h>
#include <curator/visibility.h>

G_BEGIN_DECLS

/** Creates a lock of other locks. Mirrors InterProcessMultiLock(List<InterProcessLock>).
 *  @param locks    members, also of different clients; the multi-lock takes a reference to each
 *  @param n_locks  may be 0
 *  @return a new lock */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorLock *curator_multi_lock_new (CuratorLock *const *locks, gsize n_locks);

/** Creates a lock of mutexes, one for each path. Mirrors
 *  InterProcessMultiLock(CuratorFramework, List<String>).
 *  @param paths  NULL-terminated, in the order to acquire; no path twice
 *  @return a new lock; NULL with INVALID_ARGUMENT */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorLock *curator_multi_lock_new_for_paths (CuratorClient *client, const char *const *paths,
                                               GError **error);

/** Creates a lock of mutexes, and acquires them in the byte order of their paths: callers that all
 *  use this cannot deadlock, whatever order they name them in. Beside Java, and others that acquire
 *  them as given, those have to give that order. No Java counterpart. */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorLock *curator_multi_lock_new_for_paths_sorted (CuratorClient *client,
                                                      const char *const *paths, GError **error);

G_END_DECLS

#endif
