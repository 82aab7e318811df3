/* One contender: it acquires in a random way, records the hold, releases, and repeats. See
 * sim_contest.h.
 *
 * Runs on its actor's thread with the baton, callbacks on their client's callback lane.
 */
#include "sim_contender.h"

#include "lock/lock-private.h"
#include "support/held_lease.h"

#define SHORT_TIMEOUT_MS 50

guint
sim_contender_below (SimContender *contender, guint n)
{
  return (guint) g_rand_int_range (sim_world_rand (contender->member->contest->world), 0,
                                   (gint32) n);
}

SimWorld *
sim_contender_world (SimContender *contender)
{
  return contender->member->contest->world;
}

/* --- results of calls ------------------------------------------------------------------------ */

static SimOutcome
outcome_of (const GError *error)
{
  if (error == NULL)
    return SIM_OUTCOME_GRANTED;
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return SIM_OUTCOME_CANCELLED;
  if (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT))
    return SIM_OUTCOME_TIMED_OUT;
  if (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_CLOSED))
    return SIM_OUTCOME_CLOSED;
  if (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_CONNECTION_LOST)
      || g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_RESOURCES)
      || g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_NO_ANSWER)
      || g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_SESSION_EXPIRED))
    return SIM_OUTCOME_CONNECTION;
  return SIM_OUTCOME_OTHER;
}

static gboolean
may_happen (SimContender *contender, SimOutcome outcome, const GError *error)
{
  SimMember *member = contender->member;
  gboolean may_be_lost = contender->may_be_lost
                         || (member->contest->recipe->shared_hold && !member->contest->rules.calm);

  switch (outcome)
    {
    case SIM_OUTCOME_GRANTED:
      return TRUE;
    case SIM_OUTCOME_TIMED_OUT:
      /* Of a contender of the same client it may have known before. */
      return contender->timeout_ms >= 0
             && (member->contest->rules.n_contenders > 1 || contender->timeout_ms == 0
                 || sim_process_n_answers (member->process) != contender->n_answers);
    case SIM_OUTCOME_CANCELLED:
      return contender->cancellable != NULL && g_cancellable_is_cancelled (contender->cancellable);
    case SIM_OUTCOME_CLOSED:
      return member->closed;
    case SIM_OUTCOME_CONNECTION:
      /* Without faults only a deadline that is shorter than the server takes ends so. */
      return !member->contest->rules.calm
             || (contender->timeout_ms > 0 && contender->timeout_ms <= SHORT_TIMEOUT_MS);
    case SIM_OUTCOME_OTHER:
      return member->contest->rules.any_error
             || (may_be_lost && g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_LOCK_LOST));
    case SIM_OUTCOME_LOST_HOLD:
    case SIM_N_OUTCOMES:
      break;
    }
  return FALSE;
}

static void
judge_time (SimContender *contender, SimOutcome outcome)
{
  gint64 took = sim_world_now_us (sim_contender_world (contender)) - contender->called_at;
  gint64 allowed = contender->timeout_ms * 1000;

  if (contender->timeout_ms < 0
      || sim_process_n_pauses (contender->member->process) != contender->n_pauses)
    return;
  if (outcome == SIM_OUTCOME_TIMED_OUT && took < allowed)
    {
      sim_world_fail (sim_contender_world (contender), "%s: timed out after %.3f of %.3f ms",
                      contender->name, (double) took / 1000.0, (double) allowed / 1000.0);
    }
  /* Trying once takes as long as the server takes. */
  if (contender->timeout_ms > 0 && took > allowed + 100 * 1000)
    {
      sim_world_fail (sim_contender_world (contender), "%s: returned after %.3f of %.3f ms",
                      contender->name, (double) took / 1000.0, (double) allowed / 1000.0);
    }
}

void
sim_contender_judge (SimContender *contender, const GError *error)
{
  SimOutcome outcome = outcome_of (error);

  sim_trace (sim_contender_world (contender), "%s: acquire failed: %s", contender->name,
             error == NULL ? "yes" : error->message);
  if (sim_process_is_dead (contender->member->process))
    return;
  contender->member->contest->outcomes[outcome]++;
  if (!may_happen (contender, outcome, error))
    {
      sim_world_fail (sim_contender_world (contender),
                      "%s: unexpected outcome of acquire: %s, %d, %s", contender->name,
                      g_quark_to_string (error->domain), error->code, error->message);
    }
  judge_time (contender, outcome);
}

