/* For programs that use ZooKeeper directly: clients on their handle, and guarded transactions.
 *
 * The only header that includes ZooKeeper's headers (on Debian those of libzookeeper-mt-dev), and so
 * not part of curator.h. curator.pc names neither them nor their library: link -lzookeeper_mt, as
 * such a program does already. The nearest Java counterparts are ZookeeperFactory and CuratorOp.
 */
#ifndef CURATOR_ZOOKEEPER_H
#define CURATOR_ZOOKEEPER_H

#include <curator/types.h>
#include <curator/visibility.h>

#include <zookeeper/zookeeper.h>

G_BEGIN_DECLS

/** Creates a client that shares the program's handle and its session. The program keeps using the
 *  handle and owns it. It may close the handle only after curator_client_close() has returned
 *  (which may be called in a callback of the client), after curator_client_set_zhandle() has
 *  replaced it, or after it has forwarded the handle's expiry. The handle must be one of
 *  libzookeeper_mt.
 *
 *  Close an expired or refused handle in its own watcher, or after curator_client_close(), which
 *  waits until libzookeeper's thread rests. Elsewhere zookeeper_close() may use freed memory if
 *  that thread has just called the program (ZOOKEEPER-3868).
 *
 *  The program must forward the handle's events: curator_client_forward_event(). Credentials,
 *  session timeout, servers and chroot are the handle's; curator_client_add_auth() and
 *  curator_client_set_session_timeout() have no effect.
 *
 *  The session outlives the client, so curator_client_close() deletes the client's nodes one by one
 *  and waits for the answers, up to the connection timeout and at most 5 s. Without a connection in
 *  that time, nodes stay until the session ends. Do not close the client inside a watcher or a
 *  completion of the handle: no answer can arrive there.
 *
 *  The first grant of a session takes about 1.5 s longer than with a client of its own. A grant
 *  needs proof of when the leader last heard of the session; a client of its own takes the connect
 *  for it, which happened out of this client's sight here.
 *
 *  The client removes a watch that it no longer needs from the library only if the program may have
 *  a watch on the same path. The server then keeps one watch for the path until its next event,
 *  which is dropped.
 *  @param zh            NULL if there is none yet; may be connected or not
 *  @param retry_policy  as for curator_client_new()
 *  @return a new client, not started; unref it */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorClient *curator_client_new_for_zhandle (zhandle_t *zh, CuratorRetryPolicy *retry_policy);

/** Forwards an event of the handle to the client. Call it in the handle's watcher (of
 *  zookeeper_init() or zoo_set_watcher()) for every event, with the watcher's arguments. It ignores
 *  events that are not session events or come from another handle; forwarding one twice is
 *  harmless. It does not block and runs no callbacks. */
CURATOR_API
void curator_client_forward_event (CuratorClient *client, zhandle_t *zh, int type, int state,
                                   const char *path);

/** Replaces the client's handle: by the one that the program created after an expiry, or by NULL. A
 *  session of the old handle that has not ended becomes LOST for the client. When the function
 *  returns, the library no longer uses the old handle.
 *  @return FALSE with CLOSED, FORKED, AUTH_FAILED (after a refused authentication no session can
 *          follow), or INVALID_ARGUMENT if the client is not from
 *          curator_client_new_for_zhandle() */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_client_set_zhandle (CuratorClient *client, zhandle_t *zh, GError **error);

/** Sets the ACL of every lock node and parent that this client creates, in place of the entries
 *  that curator_client_add_acl() has added; copied. NULL, the default, is world:anyone with all
 *  permissions. Every entry needs a scheme and an id. Before start. Mirrors Builder.aclProvider
 *  with one list for all paths. */
CURATOR_API
void curator_client_set_acl (CuratorClient *client, const struct ACL_vector *acl);

/** Guards a write: fills @p op with a check that the hold's node exists. Make it the first
 *  operation of a zoo_multi() or zoo_amulti(). If the hold has ended, the server refuses the
 *  transaction with ZNONODE and applies none of it, even if the process was stopped between this
 *  call and the write.
 *
 *  The handle of the transaction must see the node under the lease's path: an adopted client's
 *  handle does. For a client with a connect string, use a handle without chroot. For a multi-lock,
 *  the first member's node is checked.
 *  @param op  out: borrows the path from @p lease, which must stay alive until the program has
 *             called zoo_multi() or zoo_amulti()
 *  @return FALSE with LOCK_LOST if the lease is LOST or RELEASED; FORKED; UNSUPPORTED for a driver
 *          that may name the next holder's node the same, because the check would prove nothing */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_lease_init_check_op (CuratorLease *lease, zoo_op_t *op, GError **error);

G_END_DECLS

#endif
