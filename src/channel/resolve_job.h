/* Resolves a host name on a job's thread. Used by the channel's thread only; no lock. */
#ifndef CURATOR_RESOLVE_JOB_H
#define CURATOR_RESOLVE_JOB_H

#include "channel/channel_job.h"
#include "channel/endpoints.h"

/* The jobs that were left before they ended. A name server that hangs is not asked again meanwhile:
 * the next attempt gets the same job. */
GPtrArray *curator_lookups_new (void);

CuratorJob *curator_resolve_job_start (GPtrArray *lookups, const char *host, guint16 port,
                                       int wake_fd, GError **error);
/* Transfer full. */
void curator_resolve_job_leave (GPtrArray *lookups, CuratorJob *job);
/* Of a finished job: CuratorAddress, at least one; NULL with RESOLVE. */
GPtrArray *curator_resolve_job_take (CuratorJob *job, GError **error);

#endif
