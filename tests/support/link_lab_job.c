#include "support/link_lab_job.h"

#include "channel/channel_error.h"
#include "channel/channel_job.h"

struct _CuratorJob
{
  void (*run) (gpointer data);
  gpointer data;
  GDestroyNotify destroy;
  gboolean is_done;
  gboolean is_dropped;
};

LinkLabJobs lab_jobs;
static GQueue held = G_QUEUE_INIT;

static void
job_free (CuratorJob *job)
{
  job->destroy (job->data);
  g_free (job);
}

void
lab_jobs_finish (void)
{
  CuratorJob *job;
  while ((job = g_queue_pop_head (&held)) != NULL) {
    job->run (job->data);
    job->is_done = TRUE;
    if (job->is_dropped)
      job_free (job);
  }
}

CuratorJob *
curator_job_start (void (*run) (gpointer data), gpointer data, GDestroyNotify destroy, int wake_fd,
                   GError **error)
{
  if (lab_jobs.next_fails) {
    lab_jobs.next_fails = FALSE;
    destroy (data);
    g_set_error_literal (error, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_CONNECT, "no thread");
    return NULL;
  }
  CuratorJob *job = g_new0 (CuratorJob, 1);
  *job = (CuratorJob){ .run = run, .data = data, .destroy = destroy };
  g_queue_push_tail (&held, job);
  if (!lab_jobs.are_held)
    lab_jobs_finish ();
  return job;
}

gboolean
curator_job_is_done (CuratorJob *job)
{
  return job->is_done;
}

void
curator_job_drop (CuratorJob *job)
{
  if (job->is_done)
    job_free (job);
  else
    job->is_dropped = TRUE;
}
