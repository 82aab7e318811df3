/* For programs that use ZooKeeper themselves: their handle, and their transactions.
 *
 * The only header that sees ZooKeeper's own, and so not part of curator.h: include it where it is
 * needed, and link libzookeeper_mt as the program does anyhow. Mirrors CuratorZookeeperClient's
 * ZookeeperFactory and CuratorOp in a transaction, as far as these have counterparts.
 */
#ifndef CURATOR_ZOOKEEPER_H
#define CURATOR_ZOOKEEPER_H

#include <curator/types.h>
#include <curator/visibility.h>

#include <zookeeper/zookeeper.h>

G_BEGIN_DECLS

/** Makes a client that works in the session of a handle that the program has: one session for both.
 *  The program goes on using the handle, and owns it: it closes it after curator_client_close() has
 *  returned, after curator_client_set_zhandle() has put another in its place, or after it has
 *  forwarded its expiry. The handle must be one of libzookeeper_mt.
 *
 *  The program forwards the events of the handle: curator_client_forward_event(). Credentials,
 *  session timeout, servers and chroot are the handle's; curator_client_add_auth() and
 *  curator_client_set_session_timeout() have no effect.
 *
 *  As the session outlives the client, curator_client_close() deletes what is the client's on the
 *  server node by node, and waits for the answers up to the connection timeout but not longer than
 *  5 s. If there is no connection for so long, nodes stay until the session ends. Do not close the
 *  client inside a watcher or a completion of the handle, where no answer can arrive.
 *
 *  A watch on a path where the program may have one too is removed from the library only; the
 *  server keeps it, once a path, until its event, which nobody hears.
 *  @param zh            NULL if there is none yet; it may be connected already or not
 *  @param retry_policy  as for curator_client_new()
 *  @return a new client, not started; unref it */
CURATOR_API
CuratorClient *curator_client_new_for_zhandle (zhandle_t *zh, CuratorRetryPolicy *retry_policy);

/** Tells the client what the handle's watcher (of zookeeper_init() or zoo_set_watcher()) was told.
 *  Call it in the watcher itself, with the watcher's own arguments, for every event: those that are
 *  no session events, or of another handle, are ignored, and one told twice does no harm. It does
 *  not block and runs no callbacks. */
CURATOR_API
void curator_client_forward_event (CuratorClient *client, zhandle_t *zh, int type, int state,
                                   const char *path);

/** Gives the client another handle: the one that the program made after an expiry, or NULL to take
 *  the present one away. The session of the one before, if it is not over yet, is over for the
 *  client: LOST. When the function returns the library does not touch that handle any more.
 *  @return FALSE with CLOSED, FORKED, AUTH_FAILED (no session can follow a refused one), or
 *          INVALID_ARGUMENT if the client is not one of curator_client_new_for_zhandle() */
CURATOR_API
gboolean curator_client_set_zhandle (CuratorClient *client, zhandle_t *zh, GError **error);

/** Guards a write: fills @p op with the check that the hold's node is there, to be the first
 *  operation of a zoo_multi() or zoo_amulti() of the program's. If the hold ended meanwhile, the
 *  server refuses the transaction with ZNONODE and applies none of it; this holds for a process,
 *  too, that was stopped for any time between the call and the write.
 *
 *  The handle used must show the node under the same path: an adopted client's own handle does;
 *  for a client with a connect string it is one without chroot, whose path is then complete.
 *  Of a multi-lock: the first member's node is checked.
 *  @param op  out: borrows the path from @p lease, which must stay alive until the program has
 *             called zoo_multi() or zoo_amulti()
 *  @return FALSE with LOCK_LOST if the lease is LOST or RELEASED; UNSUPPORTED if it is of a driver
 *          whose node has a name that the next holder's can have, too: then the check proves
 *          nothing; FORKED */
CURATOR_API
gboolean curator_lease_init_check_op (CuratorLease *lease, zoo_op_t *op, GError **error);

G_END_DECLS

#endif
