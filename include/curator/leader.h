/* Leader election: one leader at a time among all candidates on a path, in the order in which they
 * queued.
 *
 * A leader selector runs a function on a thread of its own while it leads, and leaves the queue
 * when that function returns. A leader latch leads from its turn until it is closed. Both share
 * their paths with Java's LeaderSelector and LeaderLatch; a path belongs to one of the two recipes.
 *
 * A leader holds a lease, see lease.h: it can tell how long its leadership is still provable, and
 * its fencing token grows with every new leader. Check the first and pass on the second before each
 * step that cannot be undone. All functions are thread-safe.
 */
#ifndef CURATOR_LEADER_H
#define CURATOR_LEADER_H

#include <curator/lease.h>
#include <curator/types.h>
#include <curator/visibility.h>

#include <gio/gio.h>

G_BEGIN_DECLS

/** A candidate in an election. Mirrors Participant. Immutable. */
typedef struct _CuratorLeaderParticipant CuratorLeaderParticipant;

/** The id that the participant was given; without one, a selector's is its client's default data.
 *  Bytes that are not UTF-8 are replaced. Owned by the participant. Mirrors Participant.getId. */
CURATOR_API
const char *curator_leader_participant_get_id (const CuratorLeaderParticipant *participant);

/** Whether the participant was the leader when the server was asked. Mirrors
 *  Participant.isLeader. */
CURATOR_API
gboolean curator_leader_participant_is_leader (const CuratorLeaderParticipant *participant);

/** Adds a reference and returns @p participant. */
CURATOR_API
CuratorLeaderParticipant *curator_leader_participant_ref (CuratorLeaderParticipant *participant);

/** Drops a reference; dropping the last one frees the participant. */
CURATOR_API
void curator_leader_participant_unref (CuratorLeaderParticipant *participant);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorLeaderParticipant, curator_leader_participant_unref)

/** Leads until it returns, or ends its thread. Runs on a thread of its own, never twice at a time
 *  for one selector. Mirrors LeaderSelectorListener.takeLeadership.
 *  @param lease        the leadership; borrowed, released after the return
 *  @param cancellable  borrowed. Cancelled when the lease is SUSPECT (but see
 *                      curator_leader_selector_set_until_lost()), LOST or RELEASED, by
 *                      curator_leader_selector_interrupt_leadership(), and when the selector or the
 *                      client is closed. Return soon after. It replaces Java's thread
 *                      interruption. */
typedef void (*CuratorTakeLeadershipFunc) (CuratorLeaderSelector *selector, CuratorLease *lease,
                                           GCancellable *cancellable, gpointer user_data);

/** Creates a selector. Sends no request. Mirrors LeaderSelector(CuratorFramework, String,
 *  LeaderSelectorListener).
 *  @param path     absolute; its parents are created as needed, of container nodes
 *  @param destroy  frees @p user_data once no call of @p take_leadership can follow; may be NULL
 *  @return a new selector; NULL with INVALID_ARGUMENT */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorLeaderSelector *curator_leader_selector_new (CuratorClient *client, const char *path,
                                                    CuratorTakeLeadershipFunc take_leadership,
                                                    gpointer user_data, GDestroyNotify destroy,
                                                    GError **error);

/** Sets the id, which other participants see; copied. Default "": the client's default data. Call
 *  it before start. Mirrors LeaderSelector.setId. */
CURATOR_API
void curator_leader_selector_set_id (CuratorLeaderSelector *selector, const char *id);

/** The id; "" if none was set. Owned by the selector. Mirrors LeaderSelector.getId. */
CURATOR_API
const char *curator_leader_selector_get_id (const CuratorLeaderSelector *selector);

/** The path that the constructor was given. Owned by the selector. No Java counterpart. */
CURATOR_API
const char *curator_leader_selector_get_path (const CuratorLeaderSelector *selector);

/** The client that the constructor was given. Borrowed: valid as long as the selector. No Java
 *  counterpart. */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorClient *curator_leader_selector_get_client (const CuratorLeaderSelector *selector);

