/* The inside of InterProcessMutex: re-entrant holds that belong to threads. Any thread; guarded
 * by the client's mutex. */
#pragma once

#include "base/guards.h"
#include "lock/lock-private.h"
#include "lock/lock_internals-private.h"

typedef struct _CuratorMutex CuratorMutex;

typedef struct
{
  const char *name;
  /* Called without the mutex. The node for an acquire by owner; NULL with error if it can never
   * be granted. NULL member: the driver describes the node. */
  CuratorNodeRequest *(*new_request) (CuratorMutex *mutex, guint64 owner, GError **error);
  /* Which children are participants of this lock, by leaf name; NULL: all of the queue. */
  gboolean (*accept) (const char *name);
  gboolean is_one_node; /* no queue: the node of the lock's own name is the only participant */
} CuratorMutexKind;

struct _CuratorMutex
{
  CuratorLock lock;
  const CuratorMutexKind *kind;
  CuratorLockInternals *internals;
  CuratorLock *companion; /* for the kind: the read-write lock's other side */
  /* thread number -> LockData, NULL while there is none */
  GHashTable *lock_data CURATOR_GUARDED;
};

/* Takes internals. */
CuratorLock *curator_mutex_new_of_kind (CuratorClient *client, const CuratorMutexKind *kind,
                                        CuratorLockInternals *internals);
