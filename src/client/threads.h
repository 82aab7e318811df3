/* Numbers for threads and for forks. */
#ifndef CURATOR_THREADS_H
#define CURATOR_THREADS_H

#include <glib.h>
#include <stdatomic.h>

/* @locality any thread. The calling thread's number: handed out once, never used again. */
guint64 curator_thread_id (void);
/* Once per process: from then on the forks are counted. */
void curator_forks_watch (void);

G_GNUC_INTERNAL extern _Atomic guint curator_n_forks;

/* How many forks this process is away from the one that loaded us, once they are watched. */
static inline guint
curator_fork_generation (void)
{
  return atomic_load_explicit (&curator_n_forks, memory_order_relaxed);
}

#endif
