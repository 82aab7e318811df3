/* One request with retries, waited for: what the synchronous getters and setters are made of. */
#ifndef CURATOR_CALL_H
#define CURATOR_CALL_H

#include "client/client-private.h"

typedef enum
{
  CURATOR_CALL_GET,
  CURATOR_CALL_GET_CHILDREN,
  CURATOR_CALL_SET,
  CURATOR_CALL_CREATE /* persistent, missing parents too; ZNODEEXISTS if it is there */
} CuratorCallKind;

typedef struct
{
  GBytes *data;        /* get; empty for null data */
  GPtrArray *children; /* get_children: leaf names */
  gint32 version;      /* get, set */
  gint64 mzxid;        /* get, set */
} CuratorCallResult;

/* @locks client mutex NOT held. path: the full one. bytes: for set and create; version: for set.
 * NULL with error; the server's own refusals are in CURATOR_ZK_ERROR. ambiguous (may be NULL): whether
 * an earlier try of a write may have been carried out unseen. */
CuratorCallResult *curator_call (CuratorClient *client, CuratorCallKind kind, const char *path,
                                 GBytes *bytes, int version, gboolean *ambiguous,
                                 GError **error) CURATOR_UNLOCKED;
void curator_call_result_free (CuratorCallResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorCallResult, curator_call_result_free)

#endif