/** Sets whether the selector queues again after each leadership and after each failure, instead of
 *  staying out until curator_leader_selector_requeue(). While its function returns within 100 ms,
 *  it waits ever longer before that, up to 1 s. Default FALSE. Mirrors
 *  LeaderSelector.autoRequeue. */
CURATOR_API
void curator_leader_selector_set_auto_requeue (CuratorLeaderSelector *selector,
                                               gboolean auto_requeue);

/** Sets whether a leader's cancellable is cancelled only when its lease ends, and not as soon as
 *  the lease is SUSPECT. Default FALSE, which mirrors LeaderSelectorListenerAdapter with the
 *  standard error policy; TRUE mirrors it with SessionConnectionStateErrorPolicy. Takes effect for
 *  the next change of the lease. */
CURATOR_API
void curator_leader_selector_set_until_lost (CuratorLeaderSelector *selector, gboolean until_lost);

/** Queues for leadership, in the background. A selector can be started once. Mirrors
 *  LeaderSelector.start.
 *  @return FALSE with ALREADY_STARTED, LIMIT_EXCEEDED (an id of more than 4096 bytes), NOT_STARTED
 *          (the client), or CLOSED (the client or the selector) */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_leader_selector_start (CuratorLeaderSelector *selector, GError **error);

/** Queues again if the selector is neither queued nor leading. Without auto-requeue it leaves the
 *  queue after each leadership, and when the retry policy is used up. Mirrors
 *  LeaderSelector.requeue.
 *  @return TRUE if it was queued by this call; FALSE if it was queued or leading already, was not
 *          started, or is closed */
CURATOR_API
gboolean curator_leader_selector_requeue (CuratorLeaderSelector *selector);

/** Cancels the cancellable of the current leadership, if there is one. Runs its handlers on the
 *  calling thread. Mirrors LeaderSelector.interruptLeadership. */
CURATOR_API
void curator_leader_selector_interrupt_leadership (CuratorLeaderSelector *selector);

/** Whether the selector leads now: its function has not returned, and its lease is provable by the
 *  local clock. Sends no request. Mirrors LeaderSelector.hasLeadership. */
CURATOR_API
gboolean curator_leader_selector_has_leadership (CuratorLeaderSelector *selector);

/** Waits until the selector leads: its function has been called, or is about to be. No Java
 *  counterpart; mirrors LeaderLatch.await() and await(long, TimeUnit).
 *  @param timeout_ms   milliseconds for the whole call, #CURATOR_WAIT_DEFAULT or
 *                      #CURATOR_WAIT_FOREVER; 0 does not wait
 *  @param cancellable  may be NULL; any thread may cancel it
 *  @return FALSE with TIMED_OUT (another participant is ahead), why the selector could not queue
 *          (ZNOAUTH for example), NO_ANSWER, also while it is out of the queue, CONNECTION_LOST,
 *          NOT_STARTED, CLOSED (the selector, also meanwhile, or the client) or
 *          G_IO_ERROR_CANCELLED */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_leader_selector_await (CuratorLeaderSelector *selector, gint64 timeout_ms,
                                        GCancellable *cancellable, GError **error);

/** The lease of the leadership, as its function has it, for other threads. No Java counterpart.
 *  @return a new reference; NULL if the selector does not lead */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorLease *curator_leader_selector_dup_lease (CuratorLeaderSelector *selector);

/** Reads the candidates' ids from the server, the leader first.
 *  Mirrors LeaderSelector.getParticipants.
 *  @param timeout_ms   milliseconds for the whole call, #CURATOR_WAIT_DEFAULT or
 *                      #CURATOR_WAIT_FOREVER; 0 does not wait
 *  @param cancellable  may be NULL; any thread may cancel it
 *  @return a new array of CuratorLeaderParticipant, which frees its elements; empty if there is
 *          none; NULL with an error */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
GPtrArray *curator_leader_selector_get_participants (CuratorLeaderSelector *selector,
                                                     gint64 timeout_ms, GCancellable *cancellable,
                                                     GError **error);

