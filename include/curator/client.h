/* The client: one connection, one session at a time, and the threads that serve it.
 *
 * Mirrors CuratorFramework and CuratorFrameworkFactory.Builder. Life: new, set-up, start, use,
 * close. Every function may be called on any thread at any time, but set-up belongs before start:
 * a set-up function called later logs a critical warning and changes nothing.
 *
 * Callbacks run on threads of the client's own, or in the GMainContext that was set. Of those threads
 * one runs the listeners of the connection's and of leases' states, one at a time, and one all other
 * callbacks (results of _async calls, revocation, shared counts, trace), one at a time: a callback
 * that blocks delays only others of its kind, neither the detection of a loss nor, unless it is such
 * a listener itself, the news of it. None runs inside the call that asked for it, and none under a
 * lock of the library: a callback may call anything, even drop the last reference.
 *
 * After fork() the child must not use a client of its parent: calls fail with FORKED, _async calls by
 * calling back at once, questions are answered with FALSE, 0 or NULL, a hold is LOST, unref is
 * allowed. Nothing is sent and nothing waits. exec() is safe.
 */
#ifndef CURATOR_CLIENT_H
#define CURATOR_CLIENT_H

#include <curator/types.h>
#include <curator/visibility.h>

#include <gio/gio.h>

G_BEGIN_DECLS

/* From <zookeeper/zookeeper.jute.h>, which only users of curator_client_set_acl() need. */
struct ACL_vector;

/** How the client stands to the ensemble. Mirrors ConnectionState. */
typedef enum
{
  /** Connected for the first time. */
  CURATOR_STATE_CONNECTED,
  /** The connection is gone; the session, and what is held in it, may survive. Also the state
   *  before the first connection. */
  CURATOR_STATE_SUSPENDED,
  /** Connected again. Without LOST in between it is the same session and nothing was lost. */
  CURATOR_STATE_RECONNECTED,
  /** The session is over, by the server's word or by our own clock. All holds are gone. */
  CURATOR_STATE_LOST,
  /** Connected to a server without a quorum. Never entered by this version: it does not ask for
   *  read-only connections, as no lock can be had over one. */
  CURATOR_STATE_READ_ONLY
} CuratorConnectionState;

/** Told every change of the connection, in order, without repeats. Runs where state listeners run;
 *  see above. Mirrors ConnectionStateListener.stateChanged. */
typedef void (*CuratorStateListener) (CuratorClient *client, CuratorConnectionState state,
                                      gpointer user_data);

/** Makes a client that is not yet started. Mirrors CuratorFrameworkFactory.newClient.
 *  @param connect_string  "host:port,host:port/chroot"; port 2181 if left out, IPv6 as
 *                         [address]:port. A string that cannot be used is reported by
 *                         curator_client_start(). There is no TLS: a server written as
 *                         tls://host or ssl://host is refused there with UNSUPPORTED
 *  @param retry_policy    the client takes a reference of its own; NULL is exponential backoff from
 *                         1000 ms with 3 retries
 *  @return a new client; unref it */
CURATOR_API
CuratorClient *curator_client_new (const char *connect_string, CuratorRetryPolicy *retry_policy);

/** Asks the server for this session timeout, in milliseconds; default 60000. The server may grant
 *  another: curator_client_get_session_timeout(). Mirrors Builder.sessionTimeoutMs. */
CURATOR_API
void curator_client_set_session_timeout (CuratorClient *client, gint64 timeout_ms);

/** How long one request may wait for a connection, in milliseconds; default 15000. It also bounds
 *  how long a release waits for the server. Mirrors Builder.connectionTimeoutMs. */
CURATOR_API
void curator_client_set_connection_timeout (CuratorClient *client, gint64 timeout_ms);

/** Says how long a tick of the servers is (tickTime), in milliseconds: a follower tells its leader every
 *  half tick which sessions are alive, and holds are taken to be lost that much sooner. Default: 2000,
 *  ZooKeeper's sample value, or half the session timeout if that is less, as servers grant no shorter
 *  one unless told to. A longer tick than the servers' only costs time; a shorter one is unsafe. A
 *  session timeout too short for the tick is warned of when a session is made. */
CURATOR_API
void curator_client_set_server_tick (CuratorClient *client, gint64 tick_ms);

/** How often holds are confirmed with the servers, in milliseconds; default, a sixth of the session
 *  timeout. A hold ends that much sooner when no server answers, and what others do to its node is
 *  noticed after so long. More than a quarter of the session timeout counts as a quarter. */
CURATOR_API
void curator_client_set_heartbeat_interval (CuratorClient *client, gint64 interval_ms);

/** Puts every path of this client below "/namespace_" on the server; paths given to and returned by
 *  the library do not show it. NULL or "" for none. Mirrors Builder.namespace.
 *  @return FALSE with INVALID_ARGUMENT if it cannot be part of a path, or after start */
