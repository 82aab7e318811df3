/* A lock: whatever is acquired and released by its path, whichever recipe it follows.
 *
 * Mirrors InterProcessLock, and what InterProcessMutex adds to it (re-entrance, participants,
 * Revocable). mutex.h, semaphore.h, rwlock.h and multilock.h make locks.
 *
 * Two ways to hold:
 *   curator_lock_acquire()        the hold belongs to the calling thread, which alone can release
 *                                 it. A mutex or one side of a read-write lock counts: as many
 *                                 releases as acquires. (A semaphore mutex does neither: any thread
 *                                 may release it, and a second acquire waits.)
 *   curator_lock_acquire_lease()  the hold belongs to no thread, but to who has the lease.
 *
 * Losing: a hold ends when the session does, when somebody deletes the node, or when the client is
 * closed; curator_lock_get_lease() tells its state. A thread whose hold is LOST must release it as
 * often as it acquired it; those releases succeed. Until then acquire fails with LOCK_LOST, so that
 * code further down cannot take itself for protected.
 *
 * Two threads using one lock object compete through ZooKeeper as two processes do. Threads are told
 * apart for good: a new thread never inherits the hold of one that ended.
 *
 * A path belongs to one recipe: a mutex, a read-write lock and a semaphore must not share one.
 * All functions are thread-safe.
 */
#ifndef CURATOR_LOCK_H
#define CURATOR_LOCK_H

#include <curator/lease.h>
#include <curator/types.h>
#include <curator/visibility.h>

#include <gio/gio.h>

G_BEGIN_DECLS

/** Result of curator_lock_acquire_async(), once, where callbacks run; see client.h.
 *  @param lease  transfer full; NULL on error
 *  @param error  NULL on success; borrowed */
typedef void (*CuratorAcquireCallback) (CuratorLock *lock, CuratorLease *lease, const GError *error,
                                        gpointer user_data);

/** Result of curator_lock_release_async(), once, where callbacks run; see client.h.
 *  @param error  NULL once the server has confirmed; else why it will not; borrowed */
typedef void (*CuratorReleaseCallback) (CuratorLock *lock, const GError *error, gpointer user_data);

/** Told that somebody asks for the lock back, where callbacks run; see client.h. It is a request:
 *  the holder decides. Since only the holding thread can release its hold, a listener signals that
 *  thread or releases a lease. Mirrors RevocationListener.revocationRequested. */
typedef void (*CuratorRevocationListener) (CuratorLock *lock, gpointer user_data);

/** Acquires for the calling thread, waiting its turn. Mirrors InterProcessLock.acquire() and
 *  acquire(long, TimeUnit).
 *
 *  The time covers everything: connecting, retries, queueing. With 0 the server is asked once (for
 *  which the connection timeout is allowed): TIMED_OUT if somebody is in front, CONNECTION_LOST if
 *  the server could not be asked. A hold of the calling thread is deepened by one level without
 *  asking the server. When a call fails nothing of it stays behind: a node that may exist is found
 *  and deleted in the background.
 *
 *  @param timeout_ms   milliseconds, 0, or #CURATOR_WAIT_FOREVER
 *  @param cancellable  may be NULL; any thread may cancel it: G_IO_ERROR_CANCELLED
 *  @return FALSE with TIMED_OUT, CLOSED, NOT_STARTED, LOCK_LOST, CONNECTION_LOST, AUTH_FAILED,
 *          SEQUENCE_EXHAUSTED, FORKED ..., or #CURATOR_ZK_ERROR */
CURATOR_API
gboolean curator_lock_acquire (CuratorLock *lock, gint64 timeout_ms, GCancellable *cancellable,
                               GError **error);

/** Ends one level of the calling thread's hold; with the last one the node is deleted, waiting up
 *  to the connection timeout until the server confirms. Mirrors InterProcessLock.release.
 *  @return TRUE also if the hold was LOST; FALSE with NOT_OWNER, or with RELEASE_PENDING when the
 *          confirmation did not come: ownership has ended even so */
CURATOR_API
gboolean curator_lock_release (CuratorLock *lock, GError **error);

/** Whether any thread holds through this object (of a multi-lock: through all members). A LOST hold
 *  does not count, in Java it does. Leases do not count either. Mirrors
 *  InterProcessLock.isAcquiredInThisProcess. */
