/* The fast path to re-enter the calling thread's last hold, and to leave it again.
 *
 * Mirrors the counting of InterProcessMutex.LockData, without a mutex, table or allocation.
 * Threads: the record belongs to one thread, which alone changes its hold's count. The lease is
 * asked by the clock: code that enters a hold again relies on it, and a pause may have ended it.
 */
#pragma once

#include "base/threads.h"
#include "core/client-record.h"
#include "curator/lease.h"
#include "lock/lease-private.h"
#include "lock/lock-private.h"

typedef struct
{
  guint64 serial;      /* the lock's, which is unique; 0: no hold is remembered */
  guint64 *count;      /* of the hold's levels */
  CuratorLease *lease; /* of the hold, which has a reference */
} CuratorLastHold;

/* Not static TLS, although that saves a call: a library with it may be refused by dlopen(). */
G_GNUC_INTERNAL extern _Thread_local CuratorLastHold curator_last_hold;

static inline gboolean
curator_reentry_is_last (const CuratorLock *lock)
{
  return curator_last_hold.serial == lock->serial
         && lock->client->fork_generation == curator_fork_generation ();
}

/* TRUE: entered again. FALSE: try the full way. */
static inline gboolean
curator_reentry_enter (const CuratorLock *lock)
{
  if (!curator_reentry_is_last (lock) || !curator_lease_is_provable (curator_last_hold.lease))
    return FALSE;
  ++*curator_last_hold.count;
  return TRUE;
}

/* TRUE: left a level that was not the last. FALSE: try the full way. */
static inline gboolean
curator_reentry_leave (const CuratorLock *lock)
{
  if (!curator_reentry_is_last (lock) || *curator_last_hold.count <= 1)
    return FALSE;
  --*curator_last_hold.count;
  return TRUE;
}

static inline void
curator_reentry_remember (const CuratorLock *lock, guint64 *count, CuratorLease *lease)
{
  curator_last_hold = (CuratorLastHold){ lock->serial, count, lease };
}

/* Other threads may have entered and released this thread's holds. */
static inline void
curator_reentry_forget_all (void)
{
  curator_last_hold.serial = 0;
}

/* The hold is about to be freed. */
static inline void
curator_reentry_forget (const CuratorLock *lock)
{
  if (curator_last_hold.serial == lock->serial)
    curator_last_hold.serial = 0;
}
