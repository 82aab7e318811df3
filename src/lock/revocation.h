/* Asking for a lock back (Revocable, RevocationSpec, Revoker). Guarded by the client's mutex. */
#ifndef CURATOR_REVOCATION_H
#define CURATOR_REVOCATION_H

#include "curator/lease.h"
#include "lock/lock_internals-private.h"

/* TRUE if nodes of this path are made revocable. */
gboolean curator_revocation_is_on (CuratorLockInternals *internals) CURATOR_LOCKED;
/* Somebody asks for that hold, NULL while it is waited for. FALSE if
 * that is to be told once there is one. */
gboolean curator_revocation_report (CuratorLockInternals *internals,
                                    CuratorLease *hold) CURATOR_LOCKED;

/* Whoever registers: a lock or a semaphore, and how its listener is called. */
typedef struct
{
  gpointer owner; /* borrowed: it owns the internals and calls _clear at its end */
  CuratorRefs *owner_refs;
  GDestroyNotify unref_owner;
  GCallback listener;
  gpointer user_data;
  GDestroyNotify destroy;
  gboolean only_holds; /* a request to one that still waits is told when it holds */
  /* @locks none; callback lane. lease: the hold asked for, NULL while it is still waited for. */
  void (*call) (GCallback listener, gpointer owner, CuratorLease *lease, gpointer user_data);
} CuratorRevocationSpec;

/* @locks client mutex NOT held. */
void curator_revocation_set (CuratorLockInternals *internals,
                             const CuratorRevocationSpec *spec) CURATOR_UNLOCKED;
void curator_revocation_clear (CuratorLockInternals *internals) CURATOR_UNLOCKED;

#endif
