/* The inside of InterProcessMutex: re-entrant holds that belong to threads. Any thread; guarded
 * by the client's mutex. */
#pragma once

#include "base/guards.h"
#include "lock/lock-private.h"
#include "lock/lock_internals-private.h"

typedef struct
{
  const char *name;
  /* Called without the mutex. The node for an acquire by owner; NULL with error if it can never
   * be granted. NULL member: the driver describes the node. */
  CuratorNodeRequest *(*new_request) (CuratorLock *mutex, guint64 owner, GError **error);
} CuratorMutexKind;

typedef struct
{
  CuratorLock lock;
  const CuratorMutexKind *kind;
  /* thread number -> LockData, NULL while there is none */
  GHashTable *lock_data CURATOR_GUARDED;
} CuratorMutex;

/* Takes internals. */
CuratorLock *curator_mutex_new_of_kind (CuratorClient *client, const CuratorMutexKind *kind,
                                        CuratorLockInternals *internals);
