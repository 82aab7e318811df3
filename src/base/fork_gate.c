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
typedef struct
{
  guint number;     /* 0: none yet */
  guint depth;      /* of its passages */
  guint suspended;  /* passages that it has left for a wait */
  int cancel_state; /* before it entered */
  bool is_watched;  /* its end is */
  bool is_ending;
  int turn; /* of end_key */
} Thread;

static pthread_key_t end_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_once_t end_once = PTHREAD_ONCE_INIT;
static Hook hooks[MOST_HOOKS]; /* guarded by closing */
static guint n_hooks;

/* Not inlined: the compiler would look the thread up again for each member. */
G_NO_INLINE static Thread *
calling_thread (void)
{
  static _Thread_local Thread thread;
  return &thread;
}

static atomic_uint *
counter_of (Thread *thread)
{
  if (G_UNLIKELY (thread->number == 0))
    thread->number = atomic_fetch_add (&last_number, 1) + 1;
  return &inside[thread->number % N_COUNTERS].n;
}

/* FALSE: it is closed. */
static gboolean
try_enter (Thread *thread)
{
  atomic_uint *counter = counter_of (thread);

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

/* The thread has passed. It ends with what it holds: nobody cancels it inside. */
static void
begin_passage (Thread *thread)
{
  if (thread->depth++ == 0 && thread->suspended == 0)
    pthread_setcancelstate (PTHREAD_CANCEL_DISABLE, &thread->cancel_state);
}

static void
end_passage (Thread *thread)
{
  if (--thread->depth == 0) {
    atomic_fetch_sub (counter_of (thread), 1);
    if (thread->suspended == 0)
      pthread_setcancelstate (thread->cancel_state, NULL);
  }
}

void
curator_gate_leave (void)
{
  end_passage (calling_thread ());
}

/* GLib frees what it has for the thread. Whoever forks may wait for its end, so it does not wait
 * long. exit () calls this, too, on a thread that is the first one since a fork. */
static void
enter_to_end (void *unused)
{
  Thread *thread = calling_thread ();
  gulong waited_us = 0;

  if (thread->is_ending || getpid () == gettid ())
    return;
  thread->is_ending = true;
  while (thread->depth == 0 && !try_enter (thread)) {
    if (waited_us >= PATIENCE_US)
      return;
    g_usleep (LONGEST_US);
    waited_us += LONGEST_US;
  }
  begin_passage (thread);
}

static void
take_turn (void *data)
{
  Thread *thread = calling_thread ();

  enter_to_end (NULL);
  if (++thread->turn < LAST_TURN) {
    pthread_setspecific (end_key, data);
  } else if (thread->is_ending && thread->depth > 0) {
    thread->depth = 1;
    end_passage (thread);
  }
}

static void
create_end_key (void)
{
  pthread_key_create (&end_key, take_turn);
}

/* Not of the first thread of a process. */
static void
watch_end (Thread *thread)
{
  thread->is_watched = true;
  if (getpid () == gettid ())
    return;
  pthread_once (&end_once, create_end_key);
  if (pthread_setspecific (end_key, thread) == 0 && __cxa_thread_atexit_impl != NULL)
    __cxa_thread_atexit_impl (enter_to_end, NULL, &end_once);
}

static void
enter (Thread *thread)
{
  while (thread->depth == 0 && !try_enter (thread))
    wait_for_fork ();
  begin_passage (thread);
  if (G_UNLIKELY (!thread->is_watched))
    watch_end (thread);
}

void
curator_gate_enter (void)
{
  enter (calling_thread ());
}

guint
curator_gate_suspend (void)
{
  Thread *thread = calling_thread ();
  const guint before = thread->depth;

  if (before > 0) {
    thread->suspended++;
    thread->depth = 1;
    end_passage (thread);
  }
  return before;
}

void
curator_gate_resume (guint before)
{
  if (before > 0) {
    Thread *thread = calling_thread ();
    enter (thread);
    thread->depth = before;
    thread->suspended--;
  }
}

/* Nobody waits at the gate with the mutex, which another one needs to get out. */
int
curator_gate_cond_wait (pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
  Thread *thread = calling_thread ();
  const guint before = curator_gate_suspend ();
  const int result =
      until != NULL ? pthread_cond_timedwait (cond, mutex, until) : pthread_cond_wait (cond, mutex);

  while (before > 0 && !try_enter (thread)) {
    pthread_mutex_unlock (mutex);
    wait_for_fork ();
    pthread_mutex_lock (mutex);
  }
  thread->depth = before;
  thread->suspended -= before > 0 ? 1 : 0;
  return result;
}

static guint
count_others (void)
{
  guint n = 0;

  for (guint i = 0; i < N_COUNTERS; i++)
    n += atomic_load (&inside[i].n);
  return calling_thread ()->depth > 0 ? n - 1 : n;
}

/* What a hook or another library's handler calls meanwhile must not wait for this thread. */
static void
before_fork (void)
{
  Thread *thread = calling_thread ();
  gulong waited_us = 0;

  pthread_mutex_lock (&closing);
  atomic_store (&is_closed, true);
  for (gulong pause_us = 10; count_others () > 0 && waited_us < PATIENCE_US;
       pause_us = MIN (pause_us * 2, LONGEST_US)) {
    g_usleep (pause_us);
    waited_us += pause_us;
  }
  atomic_fetch_add (counter_of (thread), thread->depth == 0 ? 1 : 0);
  begin_passage (thread);
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
  atomic_store (counter_of (calling_thread ()), 1);
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
