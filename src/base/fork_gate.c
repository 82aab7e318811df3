/* The gate that fork() closes; see fork_gate.h. Curator has no counterpart.
 *
 * Threads: any. Each counts itself in one of many counters, so that two threads hardly ever share
 * one; the counters and the sign at the gate are atomic. The mutex is held while a fork is under
 * way.
 *
 * NOTES: GLib frees its share of small blocks in the destructor of a key, with its locks, so a
 * thread that ends is inside meanwhile. Such destructors have no order among them, but two limits:
 * those of C++'s thread_local run before, and a key that is set again by its destructor has another
 * turn when all others had theirs.
 */
#include "base/fork_gate.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#define N_COUNTERS  64
#define CACHE_LINE  64
#define PATIENCE_US G_USEC_PER_SEC /* of pauses: clocks go on while the process is stopped */
#define LONGEST_US  1000           /* between two looks */
#define MOST_HOOKS  8
/* The last turn of a key but one: in the last nobody comes after. */
#define LAST_TURN (_POSIX_THREAD_DESTRUCTOR_ITERATIONS - 1)

/* The C library's part of thread_local; not all of them have it. address: within our library. */
extern int __cxa_thread_atexit_impl (void (*run) (void *data), void *data, void *address)
    __attribute__ ((weak));

typedef struct
{
  void (*before) (void);
  void (*in_parent) (void);
  void (*in_child) (void);
} Hook;

static struct
{
  _Alignas(CACHE_LINE) atomic_uint n;
} inside[N_COUNTERS];
static atomic_bool is_closed;
static pthread_mutex_t closing = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint last_number;
static _Thread_local guint number;     /* of the calling thread; 0: none yet */
static _Thread_local guint depth;      /* of the calling thread's passages */
static _Thread_local guint suspended;  /* passages that the calling thread has left for a wait */
static _Thread_local int cancel_state; /* of the calling thread, before it entered */
static _Thread_local bool is_watched;  /* the end of the calling thread */
static _Thread_local bool is_ending;   /* the calling thread */
static _Thread_local int turn;         /* of end_key on the calling thread */
static pthread_key_t end_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_once_t end_once = PTHREAD_ONCE_INIT;
static Hook hooks[MOST_HOOKS]; /* guarded by closing */
static guint n_hooks;

static atomic_uint *
own_counter (void)
{
  if (G_UNLIKELY (number == 0))
    number = atomic_fetch_add (&last_number, 1) + 1;
  return &inside[number % N_COUNTERS].n;
}

/* FALSE: it is closed. */
static gboolean
try_enter (void)
{
  atomic_uint *counter = own_counter ();

  atomic_fetch_add (counter, 1);
  if (G_LIKELY (!atomic_load (&is_closed)))
    return TRUE;
  atomic_fetch_sub (counter, 1);
  return FALSE;
}

static void
wait_for_fork (void)
{
  pthread_mutex_lock (&closing);
  pthread_mutex_unlock (&closing);
}

/* The calling thread has passed. It ends with what it holds: nobody cancels it inside. */
static void
begin_passage (void)
{
  if (depth++ == 0 && suspended == 0)
    pthread_setcancelstate (PTHREAD_CANCEL_DISABLE, &cancel_state);
}

void
curator_gate_leave (void)
{
  if (--depth == 0) {
    atomic_fetch_sub (own_counter (), 1);
    if (suspended == 0)
      pthread_setcancelstate (cancel_state, NULL);
  }
}

/* GLib frees what it has for the thread. Whoever forks may wait for its end, so it does not wait
 * long. exit () calls this, too, on a thread that is the first one since a fork. */
static void
enter_to_end (void *unused)
{
  gulong waited_us = 0;

  if (is_ending || getpid () == gettid ())
    return;
  is_ending = true;
  while (depth == 0 && !try_enter ()) {
    if (waited_us >= PATIENCE_US)
      return;
    g_usleep (LONGEST_US);
    waited_us += LONGEST_US;
  }
  begin_passage ();
}

