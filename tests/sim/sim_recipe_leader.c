/* Leader selectors and leader latches: each contender is a candidate that leads, loses its
 * leadership and is closed at any moment.
 *
 * A selector believes in its leadership as long as has_leadership () or its cancellable says so.
 * What a process cannot be told while it is paused does not count. A latch believes has_leadership
 * (): its listeners are told the end while its node is being deleted.
 *
 * The functions of selectors run on actors, listeners on their client's lane of states.
 */
#include "sim_contender.h"

#include "core/dispatch.h"
#include "core/monitor.h"

#include <string.h>

#define N_LISTENERS 2
/* After which a closed candidate is referred to by nothing. */
#define CLOSING_US 100000

typedef struct _Candidate Candidate;

typedef struct
{
  Candidate *candidate;
  guint n_heard; /* in turns that it leads, and that it leads no more */
} Ear;

struct _Candidate
{
  SimContender *contender;
  SimWorld *world;
  const SimContestRules *rules;
  CuratorLeaderSelector *selector; /* one of both is NULL */
  CuratorLeaderLatch *latch;
  gboolean until_lost;
  gboolean auto_requeue;
  gboolean is_closed;
  SimBelief **belief; /* the contender's; NULL: none */
  guint64 token;      /* of the belief */
  guint n_pauses;     /* when it was told that it leads */
  int n_destroyed;    /* of its functions */

  /* A selector's function. */
  CuratorLease *lease; /* NULL: the function does not run */
  GCancellable *cancellable;
  gboolean is_interrupted;
  int n_led; /* how often the function returned */

  /* A latch's listeners. */
  Ear ears[N_LISTENERS];
  gboolean is_silent;
  gboolean is_told;           /* that it leads */
  CuratorLease *closed_lease; /* of the leadership that a close ended, not a silent one */
};

static guint
below (Candidate *candidate, guint n)
{
  return sim_contender_below (candidate->contender, n);
}

/* The client is closed, or its process is dead. */
static gboolean
is_stopped (Candidate *candidate)
{
  return sim_process_is_dead (candidate->contender->process)
         || candidate->contender->member->closed;
}

static gboolean
was_paused (Candidate *candidate)
{
  return candidate->contender->process->n_pauses != candidate->n_pauses;
}

static void
fail (Candidate *candidate, const char *what)
{
  if (!sim_process_is_dead (candidate->contender->process))
    sim_contender_fail (candidate->contender, "%s", what);
}

static void
believe (Candidate *candidate, CuratorLease *lease)
{
  candidate->token = curator_lease_get_fencing_token (lease);
  candidate->contender->contest->n_granted++;
  *candidate->belief = sim_contender_believe (candidate->contender, 0, candidate, SIM_HOLD_ALONE,
                                              candidate->token, 0);
}

/* The lease and the rule of the candidate say that it has to stop. */
static gboolean
has_to_stop (Candidate *candidate, CuratorLease *lease)
{
  const CuratorLeaseState state = curator_lease_get_state (lease);

  return state >= CURATOR_LEASE_STATE_LOST
         || (state == CURATOR_LEASE_STATE_SUSPECT && !candidate->until_lost);
}

static gint64
some_hold_us (Candidate *candidate)
{
  const gint64 session_us = candidate->rules->session_timeout_ms * 1000;

  if (candidate->rules->long_holds)
    return (gint64) below (candidate, 3000) * session_us / 1000;
  return below (candidate, 12) == 0 ? (gint64) below (candidate, 1500) * session_us / 1000
                                    : below (candidate, 20000);
}

/* A short part of a longer time. */
static void
pass_time (Candidate *candidate, gint64 left_us)
{
  const gint64 part_us = candidate->rules->session_timeout_ms * 1000 / 10;

  sim_sleep_us (candidate->world, MIN (left_us, 1 + below (candidate, (guint) part_us)));
}

static void
on_destroyed (gpointer data)
{
  ((Candidate *) data)->n_destroyed++;
}

