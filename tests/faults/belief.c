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
  GPtrArray *leases;
  RecordEvent event;
  GArray *listeners; /* guint, one of each lease */
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

static gint64
left_of (CuratorLease *lease)
{
  const gint64 left_ms = curator_lease_get_remaining_ms (lease);
  return curator_lease_get_state (lease) == CURATOR_LEASE_LOST ? 0 : left_ms;
}

/* FALSE if the process was delayed meanwhile, so that the time of the sample is unknown. */
static gboolean
take_sample (GPtrArray *leases, Sample *sample)
{
  sample->left_ms = G_MAXINT64;
  sample->at_ns = wait_now_ns ();
  for (guint i = 0; i < leases->len; i++)
    sample->left_ms = MIN (sample->left_ms, left_of (g_ptr_array_index (leases, i)));
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
    return;
  const gboolean clear = take_sample (belief->leases, &sample);
  const gboolean paused = sample.at_ns - belief->sampled_ns > PAUSE_NS;
  if (sample.left_ms == 0)
    {
      record_deadline (belief, sample.at_ns);
      record_sample (belief, belief->keeper->samples, &sample);
    }
  else if (clear)
    {
      if (paused)
        record_sample (belief, belief->keeper->samples, &sample);
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
        look_at (g_ptr_array_index (keeper->beliefs, i));
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
    recorder_add (told->recorder, event);
}

static void
listen (Belief *belief)
{
  belief->listeners = g_array_new (FALSE, FALSE, sizeof (guint));
  for (guint i = 0; i < belief->leases->len; i++)
    {
      Told *told = g_new0 (Told, 1);
      told->recorder = belief->keeper->told;
      told->event = belief->event;
      const guint id = curator_lease_add_listener (g_ptr_array_index (belief->leases, i), on_state,
                                                   told, g_free);
      g_array_append_val (belief->listeners, id);
    }
}

Belief *
belief_begin_all (BeliefKeeper *keeper, GPtrArray *leases, RecordEvent *event)
{
  Sample sample;
  CuratorLease *first = g_ptr_array_index (leases, 0);
  while (!take_sample (leases, &sample))
    {
    }
  if (sample.left_ms == 0)
    return NULL;
  event->token = curator_lease_get_fencing_token (first);
  event->session = curator_lease_get_session_id (first);
  event->time_ns = sample.at_ns;

  Belief *belief = g_new0 (Belief, 1);
  belief->keeper = keeper;
  belief->leases = g_ptr_array_new_with_free_func ((GDestroyNotify) curator_lease_unref);
  for (guint i = 0; i < leases->len; i++)
    g_ptr_array_add (belief->leases, curator_lease_ref (g_ptr_array_index (leases, i)));
  belief->event = *event;
  belief->event.time_ns = 0;
  belief->event.result = RECORD_OK;
  belief->deadline_ns = sample.deadline_ns;
  belief->sampled_ns = sample.at_ns;
  listen (belief);
  pthread_mutex_lock (&keeper->mutex);
  g_ptr_array_add (keeper->beliefs, belief);
  pthread_mutex_unlock (&keeper->mutex);
  return belief;
}

Belief *
belief_begin (BeliefKeeper *keeper, CuratorLease *lease, RecordEvent *event)
{
  g_autoptr (GPtrArray) leases = g_ptr_array_new ();
  g_ptr_array_add (leases, lease);
  return belief_begin_all (keeper, leases, event);
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
  for (guint i = 0; i < belief->leases->len; i++)
    {
      curator_lease_remove_listener (g_ptr_array_index (belief->leases, i),
                                     g_array_index (belief->listeners, guint, i));
    }
  g_ptr_array_unref (belief->leases);
  g_array_unref (belief->listeners);
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
