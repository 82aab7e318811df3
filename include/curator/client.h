/* The client: one connection, one session at a time, and the threads that serve it.
 *
 * Mirrors CuratorFramework and CuratorFrameworkFactory.Builder. Life cycle: new, set-up, start,
 * use, close. Every function may be called on any thread at any time.
 *
 * A setter at the wrong moment, as a set-up function after start, logs a critical message and
 * changes nothing. A value that is wrong in itself is a GError: of the set-up function if it has
 * one, else of curator_client_start().
 *
 * Callbacks run on two threads of the client, or in the GMainContext that was set; never, as those
 * of GIO do, in the thread-default context of the caller. The first thread runs state listeners, of
 * the connection and of leases, one at a time. The second runs all other callbacks (results of
 * _then calls, revocation, shared counts, trace), one at a time. A callback that blocks delays
 * only the callbacks of its own thread. It never delays the detection of a loss. No callback runs
 * inside the call that requested it, and none while the library holds a lock: a callback may call
 * any function and drop the last reference. A GDestroyNotify runs where a callback may run, or
 * inside a call of the program's.
 *
 * After fork() the child must not use its parent's client: calls fail with FORKED, _then calls
 * report it to their callback at once, getters return FALSE, 0 or NULL, every hold is LOST, and
 * unref is allowed. The child sends nothing and waits for nothing. exec() is safe.
 */
#ifndef CURATOR_CLIENT_H
#define CURATOR_CLIENT_H

#include <curator/types.h>
#include <curator/visibility.h>

#include <gio/gio.h>

G_BEGIN_DECLS

/** State of the connection to the ensemble. Mirrors ConnectionState. */
typedef enum
{
  /** Connected for the first time. */
  CURATOR_CONNECTION_STATE_CONNECTED,
  /** The connection is lost; the session and its holds may survive. Also the state before the first
   *  connection. */
  CURATOR_CONNECTION_STATE_SUSPENDED,
  /** Connected again, or confirmed again by a quorum. Unless LOST came in between, the session and
   *  its holds are the same. */
  CURATOR_CONNECTION_STATE_RECONNECTED,
  /** All holds are lost: the session ended, or no quorum confirmed it before the deadline of its
   *  holds. In the second case the session may go on; its holds stay lost. */
  CURATOR_CONNECTION_STATE_LOST,
  /** Connected to a server without a quorum. This version never enters it: it does not request
   *  read-only connections, over which no lock can be acquired. */
  CURATOR_CONNECTION_STATE_READ_ONLY
} CuratorConnectionState;

/** Called for every change of the connection state, in order, without repeats. Runs as a state
 *  listener; see the top of client.h. Mirrors ConnectionStateListener.stateChanged. */
typedef void (*CuratorStateListener) (CuratorClient *client, CuratorConnectionState state,
                                      gpointer user_data);

/** Creates a client that is not yet started. Mirrors CuratorFrameworkFactory.newClient.
 *  @param connect_string  "host:port,host:port/chroot"; the default port is 2181; write IPv6
 *                         as [address]:port. curator_client_start() reports an invalid string.
 *                         The chroot must exist: otherwise acquires fail with ZNONODE.
 *                         "tls://host:port" before every server connects with TLS; see tls.h.
 *                         The default port is 2281 then. Start refuses ssl://host with UNSUPPORTED
 *  @param retry_policy    the client takes its own reference; NULL for exponential backoff from
 *                         1000 ms with 3 retries
 *  @return a new client; unref it */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorClient *curator_client_new (const char *connect_string, CuratorRetryPolicy *retry_policy);

/** Sets the session timeout to request, in milliseconds; default 60000. The server may grant
 *  another: curator_client_get_session_timeout_ms(). Start refuses less than 10, because
 *  libzookeeper gives a connection a third of it to open, and 2^30 and more, which is 12 days and
 *  more than libzookeeper can connect with. Mirrors Builder.sessionTimeoutMs. */
CURATOR_API
void curator_client_set_session_timeout (CuratorClient *client, gint64 timeout_ms);

/** Sets how long one request may wait for a connection, in milliseconds; default 15000. It is
 *  also how long a call waits with #CURATOR_WAIT_DEFAULT. Mirrors Builder.connectionTimeoutMs. */
CURATOR_API
void curator_client_set_connection_timeout (CuratorClient *client, gint64 timeout_ms);

/** Sets the length of the servers' tick (tickTime), in milliseconds. A follower reports live
 *  sessions to its leader every half tick, so the client considers a hold lost that much sooner.
 *  Default: 2000, the value in ZooKeeper's sample configuration, or half the session timeout if
 *  that is less, because servers grant at least two ticks unless configured otherwise. A value
 *  above the servers' only shortens holds; a value below it is unsafe. A session timeout too short
 *  for the tick logs a warning when the session begins. No Java counterpart. */
