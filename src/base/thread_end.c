/* The end of a thread, in which other libraries free what they keep for it.
 *
 * Curator has no counterpart. Threads: any; each sees its own end, no lock.
 *
 * NOTES: GLib frees its share of small blocks in the destructor of a key, with its locks. Such
 * destructors have no order among them, but two limits: those of C++'s thread_local run before, and
 * a key that is set again by its destructor has another turn when all others had theirs.
 */
#include "base/thread_end.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

/* The last but one: in the last nobody comes after. */
#define LAST_TURN (_POSIX_THREAD_DESTRUCTOR_ITERATIONS - 1)

/* The C library's part of thread_local; not all of them have it. address: within our library. */
extern int __cxa_thread_atexit_impl (void (*run) (void *data), void *data, void *address)
    __attribute__ ((weak));

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static _Thread_local struct
{
  void (*begins) (void);
  void (*is_over) (void);
  bool has_begun;
  int turn;
} end;

/* exit () runs it, too, on a thread that is the first one since a fork. */
static void
begin (void *unused)
{
  if (!end.has_begun && getpid () != gettid ()) {
    end.has_begun = true;
    end.begins ();
  }
}

static void
take_turn (void *data)
{
  begin (NULL);
  if (++end.turn < LAST_TURN)
    pthread_setspecific (key, data);
  else if (end.has_begun)
    end.is_over ();
}

static void
create_key (void)
{
  pthread_key_create (&key, take_turn);
}

void
curator_thread_end_watch (void (*begins) (void), void (*is_over) (void))
{
  if (getpid () == gettid ())
    return;
  pthread_once (&once, create_key);
  end.begins = begins;
  end.is_over = is_over;
  if (pthread_setspecific (key, &end) == 0 && __cxa_thread_atexit_impl != NULL)
    __cxa_thread_atexit_impl (begin, NULL, &once);
}
