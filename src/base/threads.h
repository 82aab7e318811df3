/* Numbers and roles of threads, and a count of forks.
 *
 * A function of the user's may block, so it runs on the user's threads and on the lanes of
 * callbacks only. A thread that serves a client does not wait for the end of one: two of them could
 * wait for each other. Any thread; no lock.
 */
#pragma once

#include "curator/types.h"

#include <gio/gio.h>
#include <stdatomic.h>
#include <sys/types.h>

/* The calling thread's number, never reused. */
guint64 curator_thread_id (void);

typedef struct
{
  CuratorClient *client; /* NULL: serves none */
  gboolean is_ours;      /* no function of the user's may run here */
} CuratorThreadRole;

CuratorThreadRole curator_thread_role (void);
/* Encloses our code on a thread of libzookeeper's, and on one of ours. Returns the role before. */
CuratorThreadRole curator_thread_change_role (CuratorClient *client, gboolean is_ours);

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
