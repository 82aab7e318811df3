/* The inside of a semaphore (InterProcessSemaphoreV2). Any thread; guarded by the client's
 * mutex. */
#pragma once

#include "base/guards.h"
#include "base/tag.h"
#include "core/op.h"
#include "curator/semaphore.h"
#include "lock/lock_internals-private.h"
#include "semaphore/shared_count-private.h"

struct _CuratorSemaphore
{
  CuratorTag tag;
  CuratorRefs refs;
  CuratorClient *client; /* a reference */
  CuratorLockInternals *turns;
  CuratorLockInternals *leases;
  CuratorSharedCount *count; /* a reference, or NULL */
  CuratorCountHook count_hook;
  GBytes *node_data CURATOR_GUARDED;   /* NULL for the default */
  gboolean has_looked CURATOR_GUARDED; /* for other recipes at its path */
};

/* Starts an acquire. The op's result is a GPtrArray of n CuratorLease. once: as for a lock. */
CuratorOp *curator_semaphore_begin (CuratorSemaphore *semaphore, guint n, gint64 deadline_us,
                                    gboolean once, CuratorOpDone done,
                                    gpointer data) CURATOR_UNLOCKED;
/* Takes its result, of which it returns the lease; or NULL for NULL. */
CuratorLease *curator_semaphore_only_lease (GPtrArray *leases);
