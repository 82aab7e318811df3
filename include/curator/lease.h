/* A lease: one hold, its state, its deadline and its fencing token.
 *
 * Every hold has a deadline, a bounded time after the last answer from a server. Check the
 * remaining time before each step that cannot be undone, and pass the fencing token to resources
 * that can compare it. You need both: a process that was stopped cannot know that its deadline has
 * passed.
 *
 * Mirrors Lease of InterProcessSemaphoreV2. States, remaining time and token have no Java
 * counterpart. All functions are thread-safe.
 */
#ifndef CURATOR_LEASE_H
#define CURATOR_LEASE_H

#include <curator/types.h>
#include <curator/visibility.h>

#include <gio/gio.h>

G_BEGIN_DECLS

/** States of a hold: HELD and SUSPECT may alternate, LOST and RELEASED are final. */
typedef enum
{
  /** Held, as a recent answer from the server proves. */
  CURATOR_LEASE_STATE_HELD,
  /** Still held, but the server has not answered for a while and the deadline approaches: begin
   *  nothing new. */
  CURATOR_LEASE_STATE_SUSPECT,
  /** No longer held: the session ended, another client deleted the node, the client was closed, the
   *  deadline passed, or the maximum that curator_lock_set_max_hold() had set. The local clock
   *  decides, even without a network. Stop at once. */
  CURATOR_LEASE_STATE_LOST,
  /** Released by this process. */
  CURATOR_LEASE_STATE_RELEASED
} CuratorLeaseState;

/** Why a hold is LOST. Each has its counter in stats.h. */
typedef enum
{
  CURATOR_LOST_REASON_NONE,    /**< it is not LOST */
  CURATOR_LOST_REASON_SESSION, /**< the server reported the session expired, or no server was
                                *   reached for the length of the session timeout */
  CURATOR_LOST_REASON_CLOCK,   /**< no quorum confirmed it in time */
  CURATOR_LOST_REASON_DELETED, /**< another client deleted its node */
  CURATOR_LOST_REASON_CLOSED,  /**< the client was closed */
  CURATOR_LOST_REASON_MAX_HOLD /**< it lasted longer than curator_lock_set_max_hold() allows */
} CuratorLostReason;

/** Called for every change of state, in order. Runs as a state listener, which only other state
 *  listeners can delay; see client.h. */
typedef void (*CuratorLeaseListener) (CuratorLease *lease, CuratorLeaseState state,
                                      gpointer user_data);

/** Receives the result of curator_lease_release_then(), once. Runs as a callback; see client.h.
 *  @param lease  borrowed
 *  @param error  NULL if the server has confirmed, else why it has not; borrowed */
typedef void (*CuratorLeaseReleaseCallback) (CuratorLease *lease, const GError *error,
                                             gpointer user_data);

/** Full path of the lock node, without namespace. Owned by the lease. For a multi-lock: the first
 *  member's. Mirrors InterProcessMutex.getLockPath. */
CURATOR_API
const char *curator_lease_get_node_path (const CuratorLease *lease);

/** Last part of the node's path. Owned by the lease. Mirrors Lease.getNodeName. */
CURATOR_API
const char *curator_lease_get_node_name (const CuratorLease *lease);

/** The fencing token: the ZooKeeper transaction id (czxid) that created the node. It grows with
 *  every later exclusive grant of the same lock, also after its path was deleted and recreated.
 *  Concurrent holders, as of a semaphore, have different tokens. The token of a reader that was the
 *  writer before may exceed that of the next writer, so do not compare readers' tokens. For a
 *  multi-lock: the first member's. No Java counterpart. */
CURATOR_API
guint64 curator_lease_get_fencing_token (const CuratorLease *lease);

/** The current state. For a multi-lock: the worst of its members. No Java counterpart. */
CURATOR_API
CuratorLeaseState curator_lease_get_state (CuratorLease *lease);

/** Name of a state, for example "HELD"; "UNKNOWN" for other values. Static. */
CURATOR_API
const char *curator_lease_state_to_string (CuratorLeaseState state);

/** Why the hold is LOST. Once that is known it does not change. For a multi-lock: that of the
 *  member that was lost first. No Java counterpart.
 *  @return CURATOR_LOST_REASON_NONE unless the hold is LOST; the same in the child of a fork() */
CURATOR_API
CuratorLostReason curator_lease_get_lost_reason (CuratorLease *lease);

/** Name of a reason, for example "MAX_HOLD"; "UNKNOWN" for other values. Static. */
CURATOR_API
const char *curator_lost_reason_to_string (CuratorLostReason reason);

/** Milliseconds until the hold's deadline if no server answers again, or until its maximum if that
 *  is sooner; 0 after it. Time counts while the machine is suspended. For a multi-lock: the minimum
 *  of its members. For a driver's persistent node, which outlives its session: G_MAXINT64 while
 *  held. No Java counterpart. */
