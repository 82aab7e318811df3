/* Members of a multi-lock that are acquired together, and released together. */
#pragma once

#include "lock/lock-private.h"

typedef struct _CuratorBatch CuratorBatch;

/* Called once, without a lock. n_held: that many members are held now, from the first on; error:
 * why the next one is not, or NULL. contender_was_shown: a contender was in front of one of
 * them. */
typedef void (*CuratorBatchDone) (CuratorBatch *batch, guint n_held, const GError *error,
                                  gboolean contender_was_shown, gpointer data);

typedef struct
{
  GPtrArray *members; /* CuratorLock; all of the multi-lock's, which outlives the batch */
  guint first;
  guint n; /* at least 1; more than 1 only as far as curator_batch_length() allows */
  guint64 owner;
  gint64 deadline_us;
  gboolean once;   /* n is 1: the member is not waited for */
  gint64 begun_us; /* of the multi-lock's own call */
  gboolean contender_was_shown;
  CuratorBatchDone done;
  gpointer data;
} CuratorBatchSpec;

/* How many members from first on may be taken together; at least 1. */
guint curator_batch_length (GPtrArray *members, guint first, guint64 owner) CURATOR_UNLOCKED;
/* With n > 1 it may end with fewer members held and no error: the rest was given back. */
CuratorBatch *curator_batch_start (const CuratorBatchSpec *spec) CURATOR_UNLOCKED;
/* Of a batch without an owner that is done: a member's lease, transfer full. */
CuratorLease *curator_batch_steal_lease (CuratorBatch *batch, guint index) CURATOR_UNLOCKED;
/* The multi-lock is given up. The batch is done when nothing but its first members is held. */
void curator_batch_cancel (CuratorBatch *batch) CURATOR_UNLOCKED;
void curator_batch_unref (CuratorBatch *batch);

/* Ends one level of owner's hold of the first n members, in reverse. Each is a part of whole. */
void curator_batch_release (GPtrArray *members, guint n, guint64 owner,
                            CuratorOp *whole) CURATOR_UNLOCKED;
