/* One contender: acquire in some way, believe, release, again. See sim_contest.h.
 *
 * Runs on its actor's thread with the baton, callbacks on their client's callback lane.
 */
#include "sim_contender.h"

static guint
random_below (SimContender *contender, guint n)
{
  return (guint) g_rand_int_range (sim_world_rand (contender->member->contest->world), 0,
                                   (gint32) n);
}

static SimWorld *
world_of (SimContender *contender)
{
  return contender->member->contest->world;
}

/* --- what a call said ------------------------------------------------------------------------ */

static SimOutcome
outcome_of (const GError *error)
{
  if (error == NULL)
    {
      return SIM_OUTCOME_GRANTED;
    }
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    {
      return SIM_OUTCOME_CANCELLED;
    }
  if (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT))
    {
      return SIM_OUTCOME_TIMED_OUT;
    }
  if (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_CLOSED))
    {
      return SIM_OUTCOME_CLOSED;
    }
  if (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_CONNECTION_LOST)
      || g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_SESSION_EXPIRED))
    {
      return SIM_OUTCOME_CONNECTION;
    }
  return SIM_OUTCOME_OTHER;
}

static gboolean
may_happen (SimContender *contender, SimOutcome outcome)
{
  SimMember *member = contender->member;

  switch (outcome)
    {
    case SIM_OUTCOME_GRANTED:
      return TRUE;
    case SIM_OUTCOME_TIMED_OUT:
      return contender->timeout_ms >= 0;
    case SIM_OUTCOME_CANCELLED:
      return contender->cancellable != NULL && g_cancellable_is_cancelled (contender->cancellable);
    case SIM_OUTCOME_CLOSED:
      return member->closed;
    case SIM_OUTCOME_CONNECTION:
      return !member->contest->rules.calm;
    case SIM_OUTCOME_OTHER:
      return member->contest->rules.any_error;
    case SIM_OUTCOME_LOST_HOLD:
    case SIM_N_OUTCOMES:
      break;
    }
  return FALSE;
}

static void
judge_time (SimContender *contender, SimOutcome outcome)
{
  gint64 took = sim_world_now_us (world_of (contender)) - contender->called_at;
  gint64 allowed = contender->timeout_ms * 1000;

  if (contender->timeout_ms < 0
      || sim_process_n_pauses (contender->member->process) != contender->n_pauses)
    {
      return;
    }
  if (outcome == SIM_OUTCOME_TIMED_OUT && took < allowed)
    {
      sim_world_fail (world_of (contender), "%s: timed out after %.3f of %.3f ms", contender->name,
                      (double) took / 1000.0, (double) allowed / 1000.0);
    }
  /* Trying once takes as long as the server takes. */
  if (contender->timeout_ms > 0 && took > allowed + 100 * 1000)
    {
      sim_world_fail (world_of (contender), "%s: returned after %.3f of %.3f ms", contender->name,
                      (double) took / 1000.0, (double) allowed / 1000.0);
    }
}

static void
judge (SimContender *contender, const GError *error)
{
  SimOutcome outcome = outcome_of (error);

  sim_trace (world_of (contender), "%s: acquire says %s", contender->name,
             error == NULL ? "yes" : error->message);
  if (sim_process_is_dead (contender->member->process))
    {
      return;
    }
  contender->member->contest->outcomes[outcome]++;
  if (!may_happen (contender, outcome))
    {
      sim_world_fail (world_of (contender), "%s: unexpected outcome of acquire: %s, %d, %s",
                      contender->name, g_quark_to_string (error->domain), error->code,
                      error->message);
    }
  judge_time (contender, outcome);
}

/* --- before and while holding ------------------------------------------------------------------ */

static gint64
some_timeout_ms (SimContender *contender)
{
  switch (random_below (contender, 6))
    {
    case 0:
      return 0;
    case 1:
      return 1 + random_below (contender, 50);
    case 2:
      return 500 + random_below (contender, 10000);
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

  sim_sleep_us (world_of (contender),
                (gint64) random_below (contender, 4) * random_below (contender, 50000));
  sim_trace (world_of (contender), "%s: cancel", contender->name);
  g_cancellable_cancel (what->cancellable);
  g_object_unref (what->cancellable);
  g_free (what);
}

static void
begin_call (SimContender *contender)
{
  contender->timeout_ms = some_timeout_ms (contender);
  contender->called_at = sim_world_now_us (world_of (contender));
  contender->n_pauses = sim_process_n_pauses (contender->member->process);
  g_clear_object (&contender->cancellable);
  if (random_below (contender, 8) == 0)
    {
      g_autofree char *name = g_strconcat (contender->name, "/cancel", NULL);
      Cancel *what = g_new (Cancel, 1);

      contender->cancellable = g_cancellable_new ();
      what->contender = contender;
      what->cancellable = g_object_ref (contender->cancellable);
      sim_actor_new (world_of (contender), contender->member->process, name, cancel, what);
    }
  sim_trace (world_of (contender), "%s: acquire, %d ms", contender->name,
             (int) contender->timeout_ms);
}

static void
hold (SimContender *contender, CuratorLease *lease)
{
  gint64 us = random_below (contender, 20000);

  if (random_below (contender, 12) == 0)
    {
      us += (gint64) random_below (contender, 1500)
            * contender->member->contest->rules.session_timeout_ms;
    }
  if (contender->member->contest->rules.long_holds)
    {
      us = (gint64) random_below (contender, 3000)
           * contender->member->contest->rules.session_timeout_ms;
    }
  if (random_below (contender, 3) != 0)
    {
      sim_sleep_us (world_of (contender), us);
    }
  if (curator_lease_get_state (lease) == CURATOR_LEASE_LOST)
    {
      contender->member->contest->outcomes[SIM_OUTCOME_LOST_HOLD]++;
      if (contender->member->contest->rules.calm)
        {
          sim_world_fail (world_of (contender), "%s: lost for no reason", contender->name);
        }
    }
}

static guint
believe (SimContender *contender, CuratorLease *lease)
{
  return sim_check_granted (contender->member->contest->check, contender->member->process,
                            contender->name, lease, curator_lease_get_fencing_token (lease));
}

static void
stop_believing (SimContender *contender, guint belief)
{
  sim_check_released (contender->member->contest->check, belief);
}

static void
judge_release (SimContender *contender, gboolean done, const GError *error)
{
  sim_trace (world_of (contender), "%s: release says %s", contender->name,
             error == NULL ? "yes" : error->message);
  if (done != (error == NULL))
    {
      sim_world_fail (world_of (contender), "%s: release and its error differ", contender->name);
    }
  if (error == NULL || contender->member->contest->rules.any_error
      || sim_process_is_dead (contender->member->process)
      || g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_LOCK_LOST)
      || g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_RELEASE_PENDING)
      || (contender->member->closed
          && g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_CLOSED)))
    {
      return;
    }
  sim_world_fail (world_of (contender), "%s: unexpected outcome of release: %s", contender->name,
                  error->message);
}

