/* What all headers need: the names of the opaque types, so that none has to include another just
 * for a pointer, and the time-out that is none. */
#ifndef CURATOR_TYPES_H
#define CURATOR_TYPES_H

#include <glib.h>

G_BEGIN_DECLS

/** Time-out for no time-out. Every other negative value is refused with INVALID_ARGUMENT. */
#define CURATOR_WAIT_FOREVER ((gint64) -1)

/** When and how often a failed request is tried again; see retry.h. */
typedef struct _CuratorRetryPolicy CuratorRetryPolicy;
/** A connection to a ZooKeeper ensemble, its session and all that hangs on it; see client.h. */
typedef struct _CuratorClient CuratorClient;
/** Anything that is acquired and released; see lock.h. */
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
/** A pair of locks, many readers or one writer; see rwlock.h. */
typedef struct _CuratorRwLock CuratorRwLock;

G_END_DECLS

#endif
