/* The operation of a release. It ends when the server has confirmed that the node is gone, or
 * before that at its deadline, with RELEASE_PENDING, or when it is cancelled: the release itself
 * goes on.
 *
 * NULL in place of one: nobody waits. */
#pragma once

#include "core/op.h"

/* timeout_ms: as in curator_lock_release(). One reference is the caller's, one the op's own until
 * it is done. */
CuratorOp *curator_release_new (CuratorClient *client, gint64 timeout_ms, CuratorOpDone done,
                                gpointer data);
/* The time begins to run. path: full; it stays until curator_release_end(). */
void curator_release_begin (CuratorOp *release, const char *path) CURATOR_LOCKED;
/* Takes error. Does nothing if it has ended before. */
void curator_release_end (CuratorOp *release, GError *error) CURATOR_LOCKED;

/* From now on it ends with the last of n parts, with all their failures in one error
 * (InterProcessMultiLock.release loses all but two). */
void curator_release_split (CuratorOp *whole, guint n) CURATOR_UNLOCKED;
/* A part, of any client, with the timeout of the whole. Without a reference: it lives until it
 * ends. */
CuratorOp *curator_release_part (CuratorOp *whole, CuratorClient *client);
/* Stands for a part that has ended at once. */
void curator_release_part_ended (CuratorOp *whole, const GError *error) CURATOR_UNLOCKED;
