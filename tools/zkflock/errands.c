/* One thread for the calls that wait for a server, so that the main loop does not.
 *
 * It is started before the lock is asked for: a machine without a thread to spare is found out while
 * nobody waits for zkflock. Main thread only.
 */
#include "errands.h"

#include <errno.h>
#include <pthread.h>

typedef struct
{
  Errand run;
  Errand done;
  gpointer data;
} Job;

static GAsyncQueue *jobs;

static gboolean
finish (gpointer data)
{
  g_autofree Job *job = data;
  job->done (job->data);
  return G_SOURCE_REMOVE;
}

static void *
run_jobs (void *data)
{
  for (;;)
    {
      Job *job = g_async_queue_pop (jobs);
      job->run (job->data);
      g_idle_add_full (G_PRIORITY_DEFAULT, finish, job, NULL);
    }
  return NULL;
}

gboolean
errands_start (void)
{
  pthread_t thread;

  jobs = g_async_queue_new ();
  /* GLib's way ends the process where a filter refuses threads. */
  errno = pthread_create (&thread, NULL, run_jobs, NULL);
  if (errno == 0)
    pthread_detach (thread);
  return errno == 0;
}

void
errands_run (Errand run, Errand done, gpointer data)
{
  Job *job = g_new (Job, 1);
  *job = (Job){ .run = run, .done = done, .data = data };
  g_async_queue_push (jobs, job);
}
