#include "keeper.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER; /* of callers: one job at a time */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static gint owner;     /* atomic: the process that has the thread, 0 before it runs */
static KeeperWork job; /* NULL: nothing to do */
static gpointer job_data;

static void *
keep (void *unused)
{
  pthread_mutex_lock (&mutex);
  for (;;) {
    while (job == NULL)
      pthread_cond_wait (&changed, &mutex);
    job (job_data);
    job = NULL;
    pthread_cond_broadcast (&changed);
  }
  return NULL;
}

gboolean
keeper_is_here (void)
{
  const gint process = g_atomic_int_get (&owner);
  return process == 0 || process == getpid ();
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
  if (started) {
    pthread_detach (thread);
    g_atomic_int_set (&owner, getpid ());
  }
  return started;
}

void
keeper_run (KeeperWork work, gpointer data)
{
  g_return_if_fail (keeper_is_here ());
  pthread_mutex_lock (&turn);
  if (g_atomic_int_get (&owner) == 0 && !start ()) {
    work (data); /* no thread left: better than nothing */
    pthread_mutex_unlock (&turn);
    return;
  }
  pthread_mutex_lock (&mutex);
  job_data = data;
  job = work;
  pthread_cond_broadcast (&changed);
  while (job != NULL)
    pthread_cond_wait (&changed, &mutex);
  pthread_mutex_unlock (&mutex);
  pthread_mutex_unlock (&turn);
}
