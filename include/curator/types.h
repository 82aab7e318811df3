/* The names of the opaque types, so that no header includes another just for a pointer, and the
 * timeouts that are no number of milliseconds. */
#ifndef CURATOR_TYPES_H
#define CURATOR_TYPES_H

#include <glib.h>

G_BEGIN_DECLS

/** Timeout that waits without a limit. */
#define CURATOR_WAIT_FOREVER G_MAXINT64

/** Timeout as long as the connection timeout; see curator_client_set_connection_timeout().
 *
 *  Every function that may wait for a server ends in a timeout, a cancellable and an error. The
 *  timeout is CURATOR_WAIT_FOREVER, CURATOR_WAIT_DEFAULT, or milliseconds for the whole call. 0
 *  does not wait: an acquire asks the servers once, which may take up to the connection timeout; a
 *  release is sent and not waited for (RELEASE_PENDING); whatever only asks fails with NO_ANSWER,
 *  and so does a write, which is sent; what waits for a state checks it. Without a connection only
 *  a release is sent later, and the others fail with CONNECTION_LOST. Any other negative timeout is
 *  0: a program may pass on what is left of a time. */
#define CURATOR_WAIT_DEFAULT G_MININT64

/** Decides whether and when a failed request is retried; see retry.h. */
typedef struct _CuratorRetryPolicy CuratorRetryPolicy;
/** A connection to a ZooKeeper ensemble and its session; see client.h. */
typedef struct _CuratorClient CuratorClient;
/** A lock of any recipe; see lock.h. */
typedef struct _CuratorLock CuratorLock;
/** One hold of a lock or semaphore; see lease.h. */
typedef struct _CuratorLease CuratorLease;
/** Decides which node a lock creates and who holds it; see lock_internals.h. */
typedef struct _CuratorLockDriver CuratorLockDriver;
/** The node a lock driver wants created; see lock_internals.h. */
typedef struct _CuratorNodeRequest CuratorNodeRequest;
/** A number of leases shared by all processes; see semaphore.h. */
typedef struct _CuratorSemaphore CuratorSemaphore;
/** An integer shared by all processes; see shared_count.h. */
typedef struct _CuratorSharedCount CuratorSharedCount;
/** A pair of locks, for many readers or one writer; see rwlock.h. */
typedef struct _CuratorRwLock CuratorRwLock;
/** Runs a function while it leads; see leader.h. */
typedef struct _CuratorLeaderSelector CuratorLeaderSelector;
/** Leads from its turn until it is closed; see leader.h. */
typedef struct _CuratorLeaderLatch CuratorLeaderLatch;

G_END_DECLS

#endif