/* --- before and while holding ----------------------------------------------------------------- */

static gint64
some_timeout_ms (SimContender *contender)
{
  switch (sim_contender_below (contender, 6))
    {
    case 0:
      return 0;
    case 1:
      return 1 + sim_contender_below (contender, SHORT_TIMEOUT_MS);
    case 2:
      return 500 + sim_contender_below (contender, 10000);
    default:
      return CURATOR_WAIT_FOREVER;
    }
}

typedef struct
{
  SimContender *contender;
  GCancellable *cancellable;
} Cancel;

static void
cancel (gpointer data)
{
  Cancel *what = data;
  SimContender *contender = what->contender;

  sim_sleep_us (sim_contender_world (contender), (gint64) sim_contender_below (contender, 4)
                                                     * sim_contender_below (contender, 50000));
  sim_trace (sim_contender_world (contender), "%s: cancel", contender->name);
  g_cancellable_cancel (what->cancellable);
  g_object_unref (what->cancellable);
  g_free (what);
}

void
sim_contender_begin_call (SimContender *contender)
{
  contender->timeout_ms = some_timeout_ms (contender);
  contender->called_at = sim_world_now_us (sim_contender_world (contender));
  contender->n_pauses = sim_process_n_pauses (contender->member->process);
  contender->n_answers = sim_process_n_answers (contender->member->process);
  g_clear_object (&contender->cancellable);
  if (sim_contender_below (contender, 8) == 0)
    {
      g_autofree char *name = g_strconcat (contender->name, "/cancel", NULL);
      Cancel *what = g_new (Cancel, 1);

      contender->cancellable = g_cancellable_new ();
      what->contender = contender;
      what->cancellable = g_object_ref (contender->cancellable);
      sim_actor_new (sim_contender_world (contender), contender->member->process, name, cancel,
                     what);
    }
  sim_trace (sim_contender_world (contender), "%s: acquire, %d ms", contender->name,
             (int) contender->timeout_ms);
}

void
sim_contender_hold (SimContender *contender, CuratorLease *lease)
{
  gint64 us = sim_contender_below (contender, 20000);

  if (sim_contender_below (contender, 12) == 0)
    {
      us += (gint64) sim_contender_below (contender, 1500)
            * contender->member->contest->rules.session_timeout_ms;
    }
  if (contender->member->contest->rules.long_holds)
    {
      us = (gint64) sim_contender_below (contender, 3000)
           * contender->member->contest->rules.session_timeout_ms;
    }
  if (sim_contender_below (contender, 3) != 0)
    sim_sleep_us (sim_contender_world (contender), us);
  if (lease != NULL && curator_lease_get_state (lease) == CURATOR_LEASE_LOST)
    {
      contender->member->contest->outcomes[SIM_OUTCOME_LOST_HOLD]++;
      if (contender->member->contest->rules.calm)
        {
          sim_world_fail (sim_contender_world (contender), "%s: lost for no reason",
                          contender->name);
        }
    }
}

guint
sim_contender_believe (SimContender *contender, int check, CuratorLease *lease, SimHoldKind kind,
                       guint64 token, guint limit)
{
  const SimGrant grant = { .process = contender->member->process,
                           .who = contender->name,
                           .lease = lease,
                           .kind = kind,
                           .token = token,
                           .limit = limit,
                           .called_at = contender->called_at };

  return sim_check_granted (contender->member->contest->checks[check], &grant);
}

static void
believe (SimContender *contender, CuratorLease *lease)
{
  const SimRecipe *recipe = contender->member->contest->recipe;

  if (recipe->believe != NULL)
    {
      recipe->believe (contender, lease);
      return;
    }
  contender->beliefs[0] = sim_contender_believe (contender, 0, lease, SIM_HOLD_ALONE,
                                                 curator_lease_get_fencing_token (lease), 0);
}

