/* Starts a thread of ours. Threads: any; no lock.
 *
 * All its signals are blocked: it must not handle the program's.
 */
#pragma once

#include <glib.h>
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

typedef struct
{
  const char *name; /* static */
  void *(*run) (void *data);
  void *data;
} CuratorThreadStart;

static inline void *
curator_thread_run_named (void *data)
{
  const CuratorThreadStart start = *(CuratorThreadStart *) data;

  g_free (data);
  pthread_setname_np (pthread_self (), start.name);
  return start.run (start.data);
}

/* The same for a thread that nobody joins. It has its name before it does anything. */
static inline int
curator_thread_start_detached (const char *name, void *(*run) (void *data), void *data)
{
  CuratorThreadStart *start = g_new (CuratorThreadStart, 1);
  pthread_t thread;

  *start = (CuratorThreadStart){ name, run, data };
  const int failed = curator_thread_start (&thread, curator_thread_run_named, start);
  if (failed == 0)
    pthread_detach (thread);
  else
    g_free (start);
  return failed;
}