static Candidate *
candidate_new (SimContender *contender)
{
  Candidate *candidate = g_new0 (Candidate, 1);

  candidate->contender = contender;
  candidate->world = contender->world;
  candidate->belief = &contender->beliefs[0];
  candidate->rules = &contender->contest->rules;
  candidate->until_lost = below (candidate, 2) == 0;
  candidate->auto_requeue = below (candidate, 2) == 0;
  for (int i = 0; i < N_LISTENERS; i++)
    candidate->ears[i].candidate = candidate;
  return candidate;
}

/* Waits until the functions of the closed candidate cannot be called again. That waits for a leader
 * to return, but for no server. */
static void
await_destruction (Candidate *candidate, int n_functions)
{
  const gint64 closed_us = candidate->world->now;
  const gboolean is_running = candidate->lease != NULL;

  while (candidate->n_destroyed < n_functions)
    sim_sleep_ms (candidate->world, 1 + below (candidate, 20));
  if (candidate->rules->calm && !is_running && candidate->world->now - closed_us > CLOSING_US)
    fail (candidate, "stayed in the queue after it was closed");
}

static void
candidate_free (Candidate *candidate)
{
  if (candidate->lease != NULL)
    fail (candidate, "its data was destroyed while its function ran");
  g_clear_pointer (&candidate->closed_lease, curator_lease_unref);
  g_free (candidate);
}

/* Whom the server names as the leader. */
static void
ask_for_leader (Candidate *candidate)
{
  g_autoptr (GError) error = NULL;
  const guint64 token = *candidate->belief != NULL ? candidate->token : 0;

  g_autoptr (GPtrArray) participants =
      candidate->latch != NULL
          ? curator_leader_latch_get_participants (candidate->latch, CURATOR_WAIT_DEFAULT, NULL,
                                                   &error)
          : curator_leader_selector_get_participants (candidate->selector, CURATOR_WAIT_DEFAULT,
                                                      NULL, &error);
  if (!candidate->rules->calm)
    return;
  if (participants == NULL)
    fail (candidate, error->message);
  CuratorLeaderParticipant *first =
      participants != NULL && participants->len > 0 ? g_ptr_array_index (participants, 0) : NULL;
  if (token != 0 && *candidate->belief != NULL && token == candidate->token
      && (first == NULL || !curator_leader_participant_is_leader (first)
          || strcmp (curator_leader_participant_get_id (first), candidate->contender->name) != 0))
    fail (candidate, "the server does not name the leader");
}

/* --- selectors -------------------------------------------------------------------------------- */

/* Before time moves, all that a running process is told has arrived. */
static void
judge_leadership (Candidate *candidate)
{
  CuratorLease *lease = candidate->lease;
  const gboolean leads = curator_leader_selector_has_leadership (candidate->selector);

  if (leads && curator_lease_get_state (lease) >= CURATOR_LEASE_STATE_LOST)
    fail (candidate, "leads with a lease that is over");
  if (has_to_stop (candidate, lease) && !g_cancellable_is_cancelled (candidate->cancellable)) {
    sim_sleep_us (candidate->world, 1);
    if (!g_cancellable_is_cancelled (candidate->cancellable) && !was_paused (candidate))
      fail (candidate, "was not cancelled");
  }
  if (candidate->rules->calm && g_cancellable_is_cancelled (candidate->cancellable)
      && !candidate->is_interrupted && !candidate->is_closed)
    fail (candidate, "was cancelled for no reason");
}