void
sim_contender_stop_believing (SimContender *contender)
{
  for (int i = 0; i < SIM_MAX_CHECKS; i++)
    {
      if (contender->beliefs[i] != 0)
        {
          sim_check_released (contender->member->contest->checks[i], contender->beliefs[i]);
          contender->beliefs[i] = 0;
        }
    }
}

void
sim_contender_judge_release (SimContender *contender, gboolean done, const GError *error)
{
  sim_trace (sim_contender_world (contender), "%s: release failed: %s", contender->name,
             error == NULL ? "yes" : error->message);
  if (done != (error == NULL))
    {
      sim_world_fail (sim_contender_world (contender), "%s: release and its error differ",
                      contender->name);
    }
  if (error == NULL || contender->member->contest->rules.any_error
      || sim_process_is_dead (contender->member->process)
      || g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_LOCK_LOST)
      || g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_RELEASE_PENDING)
      || (contender->member->closed
          && g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_CLOSED)))
    return;
  sim_world_fail (sim_contender_world (contender), "%s: unexpected outcome of release: %s",
                  contender->name, error->message);
}

CuratorLease *
sim_held_lease (CuratorLock *lock)
{
  return lock->klass->get_participants != NULL ? held_lease (lock) : NULL;
}

/* --- re-entrance ----------------------------------------------------------------------------- */

void
sim_contender_enter_again (SimContender *contender, CuratorLock *lock, CuratorLease *lease)
{
  g_autoptr (GError) error = NULL;
  gboolean lost = curator_lease_get_state (lease) == CURATOR_LEASE_LOST;

  if (curator_lock_acquire (lock, 0, NULL, &error))
    {
      g_autoptr (GError) release_error = NULL;
      gboolean done;

      if (sim_held_lease (lock) != lease)
        {
          sim_world_fail (sim_contender_world (contender), "%s: re-entry returned another lease",
                          contender->name);
        }
      if (lost)
        {
          sim_world_fail (sim_contender_world (contender), "%s: a lost hold was entered again",
                          contender->name);
        }
      done = curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &release_error);
      sim_contender_judge_release (contender, done, release_error);
    }
  else if (!g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_LOCK_LOST)
           && !contender->member->closed)
    {
      sim_world_fail (sim_contender_world (contender), "%s: re-entry failed: %s", contender->name,
                      error->message);
    }
}

void
sim_contender_enter_in_vain (SimContender *contender, CuratorLease *lease)
{
  CuratorLock *lock = contender->lock;
  g_autoptr (GError) error = NULL;

  contender->timeout_ms = 0;
  contender->called_at = sim_world_now_us (sim_contender_world (contender));
  contender->n_pauses = sim_process_n_pauses (contender->member->process);
  contender->n_answers = sim_process_n_answers (contender->member->process);
  g_clear_object (&contender->cancellable);
  contender->may_be_lost = TRUE;
  if (curator_lock_acquire (lock, 0, NULL, &error))
    {
      if (lease != NULL && curator_lease_get_remaining_ms (lease) > 0)
        sim_world_fail (sim_contender_world (contender), "%s: entered twice", contender->name);
      curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
    }
  sim_contender_judge (contender, error);
  contender->may_be_lost = FALSE;
}

/* --- the three ways --------------------------------------------------------------------------- */

/* TRUE if the hold was given back in there. */
static gboolean
be_inside (SimContender *contender, CuratorLease *lease)
{
  const SimRecipe *recipe = contender->member->contest->recipe;

  if (sim_contender_below (contender, 4) != 0)
    return FALSE;
  if (recipe->inside != NULL)
    return recipe->inside (contender, lease);
  sim_contender_enter_again (contender, contender->lock, lease);
  return FALSE;
}

