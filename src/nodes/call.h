/* A request with retries: the base of the getters and setters. */
#pragma once

#include "core/async.h"
#include "core/client-record.h"
#include "core/op.h"

typedef enum
{
  CURATOR_CALL_GET,
  CURATOR_CALL_GET_CHILDREN,
  CURATOR_CALL_SET,
  CURATOR_CALL_CREATE, /* persistent, with missing parents; fails with ZNODEEXISTS */
  CURATOR_CALL_REMOVE
} CuratorCallKind;

typedef struct
{
  GBytes *data;        /* get; empty for null data */
  GPtrArray *children; /* get_children: leaf names */
  struct Stat stat;    /* get, set */
} CuratorCallResult;

/* Within limits. path: the full path. bytes: for set and create. version: for set. NULL with error;
 * errors of the server are in CURATOR_ZK_ERROR. ambiguous (may be NULL): whether an earlier try of
 * a write may have succeeded without an answer. */
CuratorCallResult *curator_call (const CuratorLimits *limits, CuratorCallKind kind,
                                 const char *path, GBytes *bytes, int version, gboolean *ambiguous,
                                 GError **error) CURATOR_UNLOCKED;
/* A get or get_children as an operation, with a CuratorCallResult. */
CuratorOp *curator_call_start (CuratorClient *client, gint64 deadline_us, CuratorCallKind kind,
                               const char *path, CuratorOpDone done,
                               gpointer data) CURATOR_UNLOCKED;
void curator_call_result_free (CuratorCallResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorCallResult, curator_call_result_free)
