/* A thread of the process that starts others as soon as the system has a thread for them.
 *
 * Curator has no counterpart: Java's executors throw. Whoever owes a call to the program and has no
 * thread for it cannot count on its own threads to try again: a client has none before it starts,
 * nor after it was closed. So the process keeps one for that as long as it has clients. Threads:
 * any; guarded by the mutex, which fork() waits for. Nothing of the program's runs there.
 */
#include "base/spare_thread.h"

#include "base/cond_init.h"
#include "base/fork_gate.h"
#include "base/thread_start.h"

#define PAUSE_US (10 * 1000) /* between two tries */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static guint n_holders;
static gboolean is_there;
static GQueue owed = G_QUEUE_INIT; /* CuratorThreadStart */

static void
lock_spare (void)
{
  pthread_mutex_lock (&mutex);
}

static void
unlock_spare (void)
{
  pthread_mutex_unlock (&mutex);
}

/* The thread is the parent's, and so is what it has to start. */
static void
forget_spare (void)
{
  n_holders = 0;
  is_there = FALSE;
  owed = (GQueue) G_QUEUE_INIT;
  curator_cond_init (&changed, TRUE);
  unlock_spare ();
}

static void
init_spare (void)
{
  curator_cond_init (&changed, TRUE);
  curator_gate_at_fork (lock_spare, unlock_spare, forget_spare);
}

static void
enter_spare (void)
{
  pthread_once (&once, init_spare);
  lock_spare ();
}

/* As many as the system allows; in order. */
static void
start_owed (void)
{
  const CuratorThreadStart *start;

  while ((start = g_queue_peek_head (&owed)) != NULL
         && curator_thread_start_detached (start->name, start->run, start->data) == 0)
    g_free (g_queue_pop_head (&owed));
}

static void
wait_for_change (void)
{
  if (g_queue_is_empty (&owed)) {
    curator_gate_cond_wait (&changed, &mutex, NULL);
    return;
  }
  const gint64 until_us = g_get_monotonic_time () + PAUSE_US;
  const struct timespec until = { until_us / G_USEC_PER_SEC, until_us % G_USEC_PER_SEC * 1000 };
  curator_gate_cond_wait (&changed, &mutex, &until);
}

static void *
run_spare (void *unused)
{
  CURATOR_INSIDE_GATE;
  lock_spare ();
  for (;;) {
    start_owed ();
    if (n_holders == 0 && g_queue_is_empty (&owed))
      break;
    wait_for_change ();
  }
  is_there = FALSE;
  unlock_spare ();
  return NULL;
}

/* FALSE: it is needed and not there. */
static gboolean
start_spare (void)
{
  const gboolean is_needed = n_holders > 0 || !g_queue_is_empty (&owed);

  if (!is_there && is_needed)
    is_there = curator_thread_start_detached ("curator-spare", run_spare, NULL) == 0;
  return is_there || !is_needed;
}

void
curator_spare_hold (void)
{
  CURATOR_INSIDE_GATE;
  enter_spare ();
  n_holders++;
  start_spare ();
  unlock_spare ();
}

void
curator_spare_drop (void)
{
  CURATOR_INSIDE_GATE;
  lock_spare ();
  if (--n_holders == 0)
    pthread_cond_signal (&changed);
  unlock_spare ();
}

gboolean
curator_spare_is_there (void)
{
  CURATOR_INSIDE_GATE;
  enter_spare ();
  const gboolean found = start_spare ();
  unlock_spare ();
  return found;
}

gboolean
curator_spare_start (const char *name, void *(*run) (void *data), void *data)
{
  CURATOR_INSIDE_GATE;
  const gboolean started = curator_thread_start_detached (name, run, data) == 0;
  enter_spare ();
  if (!started) {
    CuratorThreadStart *start = g_new (CuratorThreadStart, 1);
    *start = (CuratorThreadStart){ name, run, data };
    g_queue_push_tail (&owed, start);
    pthread_cond_signal (&changed);
  }
  start_spare ();
  unlock_spare ();
  return started;
}
