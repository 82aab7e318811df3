/* The lease of the calling thread's hold, for tests that look at a hold while it lasts. */
#pragma once

#include <curator/lock.h>

/* Borrowed from the hold: valid until its release. NULL: there is none. Not for multi-locks, whose
 * leases are made by each call. */
static inline CuratorLease *
held_lease (CuratorLock *lock)
{
  CuratorLease *lease = curator_lock_dup_lease (lock);
  if (lease != NULL)
    curator_lease_unref (lease);
  return lease;
}