static void
lead (CuratorLeaderSelector *selector, CuratorLease *lease, GCancellable *cancellable,
      gpointer data)
{
  Candidate *candidate = data;
  const gint64 until_us = candidate->world->now + some_hold_us (candidate);

  sim_trace (candidate->world, "%s: leads", candidate->contender->name);
  if (candidate->lease != NULL)
    fail (candidate, "leads twice at a time");
  if (candidate->is_closed || g_cancellable_is_cancelled (cancellable)
      || curator_lease_get_state (lease) >= CURATOR_LEASE_STATE_LOST)
    fail (candidate, "was called for a leadership that is over");
  candidate->lease = lease;
  candidate->cancellable = cancellable;
  candidate->is_interrupted = FALSE;
  candidate->n_pauses = candidate->contender->process->n_pauses;
  believe (candidate, lease);
  while (candidate->world->now < until_us && !g_cancellable_is_cancelled (cancellable)
         && !sim_process_is_dead (candidate->contender->process)) {
    pass_time (candidate, until_us - candidate->world->now);
    judge_leadership (candidate);
  }
  if (below (candidate, 8) == 0)
    sim_sleep_us (candidate->world, below (candidate, 200000));
  sim_contender_stop_believing (candidate->contender);
  sim_trace (candidate->world, "%s: returns", candidate->contender->name);
  candidate->lease = NULL;
  candidate->n_led++;
}

/* The lease has ended, and the cancellation is queued: the lane runs before time moves. The delete
 * of the node was sent at that moment, too, and here another may be granted at once.
 * judge_leadership () expects the cancellation. */
static gboolean
is_being_told (Candidate *candidate)
{
  CuratorClient *client = candidate->contender->member->client;
  return has_to_stop (candidate, candidate->lease)
         && CURATOR_WITH_MUTEX (client, curator_dispatch_ready_at (client, CURATOR_LANE_STATES))
                <= candidate->world->now;
}

/* It was told all that there was to tell, unless its client was closed: nobody waits for that. */
static gboolean
selector_believes (gpointer data)
{
  Candidate *candidate = data;

  return candidate->lease != NULL
         && (curator_leader_selector_has_leadership (candidate->selector)
             || (!g_cancellable_is_cancelled (candidate->cancellable) && !was_paused (candidate)
                 && !is_stopped (candidate) && !is_being_told (candidate)));
}

static void
requeue (Candidate *candidate)
{
  if (curator_leader_selector_requeue (candidate->selector)) {
    if (candidate->lease != NULL)
      fail (candidate, "queues while it leads");
    if (candidate->auto_requeue)
      fail (candidate, "was out of the queue");
    sim_trace (candidate->world, "%s: queues again", candidate->contender->name);
  }
}

/* Until it has led often enough. */
static void
stand_for_election (Candidate *candidate)
{
  const int often = candidate->auto_requeue ? 1 + (int) below (candidate, 2) : 1;
  const gboolean is_patient = below (candidate, 4) != 0;
  const gint64 until_us =
      candidate->world->now + (is_patient ? G_MAXINT64 / 2 : below (candidate, 3000000));

  while (candidate->n_led < often && !is_stopped (candidate) && candidate->world->now < until_us) {
    sim_sleep_us (candidate->world, 1 + below (candidate, 300000));
    requeue (candidate);
    if (below (candidate, 30) == 0) {
      candidate->is_interrupted = TRUE;
      curator_leader_selector_interrupt_leadership (candidate->selector);
    }
    if (below (candidate, 30) == 0)
      ask_for_leader (candidate);
  }
}

static void
round_of_selector (SimContender *contender)
{
  Candidate *candidate = candidate_new (contender);
  g_autoptr (GError) error = NULL;

  candidate->selector =
      curator_leader_selector_new (contender->member->client, contender->contest->recipe->path,
                                   lead, candidate, on_destroyed, NULL);
  curator_leader_selector_set_id (candidate->selector, contender->name);
  curator_leader_selector_set_auto_requeue (candidate->selector, candidate->auto_requeue);
  curator_leader_selector_set_until_lost (candidate->selector, candidate->until_lost);
  sim_trace (candidate->world, "%s: starts", contender->name);
  if (!curator_leader_selector_start (candidate->selector, &error) && !contender->member->closed)
    fail (candidate, error->message);
  stand_for_election (candidate);
  sim_trace (candidate->world, "%s: closes", contender->name);
  candidate->is_closed = TRUE;
  if (below (candidate, 2) == 0) {
    curator_leader_selector_close (candidate->selector);
    if (curator_leader_selector_requeue (candidate->selector))
      fail (candidate, "queues although it is closed");
  }
  curator_leader_selector_unref (candidate->selector);
  if (candidate->lease != NULL && !g_cancellable_is_cancelled (candidate->cancellable))
    fail (candidate, "was not cancelled by its close");
  await_destruction (candidate, 1);
  candidate_free (candidate);
}

