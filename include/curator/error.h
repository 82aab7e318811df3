/* The two error domains of the library. A cancelled call fails with G_IO_ERROR_CANCELLED instead.
 *
 * A message names the path and the operation; programs decide by domain and code only. Later
 * versions may add codes, so handle an unknown one like any other failure.
 */
#ifndef CURATOR_ERROR_H
#define CURATOR_ERROR_H

#include <curator/types.h>
#include <curator/visibility.h>

G_BEGIN_DECLS

/** Domain of what this library itself has to say; its codes are #CuratorError. */
#define CURATOR_ERROR (curator_error_quark ())

/** Domain of every other answer of ZooKeeper, for example ZNOAUTH. The code is the value of enum
 *  ZOO_ERRORS that the server or the ZooKeeper library gave, as in <zookeeper/zookeeper.h>. */
#define CURATOR_ZK_ERROR (curator_zk_error_quark ())

/** Codes of #CURATOR_ERROR. The Java exception that Curator throws in the same place is named. */
typedef enum
{
  /** A path, name, connect string, quantity or time-out is not usable. IllegalArgumentException. */
  CURATOR_ERROR_INVALID_ARGUMENT,
  /** curator_client_start() or curator_shared_count_start() was not called.
   *  IllegalStateException. */
  CURATOR_ERROR_NOT_STARTED,
  /** The client was closed, perhaps while the call was waiting. CuratorClosedException. */
  CURATOR_ERROR_CLOSED,
  /** The time given is over and somebody else is still in front. Java returns false or null. */
  CURATOR_ERROR_TIMED_OUT,
  /** Release without a hold, or by another thread. IllegalMonitorStateException. */
  CURATOR_ERROR_NOT_OWNER,
  /** The calling thread's hold was lost. Release every level of it before acquiring again. */
  CURATOR_ERROR_LOCK_LOST,
  /** The server could not confirm a release in time. The caller owns nothing any more; the node is
   *  being deleted in the background and others get the lock when it goes. */
  CURATOR_ERROR_RELEASE_PENDING,
  /** The server could not be reached and the retry policy is used up, or the one try of time-out 0
   *  brought no answer. KeeperException.ConnectionLossException. */
  CURATOR_ERROR_CONNECTION_LOST,
  /** The session ended and the call cannot be repeated in a new one. SessionExpiredException. */
  CURATOR_ERROR_SESSION_EXPIRED,
  /** The server refused the credentials. KeeperException.AuthFailedException. */
  CURATOR_ERROR_AUTH_FAILED,
  /** The counter that numbers the children of the lock's path is at its end. No order can be had
   *  under this path until it is deleted and made anew. Java goes on and breaks the lock. */
  CURATOR_ERROR_SEQUENCE_EXHAUSTED,
  /** This build, server or kind of lock cannot do it. UnsupportedOperationException. */
  CURATOR_ERROR_UNSUPPORTED,
  /** The process forked since the client was started; only the parent may use it. */
  CURATOR_ERROR_FORKED,
  /** A bound of this library would be passed: size of a payload, watched bytes, queued work. */
  CURATOR_ERROR_LIMIT_EXCEEDED
} CuratorError;

/** Use #CURATOR_ERROR. */
CURATOR_API
GQuark curator_error_quark (void);

/** Use #CURATOR_ZK_ERROR. */
CURATOR_API
GQuark curator_zk_error_quark (void);

G_END_DECLS

#endif