CURATOR_API
gboolean curator_lock_is_acquired_in_this_process (CuratorLock *lock);

/** Whether the calling thread holds through this object; a LOST hold does not count. A semaphore
 *  mutex knows no threads: there it is curator_lock_is_acquired_in_this_process(). Mirrors
 *  InterProcessMutex.isOwnedByCurrentThread. */
CURATOR_API
gboolean curator_lock_is_owned_by_current_thread (CuratorLock *lock);

/** Full paths of the nodes queueing for the lock, in order, holders first, whoever made them; of a
 *  read or write lock those of its own kind. Empty if the path does not exist. What others wrote is
 *  untrusted: a name may hold any byte. Mirrors InterProcessMutex.getParticipantNodes.
 *  @return a NULL-terminated array for g_strfreev(); NULL with an error, UNSUPPORTED for a
 *          multi-lock */
CURATOR_API
char **curator_lock_get_participant_nodes (CuratorLock *lock, GError **error);

/** The calling thread's hold, LOST ones included; for a semaphore mutex the object's. Borrowed,
 *  valid until the thread has released its last level; NULL if there is none, and always for a
 *  multi-lock. Mirrors InterProcessMutex.getLockPath. */
CURATOR_API
CuratorLease *curator_lock_get_lease (CuratorLock *lock);

/** Acquires a hold that belongs to no thread: any thread may release it, and it is never
 *  re-entrant, not even on top of the calling thread's own hold. Otherwise like
 *  curator_lock_acquire(). The lease of a multi-lock covers all members.
 *  @return a new lease, to be released and unreffed; NULL with an error */
CURATOR_API
CuratorLease *curator_lock_acquire_lease (CuratorLock *lock, gint64 timeout_ms,
                                          GCancellable *cancellable, GError **error);

/** curator_lock_acquire_lease() without waiting. The callback runs exactly once, never inside this
 *  call, also when the client is closed. If nobody is there to take the lease, it is released by
 *  the callback dropping it. */
CURATOR_API
void curator_lock_acquire_async (CuratorLock *lock, gint64 timeout_ms, GCancellable *cancellable,
                                 CuratorAcquireCallback callback, gpointer user_data);

/** curator_lock_release() without waiting: the level of the calling thread ends at once.
 *  @param callback  may be NULL; told when the server has confirmed, or NOT_OWNER, or CLOSED if the
 *                   client was closed first (then the session's end frees the lock) */
CURATOR_API
void curator_lock_release_async (CuratorLock *lock, CuratorReleaseCallback callback,
                                 gpointer user_data);

/** Lets others ask for the lock back with curator_attempt_revoke(), in C or Java. Holds and waits
 *  that begin after this call are covered; their nodes have an empty payload, as in Curator. The
 *  registration stays until replaced, or cleared with NULL (in Java one release clears it). A
 *  contender that still waits is told, too. Mirrors Revocable.makeRevocable.
 *  @param listener  NULL to clear
 *  @param destroy   frees @p user_data when the listener can be called no more; may be NULL. If the
 *                   call fails, user_data stays the caller's
 *  @return FALSE with UNSUPPORTED for a multi-lock; make its members revocable instead */
CURATOR_API
gboolean curator_lock_make_revocable (CuratorLock *lock, CuratorRevocationListener listener,
                                      gpointer user_data, GDestroyNotify destroy, GError **error);

/** Asks the holder of a node to give it up, by writing "__REVOKE__" into it. Waits for the server,
 *  not for the holder. Mirrors Revoker.attemptRevoke.
 *  @param lock_node_path  full path, as from curator_lock_get_participant_nodes()
 *  @return TRUE also if the node is gone already */
CURATOR_API
gboolean curator_attempt_revoke (CuratorClient *client, const char *lock_node_path, GError **error);

/** Adds a reference and returns @p lock. */
CURATOR_API
CuratorLock *curator_lock_ref (CuratorLock *lock);

/** Drops a reference; the last one releases in the background what threads still hold. Leases taken
 *  from the lock stay valid without it. */
CURATOR_API
void curator_lock_unref (CuratorLock *lock);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorLock, curator_lock_unref)

G_END_DECLS

#endif
