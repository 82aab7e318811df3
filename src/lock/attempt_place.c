/* Takes over an attempt's new node: heartbeat, and place among its neighbours.
 *
 * Curator has no counterpart. Threads: any; guarded by the client's mutex.
 */
#include "lock/attempt-private.h"

#include "base/container.h"
#include "lock/queue.h"
#include "session/heartbeat.h"

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
  attempt->is_unseen = FALSE;
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
      curator_attempt_forget_tail (attempt);
      curator_attempt_wait_behind (attempt);
      return;
    }
  curator_attempt_set_state (attempt, ATTEMPT_LISTING);
  if (!curator_attempt_return_behind_tail (attempt) && attempt->listing.listing == NULL)
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
      curator_attempt_wait_for (attempt, leaf, NULL);
    }
}

const CuratorPlaceClass curator_attempt_place_class = { on_ahead_left, on_ahead_held };