static void
hold_by_thread (SimContender *contender)
{
  const SimRecipe *recipe = contender->member->contest->recipe;
  CuratorLock *lock = contender->lock;
  g_autoptr (GError) error = NULL;
  g_autoptr (GError) release_error = NULL;
  g_autoptr (CuratorLease) lease = NULL;
  gboolean done;

  sim_contender_begin_call (contender);
  done = curator_lock_acquire (lock, contender->timeout_ms, contender->cancellable, &error);
  if (done != (error == NULL))
    {
      sim_world_fail (sim_contender_world (contender), "%s: acquire and its error differ",
                      contender->name);
    }
  sim_contender_judge (contender, error);
  if (!done)
    {
      if (recipe->refused != NULL)
        recipe->refused (contender);
      return;
    }
  lease = sim_held_lease (lock);
  lease = lease != NULL ? curator_lease_ref (lease) : NULL;
  believe (contender, lease);
  sim_contender_hold (contender, lease);
  if (be_inside (contender, lease))
    return;
  sim_contender_stop_believing (contender);
  done = curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &release_error);
  sim_contender_judge_release (contender, done, release_error);
  if (!recipe->shared_hold && curator_lock_is_owned_by_current_thread (lock))
    {
      sim_world_fail (sim_contender_world (contender), "%s: still the owner after release",
                      contender->name);
    }
}

static void
release_lease (SimContender *contender, CuratorLease *lease)
{
  g_autoptr (GError) error = NULL;
  gboolean done;

  sim_contender_stop_believing (contender);
  if (sim_contender_below (contender, 4) == 0)
    return; /* dropping the last reference releases */
  done = curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, &error);
  sim_contender_judge_release (contender, done, error);
}

static void
hold_lease (SimContender *contender)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLease) lease = NULL;

  sim_contender_begin_call (contender);
  lease = curator_lock_acquire_lease (contender->lock, contender->timeout_ms,
                                      contender->cancellable, &error);
  sim_contender_judge (contender, error);
  if (lease != NULL)
    {
      believe (contender, lease);
      sim_contender_hold (contender, lease);
      release_lease (contender, lease);
    }
}

void
sim_contender_tell (SimContender *contender)
{
  CuratorZkOps *ops = sim_process_ops (contender->member->process);

  pthread_mutex_lock (&contender->mutex);
  if (contender->told)
    {
      sim_world_fail (sim_contender_world (contender), "%s: callback called twice",
                      contender->name);
    }
  contender->told = TRUE;
  ops->wake (ops, &contender->cond);
  pthread_mutex_unlock (&contender->mutex);
}

void
sim_contender_wait (SimContender *contender)
{
  CuratorZkOps *ops = sim_process_ops (contender->member->process);

  pthread_mutex_lock (&contender->mutex);
  while (!contender->told)
    ops->wait (ops, &contender->cond, &contender->mutex);
  pthread_mutex_unlock (&contender->mutex);
}

static void
on_acquired (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  SimContender *contender = data;

  (void) lock;
  sim_contender_judge (contender, error);
  contender->result = lease;
  if (lease != NULL)
    believe (contender, lease);
  sim_contender_tell (contender);
}

static void
hold_by_callback (SimContender *contender)
{
  g_autoptr (CuratorLease) lease = NULL;

  sim_contender_begin_call (contender);
  contender->told = FALSE;
  curator_lock_acquire_then (contender->lock, contender->timeout_ms, contender->cancellable,
                             on_acquired, contender);
  sim_contender_wait (contender);
  lease = g_steal_pointer (&contender->result);
  if (lease != NULL)
    {
      sim_contender_hold (contender, lease);
      release_lease (contender, lease);
    }
}

static void
some_round (SimContender *contender)
{
  const SimRecipe *recipe = contender->member->contest->recipe;

  contender->lock = recipe->choose != NULL ? recipe->choose (contender) : contender->member->lock;
  switch (sim_contender_below (contender, 4))
    {
    case 0:
      hold_lease (contender);
      break;
    case 1:
      hold_by_callback (contender);
      break;
    default:
      hold_by_thread (contender);
      break;
    }
}

void
sim_contend (gpointer data)
{
  SimContender *contender = data;
  SimMember *member = contender->member;
  const SimRecipe *recipe = member->contest->recipe;

  for (int i = 0; i < member->contest->rules.n_rounds; i++)
    {
      if (sim_process_is_dead (member->process) || member->closed)
        break;
      if (sim_contender_below (contender, 3) == 0)
        sim_sleep_us (sim_contender_world (contender), sim_contender_below (contender, 30000));
      (recipe->round != NULL ? recipe->round : some_round) (contender);
    }
  contender->done = TRUE;
}
