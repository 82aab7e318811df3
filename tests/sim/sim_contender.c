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
  return (guint) g_rand_int_range (contender->world->rand, 0, (gint32) n);
}

void
sim_contender_fail (SimContender *contender, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_autofree char *what = g_strdup_vprintf (format, args);
  va_end (args);
  sim_world_fail (contender->world, "%s: %s", contender->name, what);
}

/* --- results of calls ------------------------------------------------------------------------ */

static gboolean
may_happen (SimContender *contender, const GError *error)
{
  const SimContestRules *rules = &contender->contest->rules;

  if (error == NULL)
    return TRUE;
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return contender->cancellable != NULL && g_cancellable_is_cancelled (contender->cancellable);
  if (error->domain != CURATOR_ERROR)
    return rules->any_error;
  switch (error->code) {
  case CURATOR_ERROR_TIMED_OUT:
    /* Of a contender of the same client it may have known before. */
    return contender->timeout_ms != CURATOR_WAIT_FOREVER
           && (rules->n_contenders > 1 || contender->timeout_ms == 0
               || contender->process->n_answers != contender->n_answers);
  case CURATOR_ERROR_CLOSED:
    return contender->member->closed;
  case CURATOR_ERROR_CONNECTION_LOST:
  case CURATOR_ERROR_RESOURCES:
  case CURATOR_ERROR_NO_ANSWER:
  case CURATOR_ERROR_SESSION_EXPIRED:
    /* Without faults only a deadline that is shorter than the server takes ends so. */
    return !rules->calm || (contender->timeout_ms > 0 && contender->timeout_ms <= SHORT_TIMEOUT_MS);
  case CURATOR_ERROR_LOCK_LOST:
    return rules->any_error || contender->may_be_lost
           || (contender->contest->recipe->shared_hold && !rules->calm);
  default:
    return rules->any_error;
  }
}

static void
judge_time (SimContender *contender, const GError *error)
{
  const gint64 took = contender->world->now - contender->called_at;

  if (contender->timeout_ms == CURATOR_WAIT_FOREVER
      || contender->process->n_pauses != contender->n_pauses)
    return;
  const gint64 allowed = contender->timeout_ms * 1000;
  /* Trying once takes as long as the server takes. */
  if ((g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT) && took < allowed)
      || (contender->timeout_ms > 0 && took > allowed + 100 * 1000)) {
    sim_contender_fail (contender, "returned after %.3f of %.3f ms", (double) took / 1000.0,
                        (double) allowed / 1000.0);
  }
}

void
sim_contender_judge (SimContender *contender, const GError *error)
{
  sim_trace (contender->world, "%s: acquired: %s", contender->name,
             error == NULL ? "yes" : error->message);
  if (sim_process_is_dead (contender->process))
    return;
  contender->contest->n_granted += error == NULL ? 1 : 0;
  if (!may_happen (contender, error)) {
    sim_contender_fail (contender, "unexpected outcome of acquire: %s, %d, %s",
                        g_quark_to_string (error->domain), error->code, error->message);
  }
  judge_time (contender, error);
}

static void
judge_release (SimContender *contender, gboolean done, const GError *error)
{
  sim_trace (contender->world, "%s: released: %s", contender->name,
             error == NULL ? "yes" : error->message);
  if (done != (error == NULL))
    sim_contender_fail (contender, "release and its error differ");
  if (error != NULL && !contender->contest->rules.any_error
      && !sim_process_is_dead (contender->process)
      && !g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_LOCK_LOST)
      && !g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_RELEASE_PENDING)
      && !(contender->member->closed
           && g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_CLOSED)))
    sim_contender_fail (contender, "unexpected outcome of release: %s", error->message);
}

void
sim_contender_release (SimContender *contender, CuratorLock *lock)
{
  g_autoptr (GError) error = NULL;
  const gboolean done = curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error);

  judge_release (contender, done, error);
}

void
sim_contender_release_lease (SimContender *contender, CuratorLease *lease)
{
  g_autoptr (GError) error = NULL;
  const gboolean done = curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, &error);

  judge_release (contender, done, error);
}

/* --- before and while holding ----------------------------------------------------------------- */

