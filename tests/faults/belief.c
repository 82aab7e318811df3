/* The keeper's mutex guards its list and every belief in it. The listener of a lease runs on the
 * client's callback thread and has a log of its own. */
#include "belief.h"

#include "support/waiting.h"

#include <pthread.h>
#include <unistd.h>

#define MS G_GINT64_CONSTANT (1000000)
/* The time of a sample that took longer than this is not known precisely enough. */
#define LONGEST_SAMPLE_NS (5 * MS)
#define PAUSE_NS          (50 * MS)

struct _BeliefKeeper
{
  Recorder *samples;
  Recorder *told; /* callbacks come one at a time */
  int period_us;
  pthread_t thread;
  pthread_mutex_t mutex;
  GPtrArray *beliefs;
  gboolean quit;
};

struct _Belief
{
  BeliefKeeper *keeper;
  CuratorLease *lease;
  RecordEvent event;
  guint listener;
  gint64 deadline_ns;
  gint64 sampled_ns;
  gboolean over;
};

typedef struct
{
  gint64 at_ns;
  gint64 after_ns;
  gint64 left_ms;
  gint64 deadline_ns;
} Sample;

/* FALSE if the process was delayed meanwhile, so that the time of the sample is unknown. */
static gboolean
take_sample (CuratorLease *lease, Sample *sample)
{
  sample->at_ns = wait_now_ns ();
  sample->left_ms = curator_lease_get_remaining_ms (lease);
  if (curator_lease_get_state (lease) == CURATOR_LEASE_LOST)
    {
      sample->left_ms = 0;
    }
  sample->after_ns = wait_now_ns ();
  sample->deadline_ns = sample->after_ns + (sample->left_ms + 1) * MS;
  return sample->after_ns - sample->at_ns <= LONGEST_SAMPLE_NS;
}

static void
record_sample (const Belief *belief, Recorder *recorder, const Sample *sample)
{
  RecordEvent event = belief->event;
  event.op = RECORD_SAMPLE;
  event.time_ns = sample->left_ms > 0 ? sample->at_ns : sample->after_ns;
  event.timeout_ms = sample->left_ms;
  recorder_add (recorder, event);
}

static void
record_deadline (Belief *belief, gint64 now_ns)
{
  RecordEvent event = belief->event;
  event.op = RECORD_DEADLINE;
  event.time_ns = MIN (belief->deadline_ns, now_ns);
  recorder_add (belief->keeper->samples, event);
  belief->over = TRUE;
}

/* With the keeper's mutex held. Once no time is left the belief has ended for good. */
static void
look_at (Belief *belief)
{
  Sample sample;
  if (belief->over)
    {
      return;
    }
  const gboolean clear = take_sample (belief->lease, &sample);
  const gboolean paused = sample.at_ns - belief->sampled_ns > PAUSE_NS;
  if (sample.left_ms == 0)
    {
      record_deadline (belief, sample.at_ns);
      record_sample (belief, belief->keeper->samples, &sample);
    }
  else if (clear)
    {
      if (paused)
        {
          record_sample (belief, belief->keeper->samples, &sample);
        }
      belief->deadline_ns = sample.deadline_ns;
      belief->sampled_ns = sample.at_ns;
    }
}

static void *
keep_looking (void *data)
{
  BeliefKeeper *keeper = data;
  pthread_mutex_lock (&keeper->mutex);
  while (!keeper->quit)
    {
      for (guint i = 0; i < keeper->beliefs->len; i++)
        {
          look_at (g_ptr_array_index (keeper->beliefs, i));
        }
      pthread_mutex_unlock (&keeper->mutex);
      g_usleep ((gulong) keeper->period_us);
      pthread_mutex_lock (&keeper->mutex);
    }
  pthread_mutex_unlock (&keeper->mutex);
  return NULL;
}

