/* Starting an acquire of a semaphore, for the semaphore mutex. */
#ifndef CURATOR_SEMAPHORE_PRIVATE_H
#define CURATOR_SEMAPHORE_PRIVATE_H

#include "client/op.h"
#include "curator/semaphore.h"

/* @locks client mutex NOT held. The op's result is a GPtrArray of n CuratorLease. once: as for a
 * lock. */
CuratorOp *curator_semaphore_begin (CuratorSemaphore *semaphore, int n, gint64 deadline_us,
                                    gboolean once, CuratorOpDone done, gpointer data);
/* The user's path of its lease nodes, for messages. */
const char *curator_semaphore_get_path (CuratorSemaphore *semaphore);

#endif
