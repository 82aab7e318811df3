/* When an attempt lists: at once, or a little after the end of the node that it has come back behind.
 *
 * Mirrors LockInternals.internalLockLoop, whose contenders list at once. Threads: watch events arrive on
 * ZooKeeper's thread, timers fire on the timer lane; guarded by the client's mutex.
 */
#include "lock/attempt-private.h"

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

static CURATOR_LOCKED void
list_now (gpointer data)
{
  Attempt *attempt = data;

  if (attempt->tail != NULL)
    {
      attempt->tail->list_timer = NULL;
    }
  curator_attempt_forget_tail (attempt);
  curator_attempt_enter (attempt, ATTEMPT_LISTING);
}

void
curator_attempt_list_in_time (Attempt *attempt)
{
  CuratorTail *tail = attempt->tail;
  gint64 pause_us = 0;

  if (tail != NULL)
    {
      pause_us = curator_line_list_pause_us (attempt->line, attempt->place.number - tail->number);
    }
  if (pause_us == 0)
    {
      list_now (attempt);
      return;
    }
  tail->list_timer = curator_timer_after (attempt->op.client, pause_us, list_now, attempt);
}