static gint64
some_timeout_ms (SimContender *contender)
{
  switch (sim_contender_below (contender, 6)) {
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

static void
begin_call (SimContender *contender, gint64 timeout_ms)
{
  contender->timeout_ms = timeout_ms;
  contender->called_at = contender->world->now;
  contender->n_pauses = contender->process->n_pauses;
  contender->n_answers = contender->process->n_answers;
  g_clear_object (&contender->cancellable);
}

typedef struct
{
  SimContender *contender;
  GCancellable *cancellable; /* of one call */
} Cancel;

static void
cancel (gpointer data)
{
  g_autofree Cancel *what = data;
  SimContender *contender = what->contender;

  sim_sleep_us (contender->world, (gint64) sim_contender_below (contender, 4)
                                      * sim_contender_below (contender, 50000));
  sim_trace (contender->world, "%s: cancel", contender->name);
  g_cancellable_cancel (what->cancellable);
  g_object_unref (what->cancellable);
}

void
sim_contender_begin_call (SimContender *contender)
{
  begin_call (contender, some_timeout_ms (contender));
  if (sim_contender_below (contender, 8) == 0) {
    g_autofree char *name = g_strconcat (contender->name, "/cancel", NULL);
    Cancel *what = g_new (Cancel, 1);

    contender->cancellable = g_cancellable_new ();
    *what = (Cancel){ contender, g_object_ref (contender->cancellable) };
    sim_actor_new (contender->world, contender->process, name, cancel, what);
  }
  sim_trace (contender->world, "%s: acquire, %d ms", contender->name, (int) contender->timeout_ms);
}

void
sim_contender_hold (SimContender *contender, CuratorLease *lease)
{
  const SimContestRules *rules = &contender->contest->rules;
  gint64 us = sim_contender_below (contender, 20000);

  if (sim_contender_below (contender, 12) == 0)
    us += (gint64) sim_contender_below (contender, 1500) * rules->session_timeout_ms;
  if (rules->long_holds)
    us = (gint64) sim_contender_below (contender, 3000) * rules->session_timeout_ms;
  if (sim_contender_below (contender, 3) != 0)
    sim_sleep_us (contender->world, us);
  if (rules->calm && lease != NULL && curator_lease_get_state (lease) == CURATOR_LEASE_STATE_LOST)
    sim_contender_fail (contender, "lost for no reason");
}

SimBelief *
sim_contender_believe (SimContender *contender, int check, gpointer lease, SimHoldKind kind,
                       guint64 token, guint limit)
{
  const SimGrant grant = { .process = contender->process,
                           .who = contender->name,
                           .lease = lease,
                           .kind = kind,
                           .token = token,
                           .limit = limit,
                           .called_at = contender->called_at };

  return sim_check_granted (contender->contest->checks[check], &grant);
}

static void
believe (SimContender *contender, CuratorLease *lease)
{
  const SimRecipe *recipe = contender->contest->recipe;

  if (recipe->believe != NULL)
    recipe->believe (contender, lease);
  else
    contender->beliefs[0] = sim_contender_believe (contender, 0, lease, SIM_HOLD_ALONE,
                                                   curator_lease_get_fencing_token (lease), 0);
}

void
sim_contender_stop_believing (SimContender *contender)
{
  for (int i = 0; i < SIM_MAX_CHECKS; i++) {
    if (contender->beliefs[i] != NULL) {
      sim_check_released (contender->contest->checks[i], g_steal_pointer (&contender->beliefs[i]));
    }
  }
}

CuratorLease *
sim_held_lease (CuratorLock *lock)
{
  return lock->internals != NULL ? held_lease (lock) : NULL;
}

/* --- re-entrance ----------------------------------------------------------------------------- */

void
sim_contender_enter_again (SimContender *contender, CuratorLock *lock, CuratorLease *lease)
{
  g_autoptr (GError) error = NULL;
  const gboolean lost = curator_lease_get_state (lease) == CURATOR_LEASE_STATE_LOST;

  if (curator_lock_acquire (lock, 0, NULL, &error)) {
    if (sim_held_lease (lock) != lease)
      sim_contender_fail (contender, "re-entry returned another lease");
    if (lost)
      sim_contender_fail (contender, "a lost hold was entered again");
    sim_contender_release (contender, lock);
  } else if (!g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_LOCK_LOST)
             && !contender->member->closed)
    sim_contender_fail (contender, "re-entry failed: %s", error->message);
}

void
sim_contender_enter_in_vain (SimContender *contender, CuratorLease *lease)
{
  g_autoptr (GError) error = NULL;

  begin_call (contender, 0);
  contender->may_be_lost = TRUE;
  if (curator_lock_acquire (contender->lock, 0, NULL, &error)) {
    if (lease != NULL && curator_lease_get_remaining_ms (lease) > 0)
      sim_contender_fail (contender, "entered twice");
    curator_lock_release (contender->lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
  }
  sim_contender_judge (contender, error);
  contender->may_be_lost = FALSE;
}

/* --- the three ways --------------------------------------------------------------------------- */

/* TRUE if the hold was given back in there. */
static gboolean
be_inside (SimContender *contender, CuratorLease *lease)
{
  const SimRecipe *recipe = contender->contest->recipe;

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
  const SimRecipe *recipe = contender->contest->recipe;
  CuratorLock *lock = contender->lock;
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLease) lease = NULL;

  sim_contender_begin_call (contender);
  const gboolean done =
      curator_lock_acquire (lock, contender->timeout_ms, contender->cancellable, &error);
  if (done != (error == NULL))
    sim_contender_fail (contender, "acquire and its error differ");
  sim_contender_judge (contender, error);
  if (!done) {
    if (recipe->refused != NULL)
      recipe->refused (contender);
    return;
  }
  if (sim_held_lease (lock) != NULL)
    lease = curator_lease_ref (sim_held_lease (lock));
  believe (contender, lease);
  sim_contender_hold (contender, lease);
  if (be_inside (contender, lease))
    return;
  sim_contender_stop_believing (contender);
  sim_contender_release (contender, lock);
  if (!recipe->shared_hold && curator_lock_is_owned_by_current_thread (lock))
    sim_contender_fail (contender, "still the owner after release");
}

/* Unless the call has failed. */
static void
hold_lease (SimContender *contender, CuratorLease *lease)
{
  if (lease == NULL)
    return;
  sim_contender_hold (contender, lease);
  sim_contender_stop_believing (contender);
  /* Dropping the last reference releases. */
  if (sim_contender_below (contender, 4) != 0)
    sim_contender_release_lease (contender, lease);
  curator_lease_unref (lease);
}

static void
judge_lease (SimContender *contender, CuratorLease *lease, const GError *error)
{
  sim_contender_judge (contender, error);
  if (lease != NULL)
    believe (contender, lease);
}

static void
hold_by_lease (SimContender *contender)
{
  g_autoptr (GError) error = NULL;

  sim_contender_begin_call (contender);
  CuratorLease *lease = curator_lock_acquire_lease (contender->lock, contender->timeout_ms,
                                                    contender->cancellable, &error);
  judge_lease (contender, lease, error);
  hold_lease (contender, lease);
}

void
sim_contender_tell (SimContender *contender)
{
  CuratorZkOps *ops = &contender->process->ops;

  pthread_mutex_lock (&contender->mutex);
  if (contender->told)
    sim_contender_fail (contender, "callback called twice");
  contender->told = TRUE;
  ops->wake (ops, &contender->cond);
  pthread_mutex_unlock (&contender->mutex);
}

void
sim_contender_wait (SimContender *contender)
{
  CuratorZkOps *ops = &contender->process->ops;

  pthread_mutex_lock (&contender->mutex);
  while (!contender->told)
    ops->wait (ops, &contender->cond, &contender->mutex);
  pthread_mutex_unlock (&contender->mutex);
}

static void
on_acquired (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  SimContender *contender = data;

  judge_lease (contender, lease, error);
  contender->result = lease;
  sim_contender_tell (contender);
}

static void
hold_by_callback (SimContender *contender)
{
  sim_contender_begin_call (contender);
  contender->told = FALSE;
  curator_lock_acquire_then (contender->lock, contender->timeout_ms, contender->cancellable,
                             on_acquired, contender);
  sim_contender_wait (contender);
  hold_lease (contender, g_steal_pointer (&contender->result));
}

static void
some_round (SimContender *contender)
{
  static void (*const ways[]) (SimContender *) = { hold_by_lease, hold_by_callback, hold_by_thread,
                                                   hold_by_thread };
  const SimRecipe *recipe = contender->contest->recipe;

  contender->lock = recipe->choose != NULL ? recipe->choose (contender) : contender->member->lock;
  ways[sim_contender_below (contender, G_N_ELEMENTS (ways))](contender);
}

void
sim_contend (gpointer data)
{
  SimContender *contender = data;
  const SimRecipe *recipe = contender->contest->recipe;

  for (int i = 0; i < contender->contest->rules.n_rounds; i++) {
    if (sim_process_is_dead (contender->process) || contender->member->closed)
      break;
    if (sim_contender_below (contender, 3) == 0)
      sim_sleep_us (contender->world, sim_contender_below (contender, 30000));
    (recipe->round != NULL ? recipe->round : some_round) (contender);
  }
  contender->done = TRUE;
}