static void
take_turn (void *data)
{
  enter_to_end (NULL);
  if (++turn < LAST_TURN) {
    pthread_setspecific (end_key, data);
  } else if (is_ending && depth > 0) {
    depth = 1;
    curator_gate_leave ();
  }
}

static void
create_end_key (void)
{
  pthread_key_create (&end_key, take_turn);
}

/* Not of the first thread of a process. */
static void
watch_end (void)
{
  is_watched = true;
  if (getpid () == gettid ())
    return;
  pthread_once (&end_once, create_end_key);
  if (pthread_setspecific (end_key, &is_watched) == 0 && __cxa_thread_atexit_impl != NULL)
    __cxa_thread_atexit_impl (enter_to_end, NULL, &end_once);
}

void
curator_gate_enter (void)
{
  while (depth == 0 && !try_enter ())
    wait_for_fork ();
  begin_passage ();
  if (G_UNLIKELY (!is_watched))
    watch_end ();
}

guint
curator_gate_suspend (void)
{
  const guint before = depth;

  if (before > 0) {
    suspended++;
    depth = 1;
    curator_gate_leave ();
  }
  return before;
}

void
curator_gate_resume (guint before)
{
  if (before > 0) {
    curator_gate_enter ();
    depth = before;
    suspended--;
  }
}

/* Nobody waits at the gate with the mutex, which another one needs to get out. */
int
curator_gate_cond_wait (pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
  const guint before = curator_gate_suspend ();
  const int result =
      until != NULL ? pthread_cond_timedwait (cond, mutex, until) : pthread_cond_wait (cond, mutex);

  while (before > 0 && !try_enter ()) {
    pthread_mutex_unlock (mutex);
    wait_for_fork ();
    pthread_mutex_lock (mutex);
  }
  depth = before;
  suspended -= before > 0 ? 1 : 0;
  return result;
}

static guint
count_others (void)
{
  guint n = 0;

  for (guint i = 0; i < N_COUNTERS; i++)
    n += atomic_load (&inside[i].n);
  return depth > 0 ? n - 1 : n;
}

/* What a hook or another library's handler calls meanwhile must not wait for this thread. */
static void
before_fork (void)
{
  gulong waited_us = 0;

  pthread_mutex_lock (&closing);
  atomic_store (&is_closed, true);
  for (gulong pause_us = 10; count_others () > 0 && waited_us < PATIENCE_US;
       pause_us = MIN (pause_us * 2, LONGEST_US)) {
    g_usleep (pause_us);
    waited_us += pause_us;
  }
  atomic_fetch_add (own_counter (), depth == 0 ? 1 : 0);
  begin_passage ();
  for (guint i = 0; i < n_hooks; i++)
    hooks[i].before ();
}

static void
open_gate (void)
{
  curator_gate_leave ();
  atomic_store (&is_closed, false);
  pthread_mutex_unlock (&closing);
}

static void
in_parent (void)
{
  for (guint i = n_hooks; i > 0; i--)
    hooks[i - 1].in_parent ();
  open_gate ();
}

/* The threads that did not leave in time do not exist here. */
static void
in_child (void)
{
  for (guint i = 0; i < N_COUNTERS; i++)
    atomic_store (&inside[i].n, 0);
  atomic_store (own_counter (), 1);
  for (guint i = n_hooks; i > 0; i--)
    hooks[i - 1].in_child ();
  open_gate ();
}

static void
watch_forks (void)
{
  pthread_atfork (before_fork, in_parent, in_child);
}

void
curator_gate_at_fork (void (*before) (void), void (*after_in_parent) (void),
                      void (*after_in_child) (void))
{
  pthread_once (&once, watch_forks);
  pthread_mutex_lock (&closing);
  g_assert (n_hooks < MOST_HOOKS);
  hooks[n_hooks++] = (Hook){ before, after_in_parent, after_in_child };
  pthread_mutex_unlock (&closing);
}
