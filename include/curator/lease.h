/* A lease: one hold, and all that can be asked about it.
 *
 * A hold is provable for a bounded time after the server was last heard. Check the remaining time
 * before each step that cannot be undone; and hand the fencing token to a resource that is able to
 * compare it. Between them they cover what no lock service can promise: a process that was stopped
 * cannot know that its time is over.
 *
 * Mirrors Lease of InterProcessSemaphoreV2; states, time left and token have no counterpart.
 * All functions are thread-safe.
 */
#ifndef CURATOR_LEASE_H
#define CURATOR_LEASE_H

#include <curator/types.h>
#include <curator/visibility.h>

G_BEGIN_DECLS

/** States of a hold: HELD and SUSPECT may alternate, LOST and RELEASED are final. */
typedef enum
{
  /** Held, and proved so not long ago. */
  CURATOR_LEASE_HELD,
  /** Held, but the server has not been heard for a while and the remaining time is running out:
   *  begin nothing new. */
  CURATOR_LEASE_SUSPECT,
  /** No longer held: session over, node deleted by somebody, client closed, or no proof in time.
   *  Our own clock decides, without needing the network. Stop at once. */
  CURATOR_LEASE_LOST,
  /** Given back by this process. */
  CURATOR_LEASE_RELEASED
} CuratorLeaseState;

/** Told every change of state, in order, where state listeners run, which no other callback delays;
 *  see client.h. */
typedef void (*CuratorLeaseListener) (CuratorLease *lease, CuratorLeaseState state,
                                      gpointer user_data);

/** Full path of the lock node, without namespace. Owned by the lease. Of a multi-lock: the first
 *  member's. Mirrors InterProcessMutex.getLockPath. */
CURATOR_API
const char *curator_lease_get_node_path (CuratorLease *lease);

/** Last part of the path. Owned by the lease. Mirrors Lease.getNodeName. */
CURATOR_API
const char *curator_lease_get_node_name (CuratorLease *lease);

/** A number that is larger for every later exclusive grant of the same lock, also after its path was
 *  deleted and made anew: the ZooKeeper transaction (czxid) that created the node. Holders at the
 *  same time, as of a semaphore, have different ones. A reader that was a writer before has a number
 *  of its own, which may be above that of a writer who comes after it: let readers read. Of a
 *  multi-lock: the first member's. */
CURATOR_API
guint64 curator_lease_get_fencing_token (CuratorLease *lease);

/** The state now. Of a multi-lock: the worst of its members. */
CURATOR_API
CuratorLeaseState curator_lease_get_state (CuratorLease *lease);

/** Name of a state, for example "HELD"; "UNKNOWN" for other values. Static. */
CURATOR_API
const char *curator_lease_state_to_string (CuratorLeaseState state);

/** Milliseconds for which the hold is still provable if the server is never heard again; 0 when it
 *  is no longer. Counts on while the machine sleeps. Of a multi-lock: the least of its members. Of a
 *  driver's persistent node, which no session's end takes away: G_MAXINT64 while it is held. */
CURATOR_API
gint64 curator_lease_get_remaining_ms (CuratorLease *lease);

/** A file descriptor for poll(): readable once the lease is LOST or RELEASED, and then for ever.
 *  Only poll it. Owned by the lease, made at the first call; -1 if the process has none left. */
CURATOR_API
int curator_lease_get_fd (CuratorLease *lease);

/** Id of the session in which the lease was granted. It never changes. */
CURATOR_API
gint64 curator_lease_get_session_id (CuratorLease *lease);

/** Adds a listener. If the lease is LOST or RELEASED already, it is told so once, soon.
 *  @param destroy  frees @p user_data when the listener can be called no more; may be NULL
 *  @return an id, never 0 */
CURATOR_API
guint curator_lease_add_listener (CuratorLease *lease, CuratorLeaseListener listener,
                                  gpointer user_data, GDestroyNotify destroy);

/** Removes a listener. One call may still be under way. An unknown id is ignored. */
CURATOR_API
void curator_lease_remove_listener (CuratorLease *lease, guint id);

/** Reads the payload of the node from the server. Mirrors Lease.getData.
 *  @return new bytes (empty if there is no payload); NULL with LOCK_LOST if the node is gone,
 *          CONNECTION_LOST, CLOSED ... */
CURATOR_API
GBytes *curator_lease_get_data (CuratorLease *lease, GError **error);

/** Gives the hold back and waits, up to the connection timeout, until the server confirms. Any
 *  thread may call it. Idempotent: TRUE if it was RELEASED or LOST already. For a hold taken with
 *  curator_lock_acquire() use curator_lock_release(), which counts the levels. Of a multi-lock: all
 *  members, in reverse, whatever fails. Mirrors Lease.close.
 *  @return FALSE with RELEASE_PENDING if the confirmation did not come; ownership has ended even so
 *          and the node is deleted in the background */
CURATOR_API
gboolean curator_lease_release (CuratorLease *lease, GError **error);

/** Adds a reference and returns @p lease. */
CURATOR_API
CuratorLease *curator_lease_ref (CuratorLease *lease);

/** Drops a reference; the last one releases in the background what is still held. Listeners are not
 *  told of that. */
CURATOR_API
void curator_lease_unref (CuratorLease *lease);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorLease, curator_lease_unref)

G_END_DECLS

#endif
