/* One thread sleeps, any ask; a mutex of its own, not GLib's, which ThreadSanitizer cannot see. */
#include "support/metronome.h"

#include "support/waiting.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

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

static gint64
now_us (void)
{
  return wait_now_ns () / 1000;
}

static void *
beat (void *data)
{
  for (;;)
    {
      const gint64 began_us = now_us ();
      pthread_mutex_lock (&mutex);
      step_began_us = began_us;
      pthread_mutex_unlock (&mutex);
      usleep (STEP_US);
      const gint64 ended_us = now_us ();
      const Stall stall = { ended_us, ended_us - began_us - STEP_US };
      if (stall.late_us >= LEAST_US)
        {
          pthread_mutex_lock (&mutex);
          g_array_append_val (stalls, stall);
          pthread_mutex_unlock (&mutex);
        }
    }
  return NULL;
}

gint64
metronome_waited_us (int pid)
{
  g_autofree char *folder = g_strdup_printf ("/proc/%d/task", pid);
  g_autoptr (GDir) threads = g_dir_open (folder, 0, NULL);
  const char *thread;
  gint64 sum_us = 0;
  while (threads != NULL && (thread = g_dir_read_name (threads)) != NULL)
    {
      g_autofree char *file = g_build_filename (folder, thread, "schedstat", NULL);
      g_autofree char *text = NULL;
      guint64 waited_ns = 0;
      if (g_file_get_contents (file, &text, NULL, NULL)
          && sscanf (text, "%*u %" G_GUINT64_FORMAT, &waited_ns) == 1)
        sum_us += (gint64) (waited_ns / 1000);
    }
  return sum_us;
}

void
metronome_start (void)
{
  pthread_t thread;

  if (stalls != NULL)
    return;
  stalls = g_array_new (FALSE, FALSE, sizeof (Stall));
  step_began_us = now_us ();
  if (pthread_create (&thread, NULL, beat, NULL) != 0)
    g_error ("no thread for the metronome");
  pthread_detach (thread);
}

static void
measure (gint64 since_us, gint64 *worst_us, gint64 *sum_us)
{
  pthread_mutex_lock (&mutex);
  /* The step that is under way may be late already. */
  *worst_us = *sum_us = MAX (now_us () - step_began_us - STEP_US, 0);
  for (guint i = stalls->len; i > 0; i--)
    {
      const Stall *stall = &g_array_index (stalls, Stall, i - 1);
      if (stall->ended_us < since_us)
        break;
      *worst_us = MAX (*worst_us, stall->late_us);
      *sum_us += stall->late_us;
    }
  pthread_mutex_unlock (&mutex);
}

gint64
metronome_worst_stall_us (gint64 since_us)
{
  gint64 worst_us, sum_us;
  measure (since_us, &worst_us, &sum_us);
  return worst_us;
}

gint64
metronome_stalled_us (gint64 since_us)
{
  gint64 worst_us, sum_us;
  measure (since_us, &worst_us, &sum_us);
  return sum_us;
}

void
metronome_assert (gint64 took_ms, gint64 bound_ms, gint64 since_ms, const char *file, int line)
{
  if (stalls == NULL)
    _fail (file, line);
  const gint64 late_ms = metronome_stalled_us (since_ms * 1000) / 1000;
  if (took_ms <= bound_ms)
    return;
  print_message ("%d ms, where %d are promised, on a machine that was late by %d ms\n",
                 (int) took_ms, (int) bound_ms, (int) late_ms);
  if (took_ms > bound_ms + late_ms)
    _fail (file, line);
}
