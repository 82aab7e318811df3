/* What each kind of lock has to provide. lock.c checks, waits and reports; a kind only starts
 * operations. */
#pragma once

#include "base/tag.h"
#include "core/op.h"
#include "curator/lock.h"
#include "lock/lock_internals-private.h"
#include "nodes/release.h"

typedef struct
{
  const char *name;

  /* All are called without the client's mutex. owner is a thread's number, or 0 for a hold that
   * belongs to no thread: then the op's result is its CuratorLease, otherwise NULL. spec has
   * neither request nor granted; with a batch_hook, which only an exclusive path is given, the
   * queue is not listed before curator_lock_internals_list(). */
  CuratorOp *(*acquire) (CuratorLock *lock, guint64 owner, const CuratorAttemptSpec *spec);
  /* Enters a hold of owner's again. TRUE if it did (or set error: LOCK_LOST), FALSE when acquire
   * has to be called. Always called before acquire. May be NULL. */
  gboolean (*reenter) (CuratorLock *lock, guint64 owner, GError **error);
  /* Ends one level of owner's hold, which ends op: with NOT_OWNER, or when the server has
   * confirmed. */
  void (*release) (CuratorLock *lock, guint64 owner, CuratorOp *op);
  /* Ends one level of owner's hold. If it was the last, the caller ends the lease that is returned,
   * a new reference; otherwise NULL. error: NOT_OWNER. NULL: release has to be called. */
  CuratorLease *(*leave) (CuratorLock *lock, guint64 owner, GError **error);
  gboolean (*is_acquired) (CuratorLock *lock);
  gboolean (*is_owned) (CuratorLock *lock, guint64 owner);
  /* owner's hold, LOST ones included; NULL if there is none. A new reference. */
  CuratorLease *(*dup_lease) (CuratorLock *lock, guint64 owner);
  gboolean is_revocable;
  /* Of a multi-lock; else both are NULL. */
  void (*set_max_hold) (CuratorLock *lock, gint64 max_hold_ms);
  gint64 (*get_max_hold_ms) (const CuratorLock *lock);
  void (*finalize) (CuratorLock *lock); /* frees the members, not the lock itself */
} CuratorLockClass;

struct _CuratorLock
{
  CuratorTag tag;
  CuratorRefs own_refs;
  CuratorRefs *refs;                /* own_refs, or those of pair */
  void (*free) (CuratorLock *lock); /* curator_lock_destroy, or what frees pair */
  CuratorRwLock *pair;              /* that it is a side of; or NULL */
  const CuratorLockClass *klass;
  guint64 serial;                  /* unique, never 0 */
  CuratorClient *client;           /* a reference; a multi-lock's is its first member's, or NULL */
  CuratorLockInternals *internals; /* its path; NULL: a multi-lock's, which has none of its own */
};

gpointer curator_lock_alloc (gsize size, const CuratorLockClass *klass, CuratorClient *client);
/* Frees the lock itself, whatever references it. */
void curator_lock_destroy (CuratorLock *lock);

/* TRUE if acquire calls a function of the user's, and this thread must not: then go_on (data) runs
 * where it may, on a thread of client's. */
gboolean curator_lock_moves (CuratorLock *lock, CuratorClient *client, CuratorWork go_on,
                             gpointer data) CURATOR_UNLOCKED;

/* An op that finishes at once, without any request. Takes error. */
CuratorOp *curator_lock_refused_op (CuratorClient *client, GError *error,
                                    const CuratorAttemptSpec *spec) CURATOR_UNLOCKED;

/* The checks of every recipe's constructor: client, path. */
gboolean curator_lock_check_path (CuratorClient *client, const char *path, GError **error);
