/* Initialises a condition variable, which waits by CLOCK_MONOTONIC. Threads: any; no lock.
 *
 * One of many waits by a shared futex. Since 6.16 Linux keeps the threads that wait by private
 * futexes in a few lists for each process, 16 on two processors, and each wake-up walks through one
 * of them. A process with a thousand sessions has thousands of such threads. The lists of shared
 * futexes are those of the machine, 256 for each processor. A wake-up by a shared one takes a
 * microsecond more.
 */
#pragma once

#include <glib.h>
#include <pthread.h>
#include <time.h>

static inline void
curator_cond_init (pthread_cond_t *cond, gboolean is_one_of_many)
{
  pthread_condattr_t attributes;

  pthread_condattr_init (&attributes);
  pthread_condattr_setclock (&attributes, CLOCK_MONOTONIC);
  if (is_one_of_many)
    pthread_condattr_setpshared (&attributes, PTHREAD_PROCESS_SHARED);
  pthread_cond_init (cond, &attributes);
  pthread_condattr_destroy (&attributes);
}
