/* One thread sleeps, any ask; a mutex of its own, not GLib's, which ThreadSanitizer cannot see. */
#include "support/lateness.h"

#include "support/waiting.h"

#include <pthread.h>
#include <unistd.h>

#define STEP_US 5000
/* Shorter delays are no stalls. */
#define LEAST_US 1000

typedef struct
{
  gint64 ended_us;
  gint64 late_us;
} Stall;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static GArray *stalls;
static gint64 step_began_us;
static gint home; /* atomic; the process with the thread */

static gint64
now_us (void)
{
  return wait_now_ns () / 1000;
}

static void *
beat (void *data)
{
  for (gint64 began_us = step_began_us, ended_us;; began_us = ended_us) {
    pthread_mutex_lock (&mutex);
    step_began_us = began_us;
    pthread_mutex_unlock (&mutex);
    usleep (STEP_US);
    /* The next step begins here, so that no delay falls between two. */
    ended_us = now_us ();
    const Stall stall = { ended_us, ended_us - began_us - STEP_US };
    if (stall.late_us >= LEAST_US) {
      pthread_mutex_lock (&mutex);
      g_array_append_val (stalls, stall);
      pthread_mutex_unlock (&mutex);
    }
  }
  return NULL;
}

void
metronome_start (void)
{
  pthread_t thread;

  if (!g_atomic_int_compare_and_exchange (&home, 0, (gint) getpid ()))
    return;
  pthread_mutex_lock (&mutex);
  stalls = g_array_new (FALSE, FALSE, sizeof (Stall));
  step_began_us = now_us ();
  if (pthread_create (&thread, NULL, beat, NULL) != 0)
    g_error ("no thread for the metronome");
  pthread_detach (thread);
  pthread_mutex_unlock (&mutex);
}

gint64
metronome_stalled_us (gint64 since_us)
{
  if (g_atomic_int_get (&home) != (gint) getpid ())
    return -1;
  pthread_mutex_lock (&mutex);
  /* The step that is under way may be late already. */
  gint64 sum_us = stalls != NULL ? MAX (now_us () - step_began_us - STEP_US, 0) : 0;
  for (guint i = stalls != NULL ? stalls->len : 0; i > 0; i--) {
    const Stall *stall = &g_array_index (stalls, Stall, i - 1);
    if (stall->ended_us < since_us)
      break;
    sum_us += stall->late_us;
  }
  pthread_mutex_unlock (&mutex);
  return sum_us;
}
