/* A lock of any recipe: the functions that acquire, release and revoke it.
 *
 * Mirrors InterProcessLock and the additions of InterProcessMutex (re-entrance, participants,
 * Revocable). mutex.h, semaphore.h, rwlock.h and multilock.h create locks.
 *
 * There are two ways to hold a lock:
 *   curator_lock_acquire()        The hold belongs to the calling thread, and only that thread can
 *                                 release it. A mutex or one side of a read-write lock is
 *                                 re-entrant: release it as often as it was acquired. A semaphore
 *                                 mutex is not: a second acquire waits, and any thread may release
 *                                 it.
 *   curator_lock_acquire_lease()  The hold belongs to the lease, not to a thread.
 *
 * A hold is lost when its session ends, its deadline passes, another client deletes its node, or
 * the client is closed. The lease of curator_lock_dup_lease() gives its state. A thread whose hold
 * is LOST must release it as often as it acquired it; those releases succeed. Until then, acquire
 * fails with LOCK_LOST, so that nested code cannot believe itself protected.
 *
 * Two threads that use one lock object compete through ZooKeeper as two processes do. A new thread
 * never inherits the hold of a thread that ended.
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

/** Receives the result of curator_lock_acquire_then(), once. Runs as a callback; see client.h.
 *  @param lease  transfer full; NULL on error
 *  @param error  NULL on success; borrowed */
typedef void (*CuratorLockAcquireCallback) (CuratorLock *lock, CuratorLease *lease,
                                            const GError *error, gpointer user_data);

/** Receives the result of curator_lock_get_participant_nodes_then(), once. Runs as a callback; see
 *  client.h.
 *  @param nodes  transfer full, for g_strfreev(); NULL on error
 *  @param error  NULL on success; borrowed */
typedef void (*CuratorLockParticipantNodesCallback) (CuratorLock *lock, char **nodes,
                                                     const GError *error, gpointer user_data);

/** Receives the result of curator_lock_release_then(), once. Runs as a callback; see client.h.
 *  @param error  NULL if the server has confirmed, else why it has not; borrowed */
typedef void (*CuratorLockReleaseCallback) (CuratorLock *lock, const GError *error,
                                            gpointer user_data);

/** Called when another client asks for the lock back. Runs as a callback; see client.h. The holder
 *  may ignore the request. Only the holding thread can release its hold, so a listener should
 *  signal that thread or release a lease. Mirrors RevocationListener.revocationRequested. */
typedef void (*CuratorRevocationListener) (CuratorLock *lock, gpointer user_data);

/** Acquires the lock for the calling thread, waiting its turn. Mirrors InterProcessLock.acquire()
 *  and acquire(long, TimeUnit).
 *
 *  The timeout covers everything: connecting, retries, queueing. With 0 the server is asked once,
 *  which may take up to the connection timeout: TIMED_OUT if another contender is ahead,
 *  NO_ANSWER or CONNECTION_LOST if there was no answer. No request is sent while this client's
 *  session itself holds an exclusive lock, or waits for it. If the calling thread holds the lock
 *  already, the hold gains a level and no request is sent. A call that fails leaves nothing behind:
 *  any node that it may have created is found and deleted in the background.
 *
 *  @param timeout_ms   milliseconds for the whole call, #CURATOR_WAIT_DEFAULT or
 *                      #CURATOR_WAIT_FOREVER; 0 asks once
 *  @param cancellable  may be NULL; any thread may cancel it: G_IO_ERROR_CANCELLED
 *  @return FALSE with TIMED_OUT, CLOSED, NOT_STARTED, LOCK_LOST, CONNECTION_LOST, NO_ANSWER,
 *          AUTH_FAILED, SEQUENCE_EXHAUSTED, FORKED ..., UNSUPPORTED for a write lock whose read
 *          lock the calling thread holds, or #CURATOR_ZK_ERROR */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_lock_acquire (CuratorLock *lock, gint64 timeout_ms, GCancellable *cancellable,
                               GError **error);

