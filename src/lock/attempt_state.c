/* What an attempt is and which state it is in: read by every file of it, set here only.
 *
 * Threads: any; guarded by the client's mutex.
 */
#include "lock/attempt-private.h"

gboolean
curator_attempt_is_sequential (const Attempt *attempt)
{
  return attempt->wanted->mode == CURATOR_CREATE_EPHEMERAL_SEQUENTIAL
         || attempt->wanted->mode == CURATOR_CREATE_PERSISTENT_SEQUENTIAL;
}

gboolean
curator_attempt_is_ephemeral (const Attempt *attempt)
{
  return attempt->wanted->mode == CURATOR_CREATE_EPHEMERAL
         || attempt->wanted->mode == CURATOR_CREATE_EPHEMERAL_SEQUENTIAL;
}

/* Without a number a node has no place in a queue: its creation is the grant, unless the driver
 * wants to see the children. */
gboolean
curator_attempt_has_queue (const Attempt *attempt)
{
  const CuratorLockDriver *driver = attempt->internals->driver;
  return curator_attempt_is_sequential (attempt)
         || (!driver->is_ours && driver->funcs.gets_the_lock != NULL);
}

const char *
curator_attempt_name (const Attempt *attempt)
{
  return attempt->wanted->name != NULL ? attempt->wanted->name : attempt->internals->lock_name;
}

void
curator_attempt_set_state (Attempt *attempt, AttemptState state)
{
  static const char *const names[] = { "STARTING",   "CREATING", "PARENTS",  "FINDING",
                                       "TAKEN",      "LISTING",  "DECIDING", "WAITING",
                                       "CONFIRMING", "LEAVING",  "DONE" };
  if (attempt->state != state)
    {
      curator_debug ("attempt on %s: %s -> %s", attempt->internals->base, names[attempt->state],
                     names[state]);
      attempt->state = state;
    }
}

void
curator_attempt_forget_request (CuratorRequest **request)
{
  if (*request != NULL)
    {
      curator_request_forget (*request);
      *request = NULL;
    }
}

void
curator_attempt_forget_read (Attempt *attempt)
{
  curator_attempt_forget_request (&attempt->read);
  curator_listing_leave (&attempt->listing);
}

/* @locks client mutex required. Enters a state whose step is tried now, and again as the policy says. */
void
curator_attempt_enter (Attempt *attempt, AttemptState state)
{
  curator_attempt_forget_request (&attempt->read);
  if (state != ATTEMPT_LISTING)
    {
      curator_listing_leave (&attempt->listing);
    }
  curator_attempt_set_state (attempt, state);
  curator_retry_loop_begin (&attempt->tries);
}
