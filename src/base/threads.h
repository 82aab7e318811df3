/* Thread numbers, and a count of forks. Any thread; no lock. */
#pragma once

#include <gio/gio.h>
#include <stdatomic.h>
#include <sys/types.h>

/* The calling thread's number, never reused. */
guint64 curator_thread_id (void);
/* Starts and joins n threads that live at the same time: 0, or the error of pthread_create.
 * newest: the id of the last one. */
int curator_threads_probe (guint n, pid_t *newest);
/* Counts the forks from now on. */
void curator_forks_watch (void);
/* A cancelled one, made before any fork that is counted; borrowed. */
GCancellable *curator_forks_cancelled (void);

G_GNUC_INTERNAL extern _Atomic guint curator_n_forks;

/* The number of forks between the process that first called curator_forks_watch() and this one. */
static inline guint
curator_fork_generation (void)
{
  return atomic_load_explicit (&curator_n_forks, memory_order_relaxed);
}
