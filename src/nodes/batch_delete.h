/* Nodes that are deleted together, by one transaction. Any thread; guarded by the client's
 * mutex. */
#pragma once

#include "base/guards.h"
#include "session/request.h"

typedef struct _CuratorBatchDelete CuratorBatchDelete;
typedef struct _CuratorBatchedNode CuratorBatchedNode;

/* One node to delete. All but path and functions is zero while it is in no batch. */
struct _CuratorBatchedNode
{
  CuratorBatchDelete *batch CURATOR_GUARDED;
  const char *path; /* full */
  /* Called with the client's mutex held, one of them, once; the member has left the batch.
   * answered: all are deleted, or the answer is lost. alone: no transaction was sent, or a server
   * has refused it. */
  void (*answered) (CuratorBatchedNode *member, int rc);
  void (*alone) (CuratorBatchedNode *member);
};

CuratorBatchDelete *curator_batch_delete_new (void) CURATOR_LOCKED;
void curator_batch_delete_add (CuratorBatchDelete *batch,
                               CuratorBatchedNode *member) CURATOR_LOCKED;
/* The batch frees itself when it has no members left. */
void curator_batch_delete_send (CuratorBatchDelete *batch, CuratorClient *client) CURATOR_LOCKED;
/* Harmless when it is in no batch. The batch has been sent. */
void curator_batch_delete_leave (CuratorBatchedNode *member) CURATOR_LOCKED;
