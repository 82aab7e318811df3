/* Counting and tracing, from inside. */
#ifndef CURATOR_STATS_PRIVATE_H
#define CURATOR_STATS_PRIVATE_H

#include "client/client-private.h"
#include "curator/stats.h"

/* @locks client mutex required, all of them. */
void curator_count (CuratorClient *client, CuratorCounter counter, guint64 n);
void curator_count_wait (CuratorClient *client, gint64 waited_us);
/* path: the full one. Costs nothing when nobody traces. */
void curator_trace (CuratorClient *client, CuratorTraceKind kind, const char *path,
                    gint64 duration_us, gint64 session_id);

#endif
