/* A contender that comes back: it waits behind one of the last nodes that a list has shown to its session.
 *
 * Curator has no counterpart: its contenders list at each arrival. Threads: answers and watch events
 * arrive on ZooKeeper's thread; guarded by the client's mutex.
 *
 * NOTES: the lock cannot be ours while any node with a lower number exists, so waiting for one and
 * listing at its end is safe, whatever else has happened. A node with a higher number must not be
 * waited for: it may wait for ours. The numbers restart when the parent is recreated.
 */
#include "lock/attempt-private.h"

#include "base/path.h"
#include "session/heartbeat.h"

/* Others that have come back probably wait behind a node that is this far in front, too: its end would make
 * all of them list. */
#define FAR 16

static CURATOR_LOCKED void
wait_behind_tail (Attempt *attempt)
{
  g_clear_pointer (&attempt->watch, curator_watch_release);
  attempt->watch = g_steal_pointer (&attempt->tail_watch);
  attempt->watches_parent = FALSE;
  curator_watch_set_func (attempt->watch, curator_attempt_on_watch);
  curator_attempt_wait_for (attempt, attempt->tail->leaf, NULL);
  curator_stake_set_near (curator_own_node_stake (&attempt->own), FALSE);
}

/* The read has been sent behind the create: what it finds is in front, unless its number is higher. */
static CURATOR_LOCKED void
on_tail_watch (CuratorWatch *watch, CuratorWatchEvent event, int rc, const CuratorZkReply *reply,
               gpointer data)
{
  Attempt *attempt = data;
  const gboolean has_node = attempt->state == ATTEMPT_LISTING;

  if (event == CURATOR_WATCH_ARMED)
    {
      attempt->tail_is_there = TRUE;
      if (has_node)
        {
          wait_behind_tail (attempt);
        }
    }
  else if (event == CURATOR_WATCH_GONE || event == CURATOR_WATCH_FAILED)
    {
      curator_attempt_forget_tail (attempt);
      if (has_node)
        {
          curator_attempt_enter (attempt, ATTEMPT_LISTING);
        }
    }
}

gboolean
curator_attempt_watch_tail (Attempt *attempt)
{
  CuratorLockInternals *internals = attempt->internals;

  if (attempt->once || !curator_own_node_has_neighbours (&attempt->own))
    {
      return FALSE;
    }
  attempt->tail = curator_line_take_tail (attempt->line, internals->lock_name);
  if (attempt->tail != NULL)
    {
      g_autofree char *path = curator_path_join (internals->base, attempt->tail->leaf);
      attempt->tail_watch = curator_watch_add (attempt->session, path, ZWATCHTYPE_DATA,
                                               CURATOR_WATCH_OPTIONAL, on_tail_watch, attempt);
    }
  if (attempt->tail_watch == NULL)
    {
      curator_attempt_forget_tail (attempt);
    }
  return attempt->tail != NULL;
}

gboolean
curator_attempt_return_behind_tail (Attempt *attempt)
{
  if (attempt->tail == NULL)
    {
      return FALSE;
    }
  if (attempt->place.line == NULL || attempt->tail->number >= attempt->place.number
      || attempt->place.number - attempt->tail->number > FAR)
    {
      curator_attempt_forget_tail (attempt);
      return FALSE;
    }
  if (attempt->tail_is_there)
    {
      wait_behind_tail (attempt);
    }
  return TRUE;
}
