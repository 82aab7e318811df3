/* The error domains of the library. A cancelled call fails with G_IO_ERROR_CANCELLED instead.
 * docs/errors.md has a table of every call in every state.
 *
 * A message names the path and the operation. Programs must decide by domain and code only. Later
 * versions may add codes, so treat an unknown code as a failure.
 *
 * A misuse is not an error: NULL for an object or a callback, or an error that is set already. As
 * in GLib the function logs a critical message and returns FALSE, NULL or 0, and LOST for the state
 * of no lease, without setting an error. Nothing was done then. So test the result, and do not rely on the error to be set after a
 * misuse.
 */
#ifndef CURATOR_ERROR_H
#define CURATOR_ERROR_H

#include <curator/types.h>
#include <curator/visibility.h>

G_BEGIN_DECLS

/** Domain of this library's own errors; its codes are #CuratorError. */
#define CURATOR_ERROR (curator_error_quark ())

/** Domain of all other errors of ZooKeeper, for example ZNOAUTH. The code is the value of enum
 *  ZOO_ERRORS from <zookeeper/zookeeper.h> that the server or the ZooKeeper library returned. */
#define CURATOR_ZK_ERROR (curator_zk_error_quark ())

/** Codes of #CURATOR_ERROR, each with the Java exception that Curator throws in its place. */
typedef enum
{
  /** A path, name, connect string or number is invalid. IllegalArgumentException. */
  CURATOR_ERROR_INVALID_ARGUMENT,
  /** The client, latch, selector or count was not started. IllegalStateException. */
  CURATOR_ERROR_NOT_STARTED,
  /** The client was closed, perhaps while the call was waiting. CuratorClosedException. */
  CURATOR_ERROR_CLOSED,
  /** The timeout passed, and a server had shown another contender ahead. Java returns false or
   *  null. */
  CURATOR_ERROR_TIMED_OUT,
  /** Release without a hold, or by another thread. IllegalMonitorStateException. */
  CURATOR_ERROR_NOT_OWNER,
  /** The calling thread's hold was lost, or was released through its lease; the message says which.
   *  Release each of its levels before acquiring again. Java has no such error. */
  CURATOR_ERROR_LOCK_LOST,
  /** The server did not confirm a release in time. The caller no longer holds the lock; the node is
   *  deleted in the background, and only then can others get the lock. Java has no such error. */
  CURATOR_ERROR_RELEASE_PENDING,
  /** There was no connection when the timeout passed, or the retry policy gave up; the message has
   *  the hosts and the cause. KeeperException.ConnectionLossException. */
  CURATOR_ERROR_CONNECTION_LOST,
  /** The session ended and the call cannot be repeated in a new one. SessionExpiredException. */
  CURATOR_ERROR_SESSION_EXPIRED,
  /** The server refused the credentials, or requires some and the client has none.
   *  KeeperException.AuthFailedException and SessionClosedRequireAuthException. */
  CURATOR_ERROR_AUTH_FAILED,
  /** The node that the call created has no place in the queue. Either the sequence counter of the
   *  lock's path is exhausted, and nothing can be acquired until the path is deleted and recreated:
   *  Java continues, and breaks the lock. Or another node has the same number, which the counter
   *  did not give it; the message names it, and the next call gets another number. */
  CURATOR_ERROR_SEQUENCE_EXHAUSTED,
  /** This build, server or kind of lock does not support the operation.
   *  UnsupportedOperationException. */
  CURATOR_ERROR_UNSUPPORTED,
  /** The process forked since the client was started; only the parent may use it. */
  CURATOR_ERROR_FORKED,
  /** A limit of this library is exceeded: size of a payload, watched bytes, queued work. */
  CURATOR_ERROR_LIMIT_EXCEEDED,
  /** There was a connection when the timeout passed, and no server had answered: nobody knows yet
   *  whether another contender is ahead. KeeperException.OperationTimeoutException. */
  CURATOR_ERROR_NO_ANSWER,
  /** This machine is short of threads, descriptors, memory or random numbers; the message names the
   *  limit. The same call may succeed later. OutOfMemoryError, IOException. */
  CURATOR_ERROR_RESOURCES,
  /** A client, latch or selector was started before. IllegalStateException. */
  CURATOR_ERROR_ALREADY_STARTED
} CuratorError;

/** The quark of the domain; use #CURATOR_ERROR. */
CURATOR_API
GQuark curator_error_quark (void);

/** The quark of the domain; use #CURATOR_ZK_ERROR. */
CURATOR_API
GQuark curator_zk_error_quark (void);

/** The domain of the reasons why there is no connection, as curator_client_dup_connection_error()
 *  returns them: of servers that failed in different ways, one that refused decides before one that
 *  could not be reached, then the newest failure. */
#define CURATOR_CONNECT_ERROR (curator_connect_error_quark ())

/** Why a connection could not be made. Values may be added. */
typedef enum
{
  /** The host name has no address, or no name server has answered. */
  CURATOR_CONNECT_ERROR_RESOLVE,
  /** The server refused the connection, closed it, or is unreachable. */
  CURATOR_CONNECT_ERROR_CONNECT,
  /** The server accepted the connection but did not answer in time. */
  CURATOR_CONNECT_ERROR_HANDSHAKE_TIMED_OUT,
  /** No TLS session could be agreed on: the port may be one without TLS. */
  CURATOR_CONNECT_ERROR_TLS,
  /** The server's certificate is expired, of an unknown CA or for another host. */
  CURATOR_CONNECT_ERROR_CERTIFICATE_REFUSED,
  /** The server wants a certificate of the client: there is none, or the server refused it. */
  CURATOR_CONNECT_ERROR_CLIENT_CERTIFICATE,
  /** The SASL authentication failed. */
  CURATOR_CONNECT_ERROR_SASL
} CuratorConnectError;

/** The number of the domain #CURATOR_CONNECT_ERROR. */
CURATOR_API
GQuark curator_connect_error_quark (void);

G_END_DECLS

#endif