CURATOR_API
gboolean curator_client_set_namespace (CuratorClient *client, const char *namespace_,
                                       GError **error);

/** Adds credentials, presented in every session; may be called several times. The bytes are copied,
 *  never logged, and wiped when the client is freed. Mirrors Builder.authorization.
 *  @param scheme  for example "digest". "sasl" and "x509", which need a connection of a kind that
 *                 this version does not make, are refused by curator_client_start() with UNSUPPORTED
 *  @param auth    for "digest" user:password
 *  @param length  bytes at @p auth */
CURATOR_API
void curator_client_add_auth (CuratorClient *client, const char *scheme, const void *auth,
                              gsize length);

/** ACL of every node and parent that this client creates; copied. NULL, the default, is
 *  world:anyone with all permissions. All who share a lock need READ and CREATE on its path and
 *  READ on each other's nodes. Mirrors Builder.aclProvider with one list for all paths. */
CURATOR_API
void curator_client_set_acl (CuratorClient *client, const struct ACL_vector *acl);

/** Payload of lock nodes for which nothing else is said; copied. Default: this host's address as
 *  text, as Curator writes it. NULL or length 0 for none. More than 4096 bytes are refused by
 *  curator_client_start() with LIMIT_EXCEEDED. Mirrors Builder.defaultData. */
CURATOR_API
void curator_client_set_default_data (CuratorClient *client, const void *data, gsize length);

/** Runs callbacks in @p context, which the program iterates, instead of on threads of the client's
 *  own; NULL for the latter. There the context's other work is what delays them. Mirrors passing an
 *  Executor to Curator's listeners. */
CURATOR_API
void curator_client_set_callback_context (CuratorClient *client, GMainContext *context);

/** Starts the client and returns at once; the connection is made in the background. A client starts
 *  once in its life. Mirrors CuratorFramework.start.
 *  @return FALSE with INVALID_ARGUMENT (connect string, time-outs, started before), CLOSED,
 *          UNSUPPORTED or LIMIT_EXCEEDED */
CURATOR_API
gboolean curator_client_start (CuratorClient *client, GError **error);

/** Waits for a connection. Mirrors CuratorFramework.blockUntilConnected.
 *  @param timeout_ms  milliseconds; #CURATOR_WAIT_FOREVER; 0 only asks
 *  @return FALSE with TIMED_OUT, CLOSED, NOT_STARTED, AUTH_FAILED or G_IO_ERROR_CANCELLED */
CURATOR_API
gboolean curator_client_block_until_connected (CuratorClient *client, gint64 timeout_ms,
                                               GCancellable *cancellable, GError **error);

/** The state now; SUSPENDED before the first connection, LOST after close. Mirrors
 *  CuratorZookeeperClient.isConnected and ConnectionStateManager.getCurrentConnectionState. */
CURATOR_API
CuratorConnectionState curator_client_get_connection_state (CuratorClient *client);

/** Name of a state as in Java, for example "CONNECTED"; "UNKNOWN" for other values. Static. */
CURATOR_API
const char *curator_connection_state_to_string (CuratorConnectionState state);

/** Id of the session now, as the server's logs and "cons" show it in hexadecimal; 0 while there is
 *  none. Mirrors ZooKeeper.getSessionId. */
CURATOR_API
gint64 curator_client_get_session_id (CuratorClient *client);

/** Session timeout that the server granted, in milliseconds; 0 before the first connection. Mirrors
 *  ZooKeeper.getSessionTimeout. */
CURATOR_API
gint64 curator_client_get_session_timeout (CuratorClient *client);

/** Adds a listener; allowed before and after start. Mirrors ConnectionStateListenable.
 *  addListener.
 *  @param destroy  frees @p user_data when the listener can be called no more; may be NULL
 *  @return an id, never 0, for curator_client_remove_state_listener() */
CURATOR_API
guint curator_client_add_state_listener (CuratorClient *client, CuratorStateListener listener,
                                         gpointer user_data, GDestroyNotify destroy);

/** Removes a listener; it is not called for later changes. One call may still be under way on
 *  another thread. An unknown id is ignored. */
CURATOR_API
void curator_client_remove_state_listener (CuratorClient *client, guint id);

/** Ends the client: waiting calls fail with CLOSED, leases become LOST, the session is closed,
 *  which frees on the server all that was held. Idempotent. Returns when no thread of the library
 *  touches the connection any more, after a few seconds at most. Mirrors CuratorFramework.close. */
CURATOR_API
void curator_client_close (CuratorClient *client);

/** Adds a reference and returns @p client. */
CURATOR_API
CuratorClient *curator_client_ref (CuratorClient *client);

/** Drops a reference; the last one closes and frees. Locks and leases keep their client. */
CURATOR_API
void curator_client_unref (CuratorClient *client);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorClient, curator_client_unref)

G_END_DECLS

#endif
