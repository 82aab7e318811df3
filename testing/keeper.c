#include "keeper.h"

#include <pthread.h>
#include <signal.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER; /* of callers: one job at a time */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static gboolean running;
static KeeperWork job; /* NULL: nothing to do */
static gpointer job_data;

static void *
keep (void *unused)
{
  pthread_mutex_lock (&mutex);
  for (;;)
    {
      while (job == NULL)
        {
          pthread_cond_wait (&changed, &mutex);
        }
      job (job_data);
      job = NULL;
      pthread_cond_broadcast (&changed);
    }
  return NULL;
}

/* The program's signal handlers run on its own threads. */
static gboolean
start (void)
{
  pthread_t thread;
  sigset_t all;
  sigset_t before;
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  const gboolean started = pthread_create (&thread, NULL, keep, NULL) == 0;
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  if (started)
    {
      pthread_detach (thread);
    }
  return started;
}

void
keeper_run (KeeperWork work, gpointer data)
{
  pthread_mutex_lock (&turn);
  running = running || start ();
  if (!running)
    {
      work (data); /* no thread left: better than nothing */
      pthread_mutex_unlock (&turn);
      return;
    }
  pthread_mutex_lock (&mutex);
  job_data = data;
  job = work;
  pthread_cond_broadcast (&changed);
  while (job != NULL)
    {
      pthread_cond_wait (&changed, &mutex);
    }
  pthread_mutex_unlock (&mutex);
  pthread_mutex_unlock (&turn);
}
