/* What leaves zkflock. Each outlet has a thread, which may hang and is left behind at the end. The
 * descriptors are shared with the command and its parents, so their flags are not changed; and no
 * flag helps on a hung disk. Threads: any; one mutex, which is never held while something is
 * written. */
#include "base/outlet.h"

#include "base/thread_start.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define MAX_BYTES (128 << 10)
#define SETTLE_US 10000
/* Looks, because a process that is stopped takes none. */
#define LAST_LOOKS 25
#define LOOK_US    20000

static GMutex mutex;
static GCond changed;
static Outlet *opened;
static int n_looks;

void
outlet_open (Outlet *outlet)
{
  outlet->next = opened;
  opened = outlet;
}

/* The note that words were dropped follows those that were in front of them. */
static char *
next_words (Outlet *outlet)
{
  char *words = g_queue_pop_head (&outlet->words);

  if (words != NULL || outlet->n_dropped == 0)
    return words;
  words = outlet->tell_dropped != NULL ? outlet->tell_dropped (outlet->n_dropped) : NULL;
  outlet->n_dropped = 0;
  outlet->bytes += words != NULL ? strlen (words) : 0;
  return words;
}

static gboolean
has_words (const Outlet *outlet)
{
  return outlet->is_writing || outlet->words.length > 0 || outlet->n_dropped > 0;
}

static int
write_and_free (Outlet *outlet, char *words)
{
  const int error = outlet->write (words);
  g_free (words);
  return error;
}

static void *
run (void *data)
{
  Outlet *outlet = data;

  g_mutex_lock (&mutex);
  for (;;) {
    char *words = next_words (outlet);
    if (words == NULL) {
      g_cond_wait (&changed, &mutex);
      continue;
    }
    outlet->is_writing = TRUE;
    g_mutex_unlock (&mutex);
    const gsize length = strlen (words);
    const int error = write_and_free (outlet, words);
    g_mutex_lock (&mutex);
    outlet->is_writing = FALSE;
    outlet->bytes -= length;
    outlet->error = error != 0 ? error : outlet->error;
    g_cond_broadcast (&changed);
  }
  return NULL;
}

gboolean
outlets_start (void)
{
  for (Outlet *one = opened; one != NULL; one = one->next) {
    const int failed = curator_thread_start_detached ("zkflock-words", run, one);
    if (failed != 0) {
      errno = failed;
      return FALSE;
    }
    g_mutex_lock (&mutex);
    one->has_thread = TRUE;
    g_mutex_unlock (&mutex);
  }
  return TRUE;
}

/* Once something is dropped, all is, until the thread has said so. */
static void
enqueue (Outlet *outlet, char *words)
{
  const gboolean is_stuck = has_words (outlet);
  const gsize length = strlen (words);

  if (outlet->n_dropped > 0 || (is_stuck && outlet->bytes + length > MAX_BYTES)) {
    outlet->n_dropped++;
    g_free (words);
    return;
  }
  outlet->bytes += length;
  g_queue_push_tail (&outlet->words, words);
  g_cond_broadcast (&changed);
  const gint64 until_us = g_get_monotonic_time () + SETTLE_US;
  while (!is_stuck && has_words (outlet) && g_cond_wait_until (&changed, &mutex, until_us))
    continue;
}

void
outlet_send (Outlet *outlet, char *words)
{
  g_mutex_lock (&mutex);
  const gboolean has_thread = outlet->has_thread;
  if (has_thread)
    enqueue (outlet, words);
  g_mutex_unlock (&mutex);
  if (!has_thread) {
    const int error = write_and_free (outlet, words);
    g_mutex_lock (&mutex);
    outlet->error = error != 0 ? error : outlet->error;
    g_mutex_unlock (&mutex);
  }
}

int
outlet_get_error (Outlet *outlet)
{
  g_mutex_lock (&mutex);
  const int error = outlet->error != 0 ? outlet->error : has_words (outlet) ? EAGAIN : 0;
  g_mutex_unlock (&mutex);
  return error;
}

static gboolean
any_has_words (void)
{
  for (const Outlet *one = opened; one != NULL; one = one->next)
    if (one->has_thread && has_words (one))
      return TRUE;
  return FALSE;
}

void
outlets_finish (void)
{
  g_mutex_lock (&mutex);
  for (; n_looks < LAST_LOOKS && any_has_words (); n_looks++) {
    const gint64 until_us = g_get_monotonic_time () + LOOK_US;
    while (any_has_words () && g_cond_wait_until (&changed, &mutex, until_us))
      continue;
  }
  g_mutex_unlock (&mutex);
}

int
write_words (int fd, const char *words)
{
  gsize left = strlen (words);

  while (left > 0) {
    const gssize n = write (fd, words, left);
    struct pollfd one = { .fd = fd, .events = POLLOUT };
    if (n < 0 && errno == EAGAIN)
      poll (&one, 1, -1);
    else if (n < 0 && errno != EINTR)
      return errno;
    words += MAX (n, 0);
    left -= (gsize) MAX (n, 0);
  }
  return 0;
}
