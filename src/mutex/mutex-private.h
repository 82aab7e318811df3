/* A lock whose holds belong to threads and count: the mutex, and what is made from it. */
#ifndef CURATOR_MUTEX_PRIVATE_H
#define CURATOR_MUTEX_PRIVATE_H

#include "guards.h"
#include "lock/lock-private.h"
#include "lock/lock_internals-private.h"

typedef struct _CuratorMutex CuratorMutex;

typedef struct
{
  const char *name;
  /* @locks none. The node for an acquire of owner's; NULL with error if it cannot be granted ever.
   * NULL member: what the driver describes. */
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
  gpointer companion; /* for the kind: the read-write lock's other side */
  /* thread number -> LockData, NULL while there is none; guarded by the client's mutex */
  GHashTable *lock_data CURATOR_GUARDED;
};

/* Takes internals. */
CuratorLock *curator_mutex_new_of_kind (CuratorClient *client, const CuratorMutexKind *kind,
                                        CuratorLockInternals *internals);
/* @locks client mutex required. owner's hold, LOST ones included; borrowed. */
CuratorLease *curator_mutex_lease_of (CuratorMutex *mutex, guint64 owner) CURATOR_LOCKED;

#endif
