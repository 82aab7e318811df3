/* Threads: their numbers, whose they are and which client they serve; and a count of forks.
 *
 * Mirrors Thread.currentThread() as the owner of a hold. Threads: any; two atomic counters, no
 * lock. A pthread id is reused by a later thread, which must not inherit a dead thread's hold. Our
 * numbers are never reused.
 */
#include "base/threads.h"

#include "base/lookup.h"

#include <pthread.h>
#include <unistd.h>

static _Atomic guint64 last_thread_id;
static _Thread_local guint64 thread_id;
static _Thread_local CuratorThreadRole role; /* a user's thread, until it is changed */
_Atomic guint curator_n_forks;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static GCancellable *cancelled;

static void
in_child (void)
{
  curator_n_forks++;
}

static void
watch_forks (void)
{
  /* Creating an object takes locks of GLib's, which the child may have inherited locked. */
  cancelled = g_cancellable_new ();
  g_cancellable_cancel (cancelled);
  pthread_atfork (NULL, NULL, in_child);
  curator_lookup_watch_forks ();
}

GCancellable *
curator_forks_cancelled (void)
{
  return cancelled;
}

guint64
curator_thread_id (void)
{
  if (G_UNLIKELY (thread_id == 0))
    thread_id = ++last_thread_id;
  return thread_id;
}

CuratorThreadRole
curator_thread_role (void)
{
  return role;
}

CuratorThreadRole
curator_thread_change_role (CuratorClient *client, gboolean is_ours)
{
  const CuratorThreadRole before = role;
  role = (CuratorThreadRole){ client, is_ours };
  return before;
}

typedef struct
{
  pthread_mutex_t gate; /* locked until all have started */
  pid_t newest;
} Probe;

static void *
stand_by (void *data)
{
  Probe *probe = data;

  pthread_mutex_lock (&probe->gate);
  probe->newest = MAX (probe->newest, gettid ());
  pthread_mutex_unlock (&probe->gate);
  return NULL;
}

int
curator_threads_probe (guint n, pid_t *newest)
{
  Probe probe = { .gate = PTHREAD_MUTEX_INITIALIZER };
  g_autofree pthread_t *threads = g_new (pthread_t, n);
  guint started = 0;
  int failed = 0;

  pthread_mutex_lock (&probe.gate);
  while (started < n && failed == 0) {
    failed = pthread_create (&threads[started], NULL, stand_by, &probe);
    started += failed == 0 ? 1 : 0;
  }
  pthread_mutex_unlock (&probe.gate);
  while (started > 0)
    pthread_join (threads[--started], NULL);
  pthread_mutex_destroy (&probe.gate);
  *newest = probe.newest;
  return failed;
}

void
curator_forks_watch (void)
{
  pthread_once (&fork_once, watch_forks);
}
