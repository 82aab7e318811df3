/* Asking a holder to release (Revocable, RevocationSpec, Revoker). Any thread; guarded by the
 * client's mutex. */
#pragma once

#include "curator/lease.h"
#include "lock/lock_internals-private.h"

/* TRUE if nodes of this path are revocable. */
gboolean curator_revocation_is_on (CuratorLockInternals *internals) CURATOR_LOCKED;
/* Reports a request to release hold; NULL: still waiting. FALSE if it must be reported again
 * with the hold. */
gboolean curator_revocation_report (CuratorLockInternals *internals,
                                    CuratorLease *hold) CURATOR_LOCKED;

/* The lock or semaphore that registers, and how to call its listener. */
typedef struct
{
  gpointer owner; /* borrowed: it owns the internals and calls _clear at its end */
  CuratorRefs *owner_refs;
  GDestroyNotify unref_owner;
  GCallback listener;
  gpointer user_data;
  GDestroyNotify destroy;
  gboolean only_holds; /* a request to a waiter is reported once it holds */
  /* Called without the mutex, on the callback lane. lease: the hold to release, NULL while still
   * waiting. */
  void (*call) (GCallback listener, gpointer owner, CuratorLease *lease, gpointer user_data);
} CuratorRevocationSpec;

void curator_revocation_set (CuratorLockInternals *internals,
                             const CuratorRevocationSpec *spec) CURATOR_UNLOCKED;
void curator_revocation_clear (CuratorLockInternals *internals) CURATOR_UNLOCKED;