CURATOR_API
void curator_client_set_server_tick (CuratorClient *client, gint64 tick_ms);

/** Sets the time between heartbeats, which confirm holds with the servers, in milliseconds; default
 *  a sixth of the session timeout. When no server answers, a hold ends that much sooner. The
 *  deletion of a hold's node is noticed within that time. More than a quarter of the session
 *  timeout counts as a quarter; less than 100 ms becomes 100 ms, with a warning. A session that
 *  holds nothing and waits sends fewer. No Java counterpart. */
CURATOR_API
void curator_client_set_heartbeat_interval (CuratorClient *client, gint64 interval_ms);

/** Puts every path of this client below "/namespace_" on the server. Paths given to and returned by
 *  the library do not contain it. NULL or "" for none. Mirrors Builder.namespace.
 *  @return FALSE with INVALID_ARGUMENT if it is not a valid part of a path */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_client_set_namespace (CuratorClient *client, const char *namespace_,
                                       GError **error);

/** The namespace, as curator_client_set_namespace() got it. Owned by the client, until it is set
 *  again. Mirrors CuratorFramework.getNamespace.
 *  @return NULL if there is none */
CURATOR_API
const char *curator_client_get_namespace (const CuratorClient *client);

/** Adds credentials, which the client presents in every session; may be called several times. The
 *  bytes are copied, never logged, and wiped when the client is freed. Mirrors
 *  Builder.authorization.
 *  @param scheme  for example "digest". "sasl" and "x509" are properties of a connection: see
 *                 tls.h; curator_client_start() refuses them here with UNSUPPORTED
 *  @param auth    for "digest": user:password
 *  @param length  bytes at @p auth */
CURATOR_API
void curator_client_add_auth (CuratorClient *client, const char *scheme, const void *auth,
                              gsize length);

/** What an entry of an ACL permits, as flags. Mirrors ZooDefs.Perms. */
typedef enum
{
  CURATOR_PERMISSIONS_READ = 1,   /**< to read a node and to list its children */
  CURATOR_PERMISSIONS_WRITE = 2,  /**< to write its payload */
  CURATOR_PERMISSIONS_CREATE = 4, /**< to create children */
  CURATOR_PERMISSIONS_DELETE = 8, /**< to delete children */
  CURATOR_PERMISSIONS_ADMIN = 16, /**< to set its ACL */
  CURATOR_PERMISSIONS_ALL = 31    /**< all of these */
} CuratorPermissions;

/** Adds an entry to the ACL of every lock node and parent that this client creates; may be called
 *  several times, before start. Without an entry the ACL is world:anyone with all permissions. All
 *  participants of a lock need READ, CREATE and DELETE on its path, and READ on each other's nodes.
 *  curator_client_set_acl(), in zookeeper.h, takes a whole ACL of ZooKeeper's. Mirrors
 *  Builder.aclProvider with one list for all paths.
 *  @param scheme       for example "world", "auth", "digest" or "x509"; copied
 *  @param id           whom the entry is for: "anyone", "" for the scheme auth, or what the scheme
 *                      says; copied
 *  @param permissions  flags of #CuratorPermissions, at least one */
CURATOR_API
void curator_client_add_acl (CuratorClient *client, const char *scheme, const char *id,
                             guint permissions);

/** Sets the payload of lock nodes that have none of their own; copied. Default: this host's address
 *  as text, as in Curator, or its name if that has no address. NULL or length 0 for no payload.
 *  curator_client_start() refuses more than 4096 bytes with LIMIT_EXCEEDED. Mirrors
 *  Builder.defaultData. */
CURATOR_API
void curator_client_set_default_data (CuratorClient *client, const void *data, gsize length);

/** Whether the client compresses what it writes with gzip: payloads of lock nodes, requests to
 *  release, shared counts. FALSE, the default, writes them as they are. Switch it on if Java
 *  clients of the same paths call enableCompression(): they cannot read a payload that is not
 *  compressed, and fail to acquire behind such a node. With compression, what is read is
 *  decompressed, and a payload that is not a gzip stream of at most 4096 bytes of contents is
 *  returned as it is. Requests to release and shared counts are understood in both forms, with and
 *  without compression.
 *
 *  Mirrors Builder.enableCompression (Curator 5.8.0 and later) with GzipCompressionProvider. */
CURATOR_API
void curator_client_set_compression (CuratorClient *client, gboolean compression);

