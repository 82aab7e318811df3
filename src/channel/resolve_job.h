/* Resolves a host name on a job's thread. Used by the channel's thread only; no lock. */
#ifndef CURATOR_RESOLVE_JOB_H
#define CURATOR_RESOLVE_JOB_H

#include "channel/channel_job.h"

CuratorJob *curator_resolve_job_start (const char *host, int wake_fd, GError **error);
/* Of a finished job: GInetAddress, at least one; NULL with RESOLVE. */
GPtrArray *curator_resolve_job_take (CuratorJob *job, GError **error);

#endif
