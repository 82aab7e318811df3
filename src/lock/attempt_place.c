/* Takes over an attempt's new node: heartbeat, own watch, and place among its neighbours.
 *
 * Curator has no counterpart. Threads: any; guarded by the client's mutex.
 */
#include "lock/attempt-private.h"

#include "base/container.h"
#include "base/path.h"
#include "lock/queue.h"
#include "lock/revocation.h"
#include "session/heartbeat.h"

/* A heartbeat found our node gone, whatever an earlier list showed. */
static CURATOR_LOCKED void
on_stake_changed (CuratorStake *stake, CuratorLeaseState state)
{
  Attempt *attempt = CURATOR_CONTAINER (stake, Attempt, stake);
  curator_attempt_restart (attempt, ZNONODE);
}

/* Only for a built-in driver: a user's is never called with the mutex held. -1 for a name
 * without a number; one beyond the last if the counter broke. */
static CURATOR_LOCKED gint64
number_of_node (Attempt *attempt)
{
  const char *key =
      curator_lock_internals_key (curator_path_leaf (attempt->node), attempt->internals);
  gint64 number;
  if (!curator_queue_parse_number (key, &number))
    {
      return -1;
    }
  return number >= 0 ? number : CURATOR_QUEUE_LAST_NUMBER + 1;
}

static CURATOR_LOCKED void
take_place (Attempt *attempt)
{
  const gint64 number = curator_attempt_has_neighbours (attempt) ? number_of_node (attempt) : -1;
  if (number >= 0)
    {
      curator_place_take (&attempt->place, attempt->line, attempt->internals->lock_name, number);
    }
}

void
curator_attempt_adopt_node (Attempt *attempt, const char *path, gint64 czxid)
{
  CuratorLockInternals *internals = attempt->internals;

  attempt->unknown = FALSE;
  attempt->is_unseen = FALSE;
  attempt->node = g_strdup (path);
  g_clear_pointer (&attempt->prefix, g_free);
  attempt->czxid = czxid;
  attempt->stake.path = attempt->node;
  attempt->stake.czxid = czxid;
  attempt->stake.needs_read = !attempt->request->protected_;
  attempt->stake.refuses_check = FALSE;
  attempt->stake.changed = on_stake_changed;
  g_queue_push_tail_link (&internals->attempts, &attempt->link);
  attempt->linked = TRUE;
  if (curator_attempt_is_sequential (attempt) && internals->driver->is_builtin
      && number_of_node (attempt) > CURATOR_QUEUE_LAST_NUMBER)
    {
      const CuratorVerdict verdict = { .kind = VERDICT_EXHAUSTED };
      curator_attempt_apply_verdict (attempt, &verdict);
      return;
    }
  take_place (attempt);
  const CuratorPlace *ahead = attempt->place.ahead;
  curator_stake_register (&attempt->stake, attempt->session,
                          ahead != NULL && !ahead->is_held ? CURATOR_STAKE_FAR
                                                           : CURATOR_STAKE_NEAR);
  if (curator_revocation_is_on (internals))
    {
      attempt->own_watch = curator_own_watch_new (internals, attempt->session, path, czxid);
    }
  if (!curator_attempt_has_queue (attempt))
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
  curator_stake_set_near (&attempt->stake, TRUE);
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