/** Whether the client follows the configuration of the ensemble: it reads and watches
 *  /zookeeper/config, and connects to the servers that are named there, as with
 *  curator_client_update_servers(). FALSE, the default, keeps to the connect string. The addresses
 *  for clients in that node must be reachable from here; 0.0.0.0 stands for the host of the server.
 *  What cannot be read is ignored with a warning. With TLS a server has the port for TLS that its
 *  line names, or else the one that all servers of the client's list share. Reading the node needs
 *  READ on it, which everybody has unless it was changed. start refuses this with UNSUPPORTED for a
 *  client on a handle of the program's. Mirrors Builder.ensembleTracker, which is TRUE by default,
 *  and EnsembleTracker. */
CURATOR_API
void curator_client_set_follow_configuration (CuratorClient *client, gboolean follow);

/** Runs callbacks in @p context, which the program must iterate; NULL, the default, runs them on
 *  threads of the client. Other work in the context delays the callbacks. The client takes its own
 *  reference. Mirrors passing an Executor to Curator's listeners. */
CURATOR_API
void curator_client_set_callback_context (CuratorClient *client, GMainContext *context);

/** Starts the client and returns at once; it connects in the background. A client can be started
 *  only once. Mirrors CuratorFramework.start.
 *  @return FALSE with INVALID_ARGUMENT (connect string, timeouts), ALREADY_STARTED, CLOSED,
 *          UNSUPPORTED, LIMIT_EXCEEDED or RESOURCES */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_client_start (CuratorClient *client, GError **error);

/** Gives a running client other servers of the same ensemble. Its session, holds and waiting calls
 *  go on. If the client is connected to a server that is not among them, it leaves that one as soon
 *  as the new names are resolved, and connects to another; holds are SUSPECT meanwhile. Returns at
 *  once; may be called from any thread and callback. The servers of another ensemble do not know
 *  the session, which ends there. Mirrors ZooKeeper.updateServerList.
 *  @param connect_string  as for curator_client_new(). Without a chroot the client keeps its own;
 *                         another one is refused, and so is "tls://" if the client was started
 *                         without TLS
 *  @return FALSE, and nothing has changed, with INVALID_ARGUMENT, NOT_STARTED, CLOSED, FORKED, or
 *          UNSUPPORTED if the client uses a handle of the program's: call zoo_set_servers() on
 *          that */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_client_update_servers (CuratorClient *client, const char *connect_string,
                                        GError **error);

/** Waits for a connection. Mirrors CuratorFramework.blockUntilConnected.
 *  @param timeout_ms  milliseconds for the whole call, #CURATOR_WAIT_DEFAULT or
 *                     #CURATOR_WAIT_FOREVER; 0 does not wait
 *  @param cancellable  may be NULL
 *  @return FALSE with CONNECTION_LOST (the message has the cause; Java returns false), CLOSED,
 *          NOT_STARTED, AUTH_FAILED or G_IO_ERROR_CANCELLED */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_client_block_until_connected (CuratorClient *client, gint64 timeout_ms,
                                               GCancellable *cancellable, GError **error);

/** Receives the result of curator_client_block_until_connected_then(), once. Runs as a callback;
 *  see the top of client.h.
 *  @param error  NULL while there is a connection; borrowed */
typedef void (*CuratorClientConnectedCallback) (CuratorClient *client, const GError *error,
                                                gpointer user_data);

/** Like curator_client_block_until_connected(), but returns at once. The callback runs exactly
 *  once, never inside this call, also when the client is closed. No Java counterpart. */
CURATOR_API
void curator_client_block_until_connected_then (CuratorClient *client, gint64 timeout_ms,
                                                GCancellable *cancellable,
                                                CuratorClientConnectedCallback callback,
                                                gpointer user_data);

/** The current state; SUSPENDED before the first connection, LOST after close. Mirrors
 *  CuratorZookeeperClient.isConnected and ConnectionStateManager.getCurrentConnectionState. */
CURATOR_API
CuratorConnectionState curator_client_get_connection_state (CuratorClient *client);

/** Name of a state as in Java, for example "CONNECTED"; "UNKNOWN" for other values. Static. */
CURATOR_API
const char *curator_connection_state_to_string (CuratorConnectionState state);

/** Id of the current session, which the server's logs and "cons" print in hexadecimal; 0 while
 *  there is none. Mirrors ZooKeeper.getSessionId. */
CURATOR_API
gint64 curator_client_get_session_id (CuratorClient *client);

/** The server to which the client is connected, as "host:port": the host as the connect string, or
 *  the configuration of the ensemble, names it, and the address where neither does, as on a handle
 *  of the program's. Sends no request. Mirrors CuratorZookeeperClient.getCurrentConnectionString
 *  in part, which lists all servers.
 *  @return a new string; free it with g_free(). NULL without a connection, and if the system does
 *          not tell the address */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
char *curator_client_dup_server (CuratorClient *client);

/** Session timeout that the server granted, in milliseconds; 0 before the first connection. Mirrors
 *  ZooKeeper.getSessionTimeout. */
