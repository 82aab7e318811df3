/* Work on a thread of its own; see channel_job.h. */
#include "channel/channel_job.h"

#include "base/refs.h"
#include "base/thread_start.h"
#include "channel/channel_error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct _CuratorJob
{
  CuratorRefs refs; /* of the owner and of the thread */
  void (*run) (gpointer data);
  gpointer data;
  GDestroyNotify destroy;
  int wake_fd; /* a duplicate: the job may outlive the owner */
  atomic_bool is_done;
};

void
curator_job_drop (CuratorJob *job)
{
  if (curator_refs_dec (&job->refs)) {
    job->destroy (job->data);
    if (job->wake_fd >= 0)
      close (job->wake_fd);
    g_free (job);
  }
}

static void *
run_job (void *data)
{
  CuratorJob *job = data;

  job->run (job->data);
  atomic_store (&job->is_done, TRUE);
  eventfd_write (job->wake_fd, 1);
  curator_job_drop (job);
  return NULL;
}

CuratorJob *
curator_job_start (void (*run) (gpointer data), gpointer data, GDestroyNotify destroy, int wake_fd,
                   GError **error)
{
  CuratorJob *job = g_new0 (CuratorJob, 1);

  curator_refs_init (&job->refs);
  job->run = run;
  job->data = data;
  job->destroy = destroy;
  job->wake_fd = fcntl (wake_fd, F_DUPFD_CLOEXEC, 0);
  curator_refs_inc (&job->refs);
  /* Without a descriptor its end would wake nobody. */
  const int failed =
      job->wake_fd < 0 ? errno : curator_thread_start_detached ("curator-job", run_job, job);
  if (failed == 0)
    return job;
  curator_channel_set_errno (error, "cannot start a thread", failed);
  curator_job_drop (job);
  curator_job_drop (job);
  return NULL;
}

gboolean
curator_job_is_done (CuratorJob *job)
{
  return atomic_load (&job->is_done);
}