BeliefKeeper *
belief_keeper_new (const char *directory, int process, int period_us, gsize capacity)
{
  BeliefKeeper *keeper = g_new0 (BeliefKeeper, 1);
  keeper->samples = recorder_open (directory, process, 1000, capacity);
  keeper->told = recorder_open (directory, process, 1001, capacity);
  keeper->period_us = period_us;
  keeper->beliefs = g_ptr_array_new ();
  pthread_mutex_init (&keeper->mutex, NULL);
  pthread_create (&keeper->thread, NULL, keep_looking, keeper);
  return keeper;
}

void
belief_keeper_free (BeliefKeeper *keeper)
{
  pthread_mutex_lock (&keeper->mutex);
  keeper->quit = TRUE;
  pthread_mutex_unlock (&keeper->mutex);
  pthread_join (keeper->thread, NULL);
  recorder_close (keeper->samples);
  recorder_close (keeper->told);
  g_ptr_array_unref (keeper->beliefs);
  pthread_mutex_destroy (&keeper->mutex);
  g_free (keeper);
}

typedef struct
{
  Recorder *recorder;
  RecordEvent event;
} Told;

static void
on_state (CuratorLease *lease, CuratorLeaseState state, gpointer data)
{
  const Told *told = data;
  RecordEvent event = told->event;
  (void) lease;
  event.op = state == CURATOR_LEASE_SUSPECT ? RECORD_SUSPECT : RECORD_LOST;
  if (state == CURATOR_LEASE_SUSPECT || state == CURATOR_LEASE_LOST)
    {
      recorder_add (told->recorder, event);
    }
}

Belief *
belief_begin (BeliefKeeper *keeper, CuratorLease *lease, RecordEvent *event)
{
  Sample sample;
  while (!take_sample (lease, &sample))
    {
    }
  if (sample.left_ms == 0)
    {
      return NULL;
    }
  event->token = curator_lease_get_fencing_token (lease);
  event->session = curator_lease_get_session_id (lease);
  event->time_ns = sample.at_ns;

  Belief *belief = g_new0 (Belief, 1);
  belief->keeper = keeper;
  belief->lease = curator_lease_ref (lease);
  belief->event = *event;
  belief->event.time_ns = 0;
  belief->event.result = RECORD_OK;
  belief->deadline_ns = sample.deadline_ns;
  belief->sampled_ns = sample.at_ns;
  Told *told = g_new0 (Told, 1);
  told->recorder = keeper->told;
  told->event = belief->event;
  belief->listener = curator_lease_add_listener (lease, on_state, told, g_free);
  pthread_mutex_lock (&keeper->mutex);
  g_ptr_array_add (keeper->beliefs, belief);
  pthread_mutex_unlock (&keeper->mutex);
  return belief;
}

gboolean
belief_end (Belief *belief)
{
  BeliefKeeper *keeper = belief->keeper;
  pthread_mutex_lock (&keeper->mutex);
  look_at (belief);
  const gboolean over = belief->over;
  g_ptr_array_remove_fast (keeper->beliefs, belief);
  pthread_mutex_unlock (&keeper->mutex);
  curator_lease_remove_listener (belief->lease, belief->listener);
  curator_lease_unref (belief->lease);
  g_free (belief);
  return over;
}

gboolean
belief_look (Belief *belief, gint64 *at_ns)
{
  pthread_mutex_lock (&belief->keeper->mutex);
  const gint64 before_ns = belief->sampled_ns;
  do
    {
      look_at (belief);
    }
  while (!belief->over && belief->sampled_ns == before_ns);
  const gboolean believed = !belief->over;
  *at_ns = belief->sampled_ns;
  pthread_mutex_unlock (&belief->keeper->mutex);
  return believed;
}

gboolean
belief_is_over (Belief *belief)
{
  pthread_mutex_lock (&belief->keeper->mutex);
  const gboolean over = belief->over;
  pthread_mutex_unlock (&belief->keeper->mutex);
  return over;
}
