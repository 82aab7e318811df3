/* What each kind of lock has to provide. lock.c checks, waits and reports; a kind only starts
 * operations. */
#pragma once

#include "base/tag.h"
#include "core/async.h"
#include "core/op.h"
#include "curator/lease.h"
#include "curator/lock.h"
#include "lock/lock_internals-private.h"
#include "nodes/release.h"

typedef struct
{
  const char *name;

  /* All are called without the client's mutex. owner is a thread's number, or 0 for a hold that
   * belongs to no thread: then the op's result is its CuratorLease, otherwise NULL. */
  CuratorOp *(*acquire) (CuratorLock *lock, guint64 owner, gint64 deadline_us, gboolean once,
                         CuratorOpDone done, gpointer data);
  /* Whether acquire calls a function of the user's. NULL: never. */
  gboolean (*asks_user) (CuratorLock *lock);
  /* Enters a hold of owner's again. TRUE if it did (or set error: LOCK_LOST), FALSE when acquire
   * has to be called. Always called before acquire. May be NULL. */
  gboolean (*reenter) (CuratorLock *lock, guint64 owner, GError **error);
  /* Ends one level of owner's hold, which ends op: with NOT_OWNER, or when the server has
   * confirmed. */
  void (*release) (CuratorLock *lock, guint64 owner, CuratorOp *op);
  /* Ends one level of owner's hold. If it was the last, the caller ends the lease that is returned,
   * a new reference; otherwise NULL. error: NOT_OWNER. NULL: release has to be called. */
  CuratorLease *(*leave) (CuratorLock *lock, guint64 owner, GError **error);
  /* For locks that a multi-lock may take together with others; else both are NULL. get_queue: the
   * lock's path, or NULL if this one has to be taken alone. acquire_together is acquire, except
   * that the queue is not listed before curator_lock_internals_list(). */
  CuratorLockInternals *(*get_queue) (CuratorLock *lock);
  CuratorOp *(*acquire_together) (CuratorLock *lock, guint64 owner, gint64 deadline_us,
                                  CuratorAttemptHook *hook, CuratorOpDone done, gpointer data);
  gboolean (*is_acquired) (CuratorLock *lock);
  gboolean (*is_owned) (CuratorLock *lock, guint64 owner);
  CuratorParticipants (*get_participants) (CuratorLock *lock); /* NULL: it has none of its own */
  /* owner's hold, LOST ones included; NULL if there is none. A new reference. */
  CuratorLease *(*dup_lease) (CuratorLock *lock, guint64 owner);
  gboolean (*make_revocable) (CuratorLock *lock, CuratorRevocationListener listener,
                              gpointer user_data, GDestroyNotify destroy, GError **error);
  /* Of a lock that has no participants of its own; else both are NULL. */
  void (*set_max_hold) (CuratorLock *lock, gint64 max_hold_ms);
  gint64 (*get_max_hold_ms) (const CuratorLock *lock);
  void (*finalize) (CuratorLock *lock); /* frees the members, not the lock itself */
} CuratorLockClass;

struct _CuratorLock
{
  CuratorTag tag;
  CuratorRefs own_refs;
  CuratorRefs *refs;                   /* own_refs, or those of the pair that it is a side of */
  void (*free_owner) (gpointer owner); /* NULL: the lock is its own owner */
  gpointer owner;
  const CuratorLockClass *klass;
  guint64 serial;        /* unique, never 0 */
  CuratorClient *client; /* a reference; a multi-lock's is its first member's, or NULL */
};

gpointer curator_lock_alloc (gsize size, const CuratorLockClass *klass, CuratorClient *client);
/* From now on a reference to lock is one to owner; free_owner frees both. */
void curator_lock_set_owner (CuratorLock *lock, CuratorRefs *refs, gpointer owner,
                             void (*free_owner) (gpointer owner));
/* Frees the lock itself, whatever references it. */
void curator_lock_destroy (CuratorLock *lock);

/* TRUE if acquire calls a function of the user's, and this thread must not: then go_on (data) runs
 * where it may, on a thread of client's. */
gboolean curator_lock_moves (CuratorLock *lock, CuratorClient *client, CuratorWork go_on,
                             gpointer data) CURATOR_UNLOCKED;

/* An op that finishes at once, without any request: refused with error (which it takes), or
 * granted if error is NULL. */
CuratorOp *curator_lock_finished_op (CuratorClient *client, GError *error, CuratorOpDone done,
                                     gpointer data) CURATOR_UNLOCKED;

/* Why a multi-lock without members grants no lease. */
GError *curator_lock_no_lease_error (void);

/* The checks of every recipe's constructor: client, path. */
gboolean curator_lock_check_path (CuratorClient *client, const char *path, GError **error);