/* --- latches ---------------------------------------------------------------------------------- */

/* Records a leadership that has not been seen yet. */
static void
look (Candidate *candidate)
{
  g_autoptr (CuratorLease) lease = curator_leader_latch_dup_lease (candidate->latch);

  if (lease == NULL || candidate->is_closed)
    return;
  if (has_to_stop (candidate, lease))
    fail (candidate, "leads with a lease that is over");
  if (*candidate->belief == NULL || candidate->token != curator_lease_get_fencing_token (lease)) {
    sim_contender_stop_believing (candidate->contender);
    believe (candidate, lease);
  }
}

static gboolean
latch_believes (gpointer data)
{
  Candidate *candidate = data;
  g_autoptr (CuratorLease) lease = curator_leader_latch_dup_lease (candidate->latch);

  return lease != NULL && curator_lease_get_fencing_token (lease) == candidate->token;
}

static void
on_change (CuratorLeaderLatch *latch, gboolean is_leader, gpointer data)
{
  Ear *ear = data;
  Candidate *candidate = ear->candidate;

  if ((ear->n_heard++ % 2 == 1) == is_leader)
    fail (candidate, "a listener was told the same twice");
  if (candidate->is_closed && candidate->is_silent)
    fail (candidate, "a listener was told something after a silent close");
  if (candidate->closed_lease != NULL && !was_paused (candidate)
      && curator_lease_get_state (candidate->closed_lease) == CURATOR_LEASE_STATE_RELEASED)
    fail (candidate, "left the queue before its listeners were told");
  if (ear == &candidate->ears[0]) {
    sim_trace (candidate->world, "%s: %s", candidate->contender->name,
               is_leader ? "leads" : "leads no more");
    candidate->is_told = is_leader && !candidate->is_closed;
    candidate->n_pauses = candidate->contender->process->n_pauses;
    look (candidate);
  }
}

static void
on_ear_destroyed (gpointer data)
{
  ((Ear *) data)->candidate->n_destroyed++;
}

/* No server has to answer for this. */
static void
await_leadership (Candidate *candidate)
{
  SimContender *contender = candidate->contender;
  g_autoptr (GError) error = NULL;

  sim_contender_begin_call (contender);
  const gboolean leads = curator_leader_latch_await (candidate->latch, contender->timeout_ms,
                                                     contender->cancellable, &error);
  const gint64 took_us = candidate->world->now - contender->called_at;
  if (leads) {
    look (candidate);
    return;
  }
  if (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT)
      || g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_NO_ANSWER)
      || g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_CONNECTION_LOST)
      || g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_RESOURCES)) {
    if (contender->timeout_ms == CURATOR_WAIT_FOREVER || took_us < contender->timeout_ms * 1000)
      fail (candidate, "timed out too early");
  } else if (!g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED)
             && !contender->member->closed) {
    fail (candidate, error->message);
  }
}

static void
release_leadership (Candidate *candidate)
{
  g_autoptr (CuratorLease) lease = curator_leader_latch_dup_lease (candidate->latch);

  if (lease != NULL) {
    candidate->is_told = FALSE;
    sim_contender_stop_believing (candidate->contender);
    sim_contender_release_lease (candidate->contender, lease);
  }
}