/** Ends one level of the calling thread's hold. The last level deletes the node and waits for the
 *  server to confirm; another level ends without a wait. Whatever the wait comes to, the hold has
 *  ended: the node is then deleted in the background. Mirrors InterProcessLock.release.
 *  @param timeout_ms   milliseconds for the whole call, #CURATOR_WAIT_DEFAULT or
 *                      #CURATOR_WAIT_FOREVER; 0 does not wait
 *  @param cancellable  may be NULL; any thread may cancel it. It ends the wait, not the release
 *  @return TRUE also if the hold was LOST; FALSE with NOT_OWNER; with RELEASE_PENDING if no
 *          confirmation came in time, or G_IO_ERROR_CANCELLED: the hold has ended nevertheless */
CURATOR_API
gboolean curator_lock_release (CuratorLock *lock, gint64 timeout_ms, GCancellable *cancellable,
                               GError **error);

/** Whether any thread holds the lock through this object; for a multi-lock, through all members. A
 *  LOST hold does not count; in Java it does. Leases do not count. Mirrors
 *  InterProcessLock.isAcquiredInThisProcess. */
CURATOR_API
gboolean curator_lock_is_acquired_in_this_process (CuratorLock *lock);

/** Whether the calling thread holds the lock through this object. A LOST hold does not count. The
 *  hold of a semaphore mutex belongs to no thread: the same as
 *  curator_lock_is_acquired_in_this_process(). Mirrors InterProcessMutex.isOwnedByCurrentThread. */
CURATOR_API
gboolean curator_lock_is_owned_by_current_thread (CuratorLock *lock);

/** Full paths of all nodes in the lock's queue, in order, holders first; for a read or write lock,
 *  those of its own kind. Empty if the path does not exist. Names are untrusted
 *  and may hold any byte. Mirrors InterProcessMutex.getParticipantNodes.
 *  @param timeout_ms   milliseconds for the whole call, #CURATOR_WAIT_DEFAULT or
 *                      #CURATOR_WAIT_FOREVER; 0 does not wait
 *  @param cancellable  may be NULL; any thread may cancel it
 *  @return a NULL-terminated array for g_strfreev(); NULL with NO_ANSWER or CONNECTION_LOST if no
 *          server answered in time, G_IO_ERROR_CANCELLED ...; UNSUPPORTED for a multi-lock */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
char **curator_lock_get_participant_nodes (CuratorLock *lock, gint64 timeout_ms,
                                           GCancellable *cancellable, GError **error);

/** Like curator_lock_get_participant_nodes(), but returns at once. The callback runs exactly once,
 *  never inside this call, also when the client is closed. No Java counterpart. */
CURATOR_API
void curator_lock_get_participant_nodes_then (CuratorLock *lock, gint64 timeout_ms,
                                              GCancellable *cancellable,
                                              CuratorLockParticipantNodesCallback callback,
                                              gpointer user_data);

/** The calling thread's hold, even if LOST; for a semaphore mutex, the hold of the object; for a
 *  multi-lock, a new lease over the holds of its members. The reference keeps the lease valid
 *  whatever other threads do, but not held. Mirrors InterProcessMutex.getLockPath.
 *  @return transfer full; NULL if there is none: for a multi-lock, if one member has none */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorLease *curator_lock_dup_lease (CuratorLock *lock);

/** Acquires a hold that belongs to no thread: any thread may release it, and it is never
 *  re-entrant, so it waits for the calling thread's own hold too. Otherwise like
 *  curator_lock_acquire(). The lease of a multi-lock covers all members. No Java counterpart.
 *  @return a new lease, to be released and unreffed; NULL with an error */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorLease *curator_lock_acquire_lease (CuratorLock *lock, gint64 timeout_ms,
                                          GCancellable *cancellable, GError **error);

/** Like curator_lock_acquire_lease(), but returns at once. The callback runs exactly once, never
 *  inside this call, also when the client is closed. A callback that does not need the lease
 *  releases it by dropping the reference. No Java counterpart. */
CURATOR_API
void curator_lock_acquire_then (CuratorLock *lock, gint64 timeout_ms, GCancellable *cancellable,
                                CuratorLockAcquireCallback callback, gpointer user_data);

/** Like curator_lock_release(), but returns at once: the calling thread's level has ended then. No
 *  Java counterpart.
 *  @param cancellable  may be NULL; any thread may cancel it. It calls the callback, and the
 *                      release goes on
 *  @param callback  may be NULL: then timeout and cancellable mean nothing; runs once, never inside
 *                   this call. It receives NULL once the server has confirmed, or an error of
 *                   curator_lock_release(), or CLOSED if the client was closed first: then the end
 *                   of the session frees the lock */
