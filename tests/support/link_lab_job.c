/* Jobs of the channel that are done at once, on the same thread: in front of the library, in place
 * of channel_job.c. */
#include "channel/channel_job.h"

struct _CuratorJob
{
  gpointer data;
  GDestroyNotify destroy;
};

CuratorJob *
curator_job_start (void (*run) (gpointer data), gpointer data, GDestroyNotify destroy, int wake_fd,
                   GError **error)
{
  CuratorJob *job = g_new0 (CuratorJob, 1);
  job->data = data;
  job->destroy = destroy;
  run (data);
  return job;
}

gpointer
curator_job_data (CuratorJob *job)
{
  return job->data;
}

gpointer
curator_job_result (CuratorJob *job)
{
  return job->data;
}

void
curator_job_drop (CuratorJob *job)
{
  if (job != NULL)
    {
      job->destroy (job->data);
      g_free (job);
    }
}
