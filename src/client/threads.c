/* Thread numbers, and a count of forks.
 *
 * Mirrors Thread.currentThread() as the owner of a hold. Threads: any; two atomic counters, no
 * lock. A pthread id is reused by a later thread, which must not inherit a dead thread's hold. Our
 * numbers are never reused.
 */
#include "client/threads.h"

#include <pthread.h>

static _Atomic guint64 last_thread_id;
static _Thread_local guint64 thread_id;
_Atomic guint curator_n_forks;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void
in_child (void)
{
  curator_n_forks++;
}

static void
watch_forks (void)
{
  pthread_atfork (NULL, NULL, in_child);
}

guint64
curator_thread_id (void)
{
  if (G_UNLIKELY (thread_id == 0))
    {
      thread_id = ++last_thread_id;
    }
  return thread_id;
}

void
curator_forks_watch (void)
{
  pthread_once (&fork_once, watch_forks);
}
