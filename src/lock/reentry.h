/* The fast path to re-enter the calling thread's last hold, and to leave it again.
 *
 * Mirrors the counting of InterProcessMutex.LockData, without a mutex, table or allocation.
 * Threads: the record belongs to one thread, which alone changes its hold's count. The lease's
 * state is the last reported one, not the clock's: a re-entry promises nothing new.
 */
#ifndef CURATOR_REENTRY_H
#define CURATOR_REENTRY_H

#include "client/client-private.h"
#include "client/threads.h"
#include "curator/lease.h"
#include "lock/lock-private.h"

typedef struct
{
  guint64 serial;                 /* the lock's, which is unique; 0: no hold is remembered */
  guint64 *count;                 /* of the hold's levels */
  const CuratorLeaseState *state; /* of its lease, atomic */
} CuratorLastHold;

/* Read on every re-entry: static TLS, of which a library may use a few bytes, needs no call. */
G_GNUC_INTERNAL extern _Thread_local CuratorLastHold curator_last_hold
    __attribute__ ((tls_model ("initial-exec")));

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
  if (!curator_reentry_is_last (lock)
      || g_atomic_int_get (curator_last_hold.state) >= CURATOR_LEASE_LOST)
    {
      return FALSE;
    }
  ++*curator_last_hold.count;
  return TRUE;
}

/* TRUE: left a level that was not the last. FALSE: try the full way. */
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
curator_reentry_remember (const CuratorLock *lock, guint64 *count, const CuratorLeaseState *state)
{
  curator_last_hold = (CuratorLastHold){ lock->serial, count, state };
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
