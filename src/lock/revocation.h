/* Asking a holder to release (Revocable, RevocationSpec, Revoker). Any thread; guarded by the
 * client's mutex. */
#pragma once

#include "lock/lock_internals-private.h"

/* Reports a request to release hold; NULL: still waiting. FALSE if it must be reported again
 * with the hold. */
gboolean curator_revocation_report (CuratorLockInternals *internals,
                                    CuratorLease *hold) CURATOR_LOCKED;

/* The lock or semaphore that registers, and how to call its listener. */
typedef struct
{
  gpointer owner; /* borrowed: it owns the internals and ends this at its own end */
  CuratorRefs *owner_refs;
  GDestroyNotify unref_owner;
  GCallback listener; /* CuratorRevocationListener or CuratorSemaphoreRevocationListener */
  gpointer user_data;
  GDestroyNotify destroy;
  gboolean is_semaphore; /* a request to a waiter is reported once it holds, and with the hold */
} CuratorRevocationSpec;

/* spec: NULL to end it. */
void curator_revocation_set (CuratorLockInternals *internals,
                             const CuratorRevocationSpec *spec) CURATOR_UNLOCKED;
