/* Blocks a thread until its operation has ended: the base of the blocking calls. */
#pragma once

#include "core/monitor.h"
#include "core/op.h"

typedef struct _CuratorSeat CuratorSeat;

/* The calling thread's wait for an op. Pass curator_await_done and the await as the op's done and
 * data, then call curator_await_op, which takes the caller's reference of the op. */
typedef struct
{
  CuratorLast last; /* first */
  CuratorZkOps *ops;
  CuratorSeat *seat; /* the calling thread's */
  gboolean done;
  gpointer result;
  GError *error;
} CuratorAwait;

void curator_await_init (CuratorAwait *await, CuratorClient *client);
void curator_await_done (CuratorOp *op, gpointer result, const GError *error, gpointer await);
gboolean curator_await_op (CuratorAwait *await, CuratorOp *op, GCancellable *cancellable,
                           gpointer *result, GError **error);
