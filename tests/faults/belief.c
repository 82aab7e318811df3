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
} Sample;

void
belief_note (Recorder *recorder, RecordEvent event, RecordOp op, RecordResult result)
{
  event.op = (guint8) op;
  event.result = (guint8) result;
  recorder_add (recorder, event);
}

/* FALSE if the process was delayed meanwhile, so that the time of the sample is unknown. */
static gboolean
take_sample (GPtrArray *leases, Sample *sample)
{
  *sample = (Sample){ .at_ns = wait_now_ns (), .left_ms = G_MAXINT64 };
  for (guint i = 0; i < leases->len; i++) {
    CuratorLease *lease = g_ptr_array_index (leases, i);
    const gint64 left_ms = curator_lease_get_remaining_ms (lease);
    const gboolean is_lost = curator_lease_get_state (lease) == CURATOR_LEASE_STATE_LOST;
    sample->left_ms = MIN (sample->left_ms, is_lost ? 0 : left_ms);
  }
  sample->after_ns = wait_now_ns ();
  return sample->after_ns - sample->at_ns <= LONGEST_SAMPLE_NS;
}

static void
keep_sample (Belief *belief, const Sample *sample)
{
  belief->deadline_ns = sample->after_ns + (sample->left_ms + 1) * MS;
  belief->sampled_ns = sample->at_ns;
}

static void
record (const Belief *belief, RecordOp op, gint64 at_ns, gint64 left_ms)
{
  RecordEvent event = belief->event;
  event.time_ns = at_ns;
  event.timeout_ms = left_ms;
  belief_note (belief->keeper->samples, event, op, RECORD_OK);
}

/* With the keeper's mutex held. Once no time is left the belief has ended for good. */
static void
look_at (Belief *belief)
{
  Sample sample;
  if (belief->over)
    return;
  const gboolean clear = take_sample (belief->leases, &sample);
  if (sample.left_ms == 0) {
    record (belief, RECORD_DEADLINE, MIN (belief->deadline_ns, sample.at_ns),
            belief->event.timeout_ms);
    record (belief, RECORD_SAMPLE, sample.after_ns, 0);
    belief->over = TRUE;
  } else if (clear) {
    if (sample.at_ns - belief->sampled_ns > PAUSE_NS)
      record (belief, RECORD_SAMPLE, sample.at_ns, sample.left_ms);
    keep_sample (belief, &sample);
  }
}

static void *
keep_looking (void *data)
{
  BeliefKeeper *keeper = data;
  pthread_mutex_lock (&keeper->mutex);
  while (!keeper->quit) {
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

/* Of a lease that may outlive the belief. */
typedef struct
{
  Recorder *recorder;
  RecordEvent event;
} Told;

static void
on_state (CuratorLease *lease, CuratorLeaseState state, gpointer data)
{
  const Told *told = data;
  if (state == CURATOR_LEASE_STATE_SUSPECT || state == CURATOR_LEASE_STATE_LOST)
    belief_note (told->recorder, told->event,
                 state == CURATOR_LEASE_STATE_SUSPECT ? RECORD_SUSPECT : RECORD_LOST, RECORD_OK);
}

Belief *
belief_begin_all (BeliefKeeper *keeper, GPtrArray *leases, RecordEvent *event)
{
  Sample sample;
  CuratorLease *first = g_ptr_array_index (leases, 0);
  while (!take_sample (leases, &sample)) {
  }
  if (sample.left_ms == 0)
    return NULL;
  event->token = curator_lease_get_fencing_token (first);
  event->session = curator_lease_get_session_id (first);
  event->time_ns = sample.at_ns;

  Belief *belief = g_new0 (Belief, 1);
  belief->keeper = keeper;
  belief->leases = g_ptr_array_new_with_free_func ((GDestroyNotify) curator_lease_unref);
  belief->listeners = g_array_new (FALSE, FALSE, sizeof (guint));
  belief->event = *event;
  belief->event.time_ns = 0;
  keep_sample (belief, &sample);
  for (guint i = 0; i < leases->len; i++) {
    CuratorLease *lease = curator_lease_ref (g_ptr_array_index (leases, i));
    Told *told = g_new (Told, 1);
    *told = (Told){ keeper->told, belief->event };
    const guint id = curator_lease_add_listener (lease, on_state, told, g_free);
    g_array_append_val (belief->listeners, id);
    g_ptr_array_add (belief->leases, lease);
  }
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

/* Until it is known whether the hold is provable: a process that is stopped within a look knows
 * nothing. With the keeper's mutex held. The time of the look. */
static gint64
look_clearly (Belief *belief)
{
  const gint64 before_ns = belief->sampled_ns;
  do
    look_at (belief);
  while (!belief->over && belief->sampled_ns == before_ns);
  return belief->sampled_ns;
}

gboolean
belief_end (Belief *belief, gint64 *at_ns)
{
  BeliefKeeper *keeper = belief->keeper;
  pthread_mutex_lock (&keeper->mutex);
  const gint64 looked_ns = look_clearly (belief);
  const gboolean over = belief->over;
  g_ptr_array_remove_fast (keeper->beliefs, belief);
  pthread_mutex_unlock (&keeper->mutex);
  *at_ns = over ? wait_now_ns () : looked_ns;
  for (guint i = 0; i < belief->leases->len; i++) {
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
  const gint64 looked_ns = look_clearly (belief);
  const gboolean over = belief->over;
  pthread_mutex_unlock (&belief->keeper->mutex);
  if (at_ns != NULL)
    *at_ns = looked_ns;
  return !over;
}
