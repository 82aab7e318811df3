/* How an attempt waits in the queue, once its node is there: behind a node of its session, a known node, or what a list
 * shows.
 *
 * Mirrors LockInternals.internalLockLoop. Threads: watch events and lists arrive on ZooKeeper's
 * thread; guarded by the client's mutex.
 */
#include "lock/attempt-private.h"

#include "base/container.h"
#include "session/heartbeat.h"

/* A listing in flight will show every change known so far. */
void
curator_attempt_list (gpointer data)
{
  Attempt *attempt = data;
  if (attempt->listing.listing != NULL)
    {
      return;
    }
  curator_listing_join (&attempt->listing, attempt->line, attempt->create_number);
}

/* FALSE for a single try with a contender in front, which has then failed. */
static CURATOR_LOCKED gboolean
begin_to_wait (Attempt *attempt)
{
  attempt->op.client->n_waiting += attempt->has_waited ? 0 : 1;
  attempt->has_waited = TRUE;
  if (!attempt->only_litter)
    {
      attempt->behind = TRUE;
      attempt->op.waited = TRUE;
      curator_line_note_contender (attempt->line);
    }
  if (attempt->once && attempt->behind)
    {
      curator_attempt_refuse (attempt);
      return FALSE;
    }
  curator_attempt_set_state (attempt, ATTEMPT_WAITING);
  return TRUE;
}

void
curator_attempt_wait (Attempt *attempt, const CuratorFrontView *view)
{
  const CuratorWatchNeed need = attempt->has_waited ? CURATOR_WATCH_NEEDED : CURATOR_WATCH_NEW;
  CuratorFrontView seen = *view;

  if (!begin_to_wait (attempt))
    {
      g_clear_pointer (&seen.rest, g_ptr_array_unref);
    }
  else if (!curator_front_wait (&attempt->front, &seen, need))
    {
      curator_attempt_fail (
          attempt, g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_LIMIT_EXCEEDED,
                                        "this client has as many watches as one session can have"));
    }
}

void
curator_attempt_wait_for (Attempt *attempt, const char *leaf)
{
  const CuratorFrontView view = { .first = leaf };
  curator_attempt_wait (attempt, &view);
}

/* --- what is in front ------------------------------------------------------------------------- */

static CURATOR_LOCKED void
on_clear (CuratorFront *front, gboolean is_seen)
{
  Attempt *attempt = CURATOR_CONTAINER (front, Attempt, front);
  if (is_seen)
    {
      curator_attempt_grant (attempt);
      return;
    }
  curator_attempt_grant_if_confirmed (attempt);
}

/* Without a node of ours, another one had its name. */
static CURATOR_LOCKED void
on_list (CuratorFront *front, const struct String_vector *children)
{
  Attempt *attempt = CURATOR_CONTAINER (front, Attempt, front);
  if (children != NULL)
    {
      CuratorOrder order = { 0 };
      curator_listing_leave (&attempt->listing);
      curator_attempt_decide (attempt, children, &order);
      curator_queue_clear (&order.queue);
      return;
    }
  curator_attempt_enter (attempt, curator_attempt_node (attempt) != NULL ? ATTEMPT_LISTING
                                                                         : ATTEMPT_STARTING);
}

static CURATOR_LOCKED void
on_list_early (CuratorFront *front)
{
  Attempt *attempt = CURATOR_CONTAINER (front, Attempt, front);
  if (attempt->state == ATTEMPT_WAITING)
    {
      curator_attempt_list (attempt);
    }
}

static CURATOR_LOCKED void
on_waits (CuratorFront *front)
{
  begin_to_wait (CURATOR_CONTAINER (front, Attempt, front));
}

static CURATOR_LOCKED void
on_own_gone (CuratorFront *front)
{
  curator_attempt_restart (CURATOR_CONTAINER (front, Attempt, front), ZNONODE);
}

static CURATOR_LOCKED void
on_failed (CuratorFront *front, int rc)
{
  Attempt *attempt = CURATOR_CONTAINER (front, Attempt, front);
  curator_attempt_set_state (attempt, curator_attempt_node (attempt) != NULL ? ATTEMPT_LISTING
                                                                             : ATTEMPT_NAME_TAKEN);
  curator_attempt_step_failed (attempt, rc, "watching");
}

const CuratorFrontClass curator_attempt_front_class = { on_clear, on_list,     on_list_early,
                                                        on_waits, on_own_gone, on_failed };

/* --- our own node ----------------------------------------------------------------------------- */

static CURATOR_LOCKED void
take_place (Attempt *attempt)
{
  const gint64 number = curator_own_node_number (&attempt->own);
  if (number >= 0 && curator_own_node_has_neighbours (&attempt->own))
    {
      curator_place_take (&attempt->place, attempt->line, attempt->internals->lock_name, number);
    }
}

void
curator_attempt_take_over (Attempt *attempt)
{
  g_queue_push_tail_link (&attempt->internals->attempts, &attempt->link);
  attempt->linked = TRUE;
  if (curator_own_node_number (&attempt->own) > CURATOR_QUEUE_LAST_NUMBER)
    {
      const CuratorVerdict verdict = { .kind = VERDICT_EXHAUSTED };
      curator_attempt_apply_verdict (attempt, &verdict);
      return;
    }
  take_place (attempt);
  const CuratorPlace *ahead = attempt->place.ahead;
  curator_own_node_register (
      &attempt->own, ahead != NULL && !ahead->is_held ? CURATOR_STAKE_FAR : CURATOR_STAKE_NEAR);
  if (!curator_own_node_has_queue (&attempt->own))
    {
      curator_attempt_grant (attempt);
      return;
    }
  if (ahead != NULL)
    {
      curator_listing_leave (&attempt->listing);
      curator_front_wait_for_neighbour (&attempt->front);
      begin_to_wait (attempt);
      return;
    }
  curator_attempt_set_state (attempt, ATTEMPT_LISTING);
  if (!curator_front_place (&attempt->front, attempt->place.line != NULL ? attempt->place.number : -1)
      && attempt->listing.listing == NULL)
    {
      curator_attempt_enter (attempt, ATTEMPT_LISTING);
    }
}

static CURATOR_LOCKED void
on_ahead_held (CuratorPlace *place)
{
  Attempt *attempt = CURATOR_CONTAINER (place, Attempt, place);
  curator_stake_set_near (curator_own_node_stake (&attempt->own), TRUE);
}

static CURATOR_LOCKED void
on_ahead_left (CuratorPlace *place, gboolean released, const char *leaf)
{
  Attempt *attempt = CURATOR_CONTAINER (place, Attempt, place);
  if (released)
    {
      curator_attempt_grant (attempt);
    }
  else
    {
      curator_attempt_wait_for (attempt, leaf);
    }
}

const CuratorPlaceClass curator_attempt_place_class = { on_ahead_left, on_ahead_held };