CURATOR_API
gint64 curator_lease_get_remaining_ms (CuratorLease *lease);

/** Gives a hold with a maximum, see curator_lock_set_max_hold(), more time: the maximum does not
 *  end it within that time from now. Never ends a hold sooner. Asks no server and does not wait.
 *  For a multi-lock: each member's. Mirrors nothing in Java.
 *  @param at_least_ms  milliseconds from now; #CURATOR_WAIT_FOREVER: the maximum is lifted; no
 *                      time, or a negative one, changes nothing
 *  @return TRUE also if the hold has no maximum; FALSE with LOCK_LOST if the hold has ended,
 *          whatever ended it, FORKED */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_lease_extend (CuratorLease *lease, gint64 at_least_ms, GError **error);

/** A file descriptor for poll(), readable once the lease is LOST or RELEASED and from then on. Do
 *  not read or close it. Owned by the lease, created by the first call; -1 if the process has no
 *  descriptor left. No Java counterpart. */
CURATOR_API
int curator_lease_get_fd (CuratorLease *lease);

/** Id of the session that owns the lease. It never changes. */
CURATOR_API
gint64 curator_lease_get_session_id (const CuratorLease *lease);

/** A cancellable that is cancelled once the lease is LOST or RELEASED: give it to the calls that
 *  need the hold. It is cancelled on a thread of the library, which runs its signal handlers,
 *  whatever the callback context is. Mirrors nothing in Java, where a thread is interrupted
 *  instead.
 *  @return borrowed: valid as long as the lease */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
GCancellable *curator_lease_get_cancellable (CuratorLease *lease);

/** Adds a listener. If the lease is LOST or RELEASED already, one call with that state follows.
 *  @param destroy  frees @p user_data once no call can follow; may be NULL
 *  @return an id, never 0, for curator_lease_remove_listener() */
CURATOR_API
guint curator_lease_add_listener (CuratorLease *lease, CuratorLeaseListener listener,
                                  gpointer user_data, GDestroyNotify destroy);

/** Removes a listener. A call may still be running on another thread; no later one follows. An
 *  unknown id is ignored. */
CURATOR_API
void curator_lease_remove_listener (CuratorLease *lease, guint id);

/** Reads the payload of the node from the server. Mirrors Lease.getData.
 *  @param timeout_ms   milliseconds for the whole call, #CURATOR_WAIT_DEFAULT or
 *                      #CURATOR_WAIT_FOREVER; 0 does not wait
 *  @param cancellable  may be NULL; any thread may cancel it
 *  @return new bytes (empty if there is no payload); NULL with LOCK_LOST if the node is gone,
 *          NO_ANSWER or CONNECTION_LOST if no server answered in time, G_IO_ERROR_CANCELLED ... */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
GBytes *curator_lease_get_data (CuratorLease *lease, gint64 timeout_ms, GCancellable *cancellable,
                                GError **error);

/** Releases the hold and waits for the server to confirm. Any thread may call it. Idempotent: TRUE
 *  if the lease was RELEASED or LOST already. For a hold acquired with curator_lock_acquire(), call
 *  curator_lock_release() instead, which counts levels. For a multi-lock: releases all members in
 *  reverse, even if one fails. Mirrors Lease.close.
 *  @param timeout_ms   milliseconds for the whole call, #CURATOR_WAIT_DEFAULT or
 *                      #CURATOR_WAIT_FOREVER; 0 does not wait
 *  @param cancellable  may be NULL; any thread may cancel it. It ends the wait, not the release
 *  @return FALSE with RELEASE_PENDING if no confirmation came in time, or G_IO_ERROR_CANCELLED: the
 *          hold has ended nevertheless, and the node is deleted in the background */
CURATOR_API
gboolean curator_lease_release (CuratorLease *lease, gint64 timeout_ms, GCancellable *cancellable,
                                GError **error);

/** Like curator_lease_release(), but returns at once: the hold has ended then. No Java counterpart.
 *  @param cancellable  may be NULL; any thread may cancel it. It calls the callback, and the
 *                      release goes on
 *  @param callback  may be NULL: then timeout and cancellable mean nothing; runs once, never inside
 *                   this call. It receives NULL once the server has confirmed, or if the lease was
 *                   over already, or an error of curator_lease_release(), or CLOSED if the client
 *                   was closed first: then the end of the session frees the lock */
CURATOR_API
void curator_lease_release_then (CuratorLease *lease, gint64 timeout_ms, GCancellable *cancellable,
                                 CuratorLeaseReleaseCallback callback, gpointer user_data);

/** Adds a reference and returns @p lease. */
CURATOR_API
CuratorLease *curator_lease_ref (CuratorLease *lease);

/** Drops a reference; dropping the last one releases a hold in the background, without calling
 *  listeners. */
CURATOR_API
void curator_lease_unref (CuratorLease *lease);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorLease, curator_lease_unref)

G_END_DECLS

#endif
