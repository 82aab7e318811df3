/* Starts a thread of ours. Threads: any; no lock.
 *
 * All its signals are blocked: it must not handle the program's.
 */
#ifndef CURATOR_THREAD_START_H
#define CURATOR_THREAD_START_H

#include <pthread.h>
#include <signal.h>

/* 0, or the error of pthread_create. */
static inline int
curator_thread_start (pthread_t *thread, void *(*run) (void *data), void *data)
{
  sigset_t all;
  sigset_t before;

  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  const int failed = pthread_create (thread, NULL, run, data);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  return failed;
}

/* The same for a thread that nobody joins. */
static inline int
curator_thread_start_detached (const char *name, void *(*run) (void *data), void *data)
{
  pthread_t thread;
  const int failed = curator_thread_start (&thread, run, data);
  if (failed == 0)
    {
      pthread_setname_np (thread, name);
      pthread_detach (thread);
    }
  return failed;
}

#endif
