/* Initialises a condition variable that is one of many. Threads: any; no lock.
 *
 * It waits by a shared futex. Since 6.16 Linux keeps the threads that wait by private futexes in a
 * few lists for each process, 16 on two processors, and each wake-up walks through one of them. A
 * process with a thousand sessions has thousands of such threads. The lists of shared futexes are
 * those of the machine, 256 for each processor. A wake-up by a shared one takes a microsecond more.
 */
#pragma once

#include <pthread.h>

static inline void
curator_cond_init_one_of_many (pthread_cond_t *cond)
{
  pthread_condattr_t attributes;

  pthread_condattr_init (&attributes);
  pthread_condattr_setpshared (&attributes, PTHREAD_PROCESS_SHARED);
  pthread_cond_init (cond, &attributes);
  pthread_condattr_destroy (&attributes);
}