CURATOR_API
void curator_lock_release_then (CuratorLock *lock, gint64 timeout_ms, GCancellable *cancellable,
                                CuratorLockReleaseCallback callback, gpointer user_data);

/** Ends a hold whose holder does not: at the end of that time it is LOST, by the local clock like
 *  every loss, and a tenth of the session timeout later, 1 s at most, its node is deleted, so that
 *  the next contender is granted the lock. The session and its other holds go on. It needs this
 *  process to run and to be connected; otherwise the node stays until the session ends. Like every
 *  loss by a clock it stops nobody: a holder that hangs and goes on later must be told by its
 *  fencing token.
 *
 *  It applies to holds granted from now on, from the grant, however many levels they gain;
 *  curator_lease_extend() gives one more time. For a multi-lock: sets that of each member. Mirrors
 *  nothing in Java.
 *  @param max_hold_ms  milliseconds; #CURATOR_WAIT_FOREVER, the default, for none. A number below 1
 *                      logs a critical message and changes nothing */
CURATOR_API
void curator_lock_set_max_hold (CuratorLock *lock, gint64 max_hold_ms);

/** What curator_lock_set_max_hold() has set, in milliseconds; #CURATOR_WAIT_FOREVER for none. For a
 *  multi-lock: the shortest of its members'. 0 in the child of a fork(). No Java counterpart. */
CURATOR_API
gint64 curator_lock_get_max_hold_ms (const CuratorLock *lock);

/** The path that the constructor was given; both sides of a read-write lock have that of the pair.
 *  Owned by the lock. No Java counterpart.
 *  @return NULL for a multi-lock, which has no path of its own */
CURATOR_API
const char *curator_lock_get_path (const CuratorLock *lock);

/** The client that the constructor was given. Borrowed: valid as long as the lock. No Java
 *  counterpart.
 *  @return NULL for a multi-lock, whose members may have different clients */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorClient *curator_lock_get_client (const CuratorLock *lock);

/** Lets other clients ask for the lock back, with curator_client_attempt_revoke() or Java's
 *  Revoker. It covers attempts that begin after this call; their nodes have an empty payload, as in
 *  Curator. The listener runs also while the attempt still waits. It stays until replaced, or
 *  cleared with NULL (in Java, one release clears it). Mirrors Revocable.makeRevocable.
 *  @param listener  NULL to clear
 *  @param destroy   frees @p user_data once no call can follow; may be NULL. If this call fails,
 *                   the caller keeps ownership of user_data
 *  @return FALSE with UNSUPPORTED for a multi-lock; make its members revocable instead */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_lock_make_revocable (CuratorLock *lock, CuratorRevocationListener listener,
                                      gpointer user_data, GDestroyNotify destroy, GError **error);

/** Asks the holder of a lock node to release it, by writing "__REVOKE__" into the node. Waits for
 *  the server, not for the holder. Mirrors Revoker.attemptRevoke.
 *  @param lock_node_path  full path, as from curator_lock_get_participant_nodes(); the path of a
 *                         lock is refused with INVALID_ARGUMENT
 *  @param timeout_ms   milliseconds for the whole call, #CURATOR_WAIT_DEFAULT or
 *                      #CURATOR_WAIT_FOREVER; 0 does not wait
 *  @param cancellable  may be NULL; any thread may cancel it
 *  @return TRUE also if the node is gone already; NO_ANSWER or CONNECTION_LOST if no server
 *          answered in time: the request may still reach the holder, except with 0, since the node
 *          is read first */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_client_attempt_revoke (CuratorClient *client, const char *lock_node_path,
                                        gint64 timeout_ms, GCancellable *cancellable,
                                        GError **error);

/** Adds a reference and returns @p lock. */
CURATOR_API
CuratorLock *curator_lock_ref (CuratorLock *lock);

/** Drops a reference; dropping the last one releases the holds of threads in the background. Leases
 *  of the lock stay valid. */
CURATOR_API
void curator_lock_unref (CuratorLock *lock);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorLock, curator_lock_unref)

G_END_DECLS

#endif