CURATOR_API
gint64 curator_client_get_session_timeout_ms (CuratorClient *client);

/** Formats the statistics of the client as OpenMetrics text, for Prometheus. The text has the
 *  counters of stats.h, histograms of waiting times, lengths of holds and round trips, and the
 *  present numbers of holds and waiters and the time left to the holds. All figures are of one
 *  moment. Serve it with the content type "application/openmetrics-text; version=1.0.0;
 *  charset=utf-8". The names begin with "curator_"; later versions only append metrics. May be
 *  called before start and after close, and waits for nothing. The nearest Java counterpart is
 *  TracerDriver.
 *  @return the text; free it with g_free(). NULL after fork() */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
char *curator_client_format_metrics (CuratorClient *client);

/** Adds a listener, before or after start. Mirrors ConnectionStateListenable.addListener.
 *  @param destroy  frees @p user_data once no call can follow; may be NULL
 *  @return an id, never 0, for curator_client_remove_state_listener() */
CURATOR_API
guint curator_client_add_state_listener (CuratorClient *client, CuratorStateListener listener,
                                         gpointer user_data, GDestroyNotify destroy);

/** Removes a listener. A call may still be running on another thread; no later one follows. An
 *  unknown id is ignored. Mirrors ConnectionStateListenable.removeListener. */
CURATOR_API
void curator_client_remove_state_listener (CuratorClient *client, guint id);

/** Called when there is no connection, once for each cause: a refused connection, a host name that
 *  cannot be resolved, a server that does not answer. Called as well when a candidate for
 *  leadership cannot queue, once for each cause in a row, since no call returns that.
 *  @param error  as from curator_client_dup_connection_error(), or why the candidate is out of the
 *                queue: ZNOAUTH of #CURATOR_ZK_ERROR for example; borrowed */
typedef void (*CuratorConnectionErrorListener) (CuratorClient *client, const GError *error,
                                                gpointer user_data);

/** Why there is no connection: the servers that were tried and the last failure of each. Sends no
 *  request. Mirrors nothing in Java, where the log has the cause.
 *  @return a new error of #CURATOR_CONNECT_ERROR, or AUTH_FAILED, NOT_STARTED, CLOSED or FORKED;
 *          NULL while there is a connection */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
GError *curator_client_dup_connection_error (CuratorClient *client);

/** Adds a listener for errors that no call returns, before or after start. It runs where
 *  callbacks run: see curator_client_set_callback_context(). Mirrors
 *  UnhandledErrorListener.unhandledError in part.
 *  @param destroy  frees @p user_data once no call can follow; may be NULL
 *  @return an id, never 0, for curator_client_remove_connection_error_listener() */
CURATOR_API
guint curator_client_add_connection_error_listener (CuratorClient *client,
                                                    CuratorConnectionErrorListener listener,
                                                    gpointer user_data, GDestroyNotify destroy);

/** Removes a listener. A call may still be running on another thread; no later one follows. An
 *  unknown id is ignored. */
CURATOR_API
void curator_client_remove_connection_error_listener (CuratorClient *client, guint id);

/** Closes the client: waiting calls fail with CLOSED, leases become LOST, and the session is
 *  closed, so that the server frees all its holds. Idempotent. Returns once the
 *  session is closed and no callback runs any more: within 6 s while the callbacks return, and
 *  after 10 s at most, with a warning in the log; then a callback may still be running. A callback
 *  may close clients: that waits for no other callback, and for its own client only if that is on a
 *  handle of the program's, which is free afterwards. Mirrors CuratorFramework.close. */
CURATOR_API
void curator_client_close (CuratorClient *client);

/** Called when curator_client_close_then() has closed the client, once. Runs as a callback; see the
 *  top of client.h. */
typedef void (*CuratorClientCloseCallback) (CuratorClient *client, gpointer user_data);

/** Like curator_client_close(), but returns at once: waiting calls have failed and leases are LOST
 *  then. The callback runs when curator_client_close() would return to a thread of the program's,
 *  and within the same bounds; never inside this call, and exactly once, also if the client was
 *  closed before. With a callback context it runs there, although the client is closed; so the
 *  context has to be iterated. No Java counterpart. */
CURATOR_API
void curator_client_close_then (CuratorClient *client, CuratorClientCloseCallback callback,
                                gpointer user_data);

/** Adds a reference and returns @p client. */
CURATOR_API
CuratorClient *curator_client_ref (CuratorClient *client);

/** Drops a reference; dropping the last one closes and frees the client. Locks and leases hold a
 *  reference to their client. */
CURATOR_API
void curator_client_unref (CuratorClient *client);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorClient, curator_client_unref)

G_END_DECLS

#endif
