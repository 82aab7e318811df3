/* Resolves a host name on a job's thread. Used by the channel's thread only; no lock. */
#ifndef CURATOR_RESOLVE_JOB_H
#define CURATOR_RESOLVE_JOB_H

#include "channel/channel_job.h"
#include "channel/endpoints.h"

CuratorJob *curator_resolve_job_start (const char *host, guint16 port, int wake_fd, GError **error);
/* Of a finished job: CuratorAddress, at least one; NULL with RESOLVE. */
GPtrArray *curator_resolve_job_take (CuratorJob *job, GError **error);

#endif