/** Reads the leader's id from the server. Mirrors
 *  LeaderSelector.getLeader.
 *  @param timeout_ms   milliseconds for the whole call, #CURATOR_WAIT_DEFAULT or
 *                      #CURATOR_WAIT_FOREVER; 0 does not wait
 *  @param cancellable  may be NULL; any thread may cancel it
 *  @return a new participant; NULL without an error if there is no candidate; NULL with an error */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorLeaderParticipant *curator_leader_selector_get_leader (CuratorLeaderSelector *selector,
                                                              gint64 timeout_ms,
                                                              GCancellable *cancellable,
                                                              GError **error);

/** Leaves the queue, or cancels the current leadership, which ends when the function returns. Final
 *  and idempotent. Does not wait, so the function may call it. Mirrors LeaderSelector.close. */
CURATOR_API
void curator_leader_selector_close (CuratorLeaderSelector *selector);

/** Adds a reference and returns @p selector. */
CURATOR_API
CuratorLeaderSelector *curator_leader_selector_ref (CuratorLeaderSelector *selector);

/** Drops a reference; dropping the last one closes the selector. It is freed after its function has
 *  returned. */
CURATOR_API
void curator_leader_selector_unref (CuratorLeaderSelector *selector);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorLeaderSelector, curator_leader_selector_unref)

/** Which listeners hear that a closed latch leads no more. Mirrors LeaderLatch.CloseMode. */
typedef enum
{
  /** None, nor of any change that they have not heard yet. */
  CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT,
  /** Those of a latch that leads. */
  CURATOR_LEADER_LATCH_CLOSE_MODE_NOTIFY_LEADER
} CuratorLeaderLatchCloseMode;

/** Called for every change of leadership, in order. Runs as a state listener, which only other
 *  state listeners can delay; see client.h. When it hears of the end because the latch is closed,
 *  the next candidate leads after it has returned, see curator_leader_latch_close(). When the lease
 *  has ended otherwise, the next one may lead already: only curator_leader_latch_has_leadership()
 *  is always in time. Mirrors LeaderLatchListener. */
typedef void (*CuratorLeaderLatchListener) (CuratorLeaderLatch *latch, gboolean is_leader,
                                            gpointer user_data);

/** Creates a latch. Sends no request. Mirrors LeaderLatch(CuratorFramework, String, String).
 *  @param path  absolute; its parents are created as needed, of container nodes
 *  @param id    what other participants see; copied; NULL for ""
 *  @return a new latch; NULL with INVALID_ARGUMENT or LIMIT_EXCEEDED (an id of more than 4096
 *          bytes) */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorLeaderLatch *curator_leader_latch_new (CuratorClient *client, const char *path,
                                              const char *id, GError **error);

/** The id; "" if there is none. Owned by the latch. Mirrors LeaderLatch.getId. */
CURATOR_API
const char *curator_leader_latch_get_id (const CuratorLeaderLatch *latch);

/** The path that the constructor was given. Owned by the latch. No Java counterpart. */
CURATOR_API
const char *curator_leader_latch_get_path (const CuratorLeaderLatch *latch);

/** The client that the constructor was given. Borrowed: valid as long as the latch. No Java
 *  counterpart. */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorClient *curator_leader_latch_get_client (const CuratorLeaderLatch *latch);

/** Sets whether the latch leads until its lease ends, and not only until the lease is SUSPECT.
 *  Default FALSE, as with Curator's standard error policy; TRUE mirrors
 *  SessionConnectionStateErrorPolicy. Call it before start. */
CURATOR_API
void curator_leader_latch_set_until_lost (CuratorLeaderLatch *latch, gboolean until_lost);

/** Queues for leadership, in the background. A latch that loses its node queues again, until it is
 *  closed. It can be started once. Mirrors LeaderLatch.start.
 *  @return FALSE with ALREADY_STARTED, NOT_STARTED (the client), or CLOSED (the client or the
 *          latch) */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_leader_latch_start (CuratorLeaderLatch *latch, GError **error);

