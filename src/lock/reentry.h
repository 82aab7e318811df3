/* The short way into a hold that the calling thread has already, and out of it again.
 *
 * Mirrors the counting of InterProcessMutex.LockData, on the thread's own last hold: no mutex, no
 * table, no allocation. Threads: what is remembered belongs to one thread; its hold's count is
 * touched by that thread only. The lease is asked by the clock: code that enters a hold again relies on
 * it, and a pause may have ended it a moment ago.
 */
#ifndef CURATOR_REENTRY_H
#define CURATOR_REENTRY_H

#include "client/client-private.h"
#include "client/threads.h"
#include "curator/lease.h"
#include "lock/lease-private.h"
#include "lock/lock-private.h"

typedef struct
{
  guint64 serial;      /* of the lock, which no other ever has; 0: nothing is remembered */
  guint64 *count;      /* of the hold's levels */
  CuratorLease *lease; /* of the hold, which has a reference */
} CuratorLastHold;

/* Read on every re-entry: a shared library may have a few bytes where no call is needed. */
G_GNUC_INTERNAL extern _Thread_local CuratorLastHold curator_last_hold
    __attribute__ ((tls_model ("initial-exec")));

static inline gboolean
curator_reentry_is_last (const CuratorLock *lock)
{
  return curator_last_hold.serial == lock->serial
         && lock->client->fork_generation == curator_fork_generation ();
}

/* TRUE: entered once more. FALSE says nothing. */
static inline gboolean
curator_reentry_enter (const CuratorLock *lock)
{
  if (!curator_reentry_is_last (lock) || !curator_lease_is_provable (curator_last_hold.lease))
    {
      return FALSE;
    }
  ++*curator_last_hold.count;
  return TRUE;
}

/* TRUE: one level less, and not the last one. FALSE says nothing. */
static inline gboolean
curator_reentry_leave (const CuratorLock *lock)
{
  if (!curator_reentry_is_last (lock) || *curator_last_hold.count <= 1)
    {
      return FALSE;
    }
  --*curator_last_hold.count;
  return TRUE;
}

static inline void
curator_reentry_remember (const CuratorLock *lock, guint64 *count, CuratorLease *lease)
{
  curator_last_hold = (CuratorLastHold){ lock->serial, count, lease };
}

/* The hold is about to be freed. */
static inline void
curator_reentry_forget (const CuratorLock *lock)
{
  if (curator_last_hold.serial == lock->serial)
    {
      curator_last_hold.serial = 0;
    }
}

#endif