/* By the clock. What it is told may come a moment later, but before time moves. */
static void
judge_latch (Candidate *candidate)
{
  g_autoptr (CuratorLease) lease = curator_leader_latch_dup_lease (candidate->latch);

  if ((lease != NULL) != curator_leader_latch_has_leadership (candidate->latch))
    fail (candidate, "has_leadership and dup_lease differ");
  if (lease == NULL && candidate->is_told) {
    sim_sleep_us (candidate->world, 1);
    if (candidate->is_told && !was_paused (candidate)
        && !curator_leader_latch_has_leadership (candidate->latch))
      fail (candidate, "was not told that it leads no more");
  }
  look (candidate);
}

static void
stand_as_latch (Candidate *candidate)
{
  const gboolean is_patient = below (candidate, 4) != 0;

  for (int i = 0;
       i < (is_patient ? 1000 : 2) && *candidate->belief == NULL && !is_stopped (candidate); i++) {
    await_leadership (candidate);
    sim_sleep_us (candidate->world, below (candidate, 3000));
  }
  const gint64 until_us = candidate->world->now + some_hold_us (candidate);
  while (candidate->world->now < until_us && !is_stopped (candidate)) {
    pass_time (candidate, until_us - candidate->world->now);
    judge_latch (candidate);
    if (below (candidate, 30) == 0)
      ask_for_leader (candidate);
    if (below (candidate, 30) == 0) {
      release_leadership (candidate);
      await_leadership (candidate);
    }
  }
}

static void
close_latch (Candidate *candidate)
{
  const CuratorLeaderLatchCloseMode mode = below (candidate, 2) == 0
                                               ? CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT
                                               : CURATOR_LEADER_LATCH_CLOSE_MODE_NOTIFY_LEADER;

  sim_trace (candidate->world, "%s: closes", candidate->contender->name);
  sim_contender_stop_believing (candidate->contender);
  candidate->is_closed = TRUE;
  candidate->is_told = FALSE;
  candidate->is_silent = mode == CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT;
  if (!candidate->is_silent || below (candidate, 2) == 0) {
    if (!candidate->is_silent)
      candidate->closed_lease = curator_leader_latch_dup_lease (candidate->latch);
    curator_leader_latch_close (candidate->latch, mode);
    if (curator_leader_latch_has_leadership (candidate->latch))
      fail (candidate, "leads although it is closed");
  }
  curator_leader_latch_unref (candidate->latch);
}

static void
round_of_latch (SimContender *contender)
{
  Candidate *candidate = candidate_new (contender);
  g_autoptr (GError) error = NULL;

  candidate->latch = curator_leader_latch_new (
      contender->member->client, contender->contest->recipe->path, contender->name, NULL);
  curator_leader_latch_set_until_lost (candidate->latch, candidate->until_lost);
  for (int i = 0; i < N_LISTENERS; i++) {
    curator_leader_latch_add_listener (candidate->latch, on_change, &candidate->ears[i],
                                       on_ear_destroyed);
  }
  sim_trace (candidate->world, "%s: starts", contender->name);
  if (!curator_leader_latch_start (candidate->latch, &error) && !contender->member->closed)
    fail (candidate, error->message);
  stand_as_latch (candidate);
  close_latch (candidate);
  await_destruction (candidate, N_LISTENERS);
  /* A latch that told its listeners that it leads also tells them the end, unless it is silent. */
  if (!candidate->is_silent
      && (candidate->ears[0].n_heard != candidate->ears[1].n_heard
          || candidate->ears[0].n_heard % 2 == 1))
    fail (candidate, "a listener was not told the end");
  candidate_free (candidate);
}

const SimRecipe sim_recipe_leader_selector = { .path = "/sim/leader-selector",
                                               .n_checks = 1,
                                               .is_slow = TRUE,
                                               .deletions = TRUE,
                                               .still_held = selector_believes,
                                               .round = round_of_selector };

const SimRecipe sim_recipe_leader_latch = { .path = "/sim/leader-latch",
                                            .n_checks = 1,
                                            .is_slow = TRUE,
                                            .deletions = TRUE,
                                            .still_held = latch_believes,
                                            .round = round_of_latch };