/* --- the three ways ------------------------------------------------------------------------------ */

static void
enter_again (SimContender *contender, CuratorLease *lease)
{
  g_autoptr (GError) error = NULL;
  CuratorLock *lock = contender->member->lock;

  if (curator_lock_acquire (lock, 0, NULL, &error))
    {
      g_autoptr (GError) release_error = NULL;
      gboolean done;

      if (curator_lock_get_lease (lock) != lease)
        {
          sim_world_fail (world_of (contender), "%s: another lease at re-entry", contender->name);
        }
      done = curator_lock_release (lock, &release_error);
      judge_release (contender, done, release_error);
    }
  else if (!g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_LOCK_LOST)
           && !contender->member->closed)
    {
      sim_world_fail (world_of (contender), "%s: re-entry says %s", contender->name,
                      error->message);
    }
}

static void
hold_by_thread (SimContender *contender)
{
  CuratorLock *lock = contender->member->lock;
  g_autoptr (GError) error = NULL;
  g_autoptr (GError) release_error = NULL;
  g_autoptr (CuratorLease) lease = NULL;
  gboolean done;
  guint belief;

  begin_call (contender);
  done = curator_lock_acquire (lock, contender->timeout_ms, contender->cancellable, &error);
  if (done != (error == NULL))
    {
      sim_world_fail (world_of (contender), "%s: acquire and its error differ", contender->name);
    }
  judge (contender, error);
  if (!done)
    {
      return;
    }
  lease = curator_lease_ref (curator_lock_get_lease (lock));
  belief = believe (contender, lease);
  hold (contender, lease);
  if (random_below (contender, 4) == 0)
    {
      enter_again (contender, lease);
    }
  stop_believing (contender, belief);
  done = curator_lock_release (lock, &release_error);
  judge_release (contender, done, release_error);
  if (curator_lock_is_owned_by_current_thread (lock))
    {
      sim_world_fail (world_of (contender), "%s: still the owner after release", contender->name);
    }
}

static void
release_lease (SimContender *contender, CuratorLease *lease, guint belief)
{
  g_autoptr (GError) error = NULL;
  gboolean done;

  stop_believing (contender, belief);
  if (random_below (contender, 4) == 0)
    {
      return; /* the last reference releases */
    }
  done = curator_lease_release (lease, &error);
  judge_release (contender, done, error);
}

static void
hold_lease (SimContender *contender)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLease) lease = NULL;

  begin_call (contender);
  lease = curator_lock_acquire_lease (contender->member->lock, contender->timeout_ms,
                                      contender->cancellable, &error);
  judge (contender, error);
  if (lease != NULL)
    {
      guint belief = believe (contender, lease);

      hold (contender, lease);
      release_lease (contender, lease, belief);
    }
}

static void
on_acquired (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  SimContender *contender = data;
  CuratorZkOps *ops = sim_process_ops (contender->member->process);

  (void) lock;
  judge (contender, error);
  contender->lease = lease;
  contender->belief = lease == NULL ? 0 : believe (contender, lease);
  pthread_mutex_lock (&contender->mutex);
  if (contender->told)
    {
      sim_world_fail (world_of (contender), "%s: told twice", contender->name);
    }
  contender->told = TRUE;
  ops->wake (ops, &contender->cond);
  pthread_mutex_unlock (&contender->mutex);
}

static void
hold_by_callback (SimContender *contender)
{
  CuratorZkOps *ops = sim_process_ops (contender->member->process);
  g_autoptr (CuratorLease) lease = NULL;

  begin_call (contender);
  contender->told = FALSE;
  curator_lock_acquire_async (contender->member->lock, contender->timeout_ms,
                              contender->cancellable, on_acquired, contender);
  pthread_mutex_lock (&contender->mutex);
  while (!contender->told)
    {
      ops->wait (ops, &contender->cond, &contender->mutex);
    }
  pthread_mutex_unlock (&contender->mutex);
  lease = g_steal_pointer (&contender->lease);
  if (lease != NULL)
    {
      hold (contender, lease);
      release_lease (contender, lease, contender->belief);
    }
}

void
sim_contend (gpointer data)
{
  SimContender *contender = data;
  SimMember *member = contender->member;

  for (int i = 0; i < member->contest->rules.n_rounds; i++)
    {
      if (sim_process_is_dead (member->process) || member->closed)
        {
          return;
        }
      if (random_below (contender, 3) == 0)
        {
          sim_sleep_us (world_of (contender), random_below (contender, 30000));
        }
      switch (random_below (contender, 4))
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
}