/** Waits until the latch leads. Mirrors LeaderLatch.await() and await(long, TimeUnit).
 *  @param timeout_ms   milliseconds for the whole call, #CURATOR_WAIT_DEFAULT or
 *                      #CURATOR_WAIT_FOREVER; 0 does not wait
 *  @param cancellable  may be NULL
 *  @return FALSE with TIMED_OUT (another participant is ahead), why the latch could not queue
 *          (ZNOAUTH for example), NO_ANSWER, CONNECTION_LOST, NOT_STARTED, CLOSED (the latch, also
 *          meanwhile, or the client) or G_IO_ERROR_CANCELLED */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_leader_latch_await (CuratorLeaderLatch *latch, gint64 timeout_ms,
                                     GCancellable *cancellable, GError **error);

/** Whether the latch leads now: its lease is HELD by the local clock, or SUSPECT if it leads until
 *  lost. Sends no request. Mirrors LeaderLatch.hasLeadership. */
CURATOR_API
gboolean curator_leader_latch_has_leadership (CuratorLeaderLatch *latch);

/** The lease of the leadership: its deadline, fencing token and node. Releasing it makes the latch
 *  queue again. No Java counterpart; replaces getOurPath and getLastPathIsLeader.
 *  @return a new reference; NULL if the latch does not lead */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorLease *curator_leader_latch_dup_lease (CuratorLeaderLatch *latch);

/** Reads the candidates' ids from the server, the leader first.
 *  Mirrors LeaderLatch.getParticipants.
 *  @param timeout_ms   milliseconds for the whole call, #CURATOR_WAIT_DEFAULT or
 *                      #CURATOR_WAIT_FOREVER; 0 does not wait
 *  @param cancellable  may be NULL; any thread may cancel it
 *  @return a new array of CuratorLeaderParticipant, which frees its elements; empty if there is
 *          none; NULL with an error */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
GPtrArray *curator_leader_latch_get_participants (CuratorLeaderLatch *latch, gint64 timeout_ms,
                                                  GCancellable *cancellable, GError **error);

/** Reads the leader's id from the server. Mirrors
 *  LeaderLatch.getLeader.
 *  @param timeout_ms   milliseconds for the whole call, #CURATOR_WAIT_DEFAULT or
 *                      #CURATOR_WAIT_FOREVER; 0 does not wait
 *  @param cancellable  may be NULL; any thread may cancel it
 *  @return a new participant; NULL without an error if there is no candidate; NULL with an error */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorLeaderParticipant *curator_leader_latch_get_leader (CuratorLeaderLatch *latch,
                                                           gint64 timeout_ms,
                                                           GCancellable *cancellable,
                                                           GError **error);

/** Adds a listener. If the latch leads already, one call with TRUE follows; if not, the first call
 *  is that of the next leadership. Mirrors LeaderLatch.addListener, whose listeners hear changes
 *  only.
 *  @param destroy  frees @p user_data once no call can follow; may be NULL
 *  @return an id, never 0, for curator_leader_latch_remove_listener() */
CURATOR_API
guint curator_leader_latch_add_listener (CuratorLeaderLatch *latch,
                                         CuratorLeaderLatchListener listener, gpointer user_data,
                                         GDestroyNotify destroy);

/** Removes a listener. A call may still be running on another thread; no later one follows. An
 *  unknown id is ignored. Mirrors LeaderLatch.removeListener. */
CURATOR_API
void curator_leader_latch_remove_listener (CuratorLeaderLatch *latch, guint id);

/** Gives up leadership at once, and leaves the queue in the background: silently at once, else
 *  after every listener that hears of it has returned, or after the connection timeout if one does
 *  not return. The lease is held until then, so the next candidate leads later. Closing the client
 *  waits for no listener. Does not wait itself, so a listener may call it. Drops all listeners and
 *  ends every wait with CLOSED. Final and idempotent. Mirrors LeaderLatch.close(CloseMode), where
 *  the next candidate may lead before the listeners hear of the end. */
CURATOR_API
void curator_leader_latch_close (CuratorLeaderLatch *latch, CuratorLeaderLatchCloseMode mode);

/** Adds a reference and returns @p latch. */
CURATOR_API
CuratorLeaderLatch *curator_leader_latch_ref (CuratorLeaderLatch *latch);

/** Drops a reference; dropping the last one closes the latch silently. */
CURATOR_API
void curator_leader_latch_unref (CuratorLeaderLatch *latch);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorLeaderLatch, curator_leader_latch_unref)

G_END_DECLS

#endif
