/* The states of an attempt and what may follow each; the only place that sets them.
 *
 * Curator has no counterpart. Threads: any; guarded by the client's mutex.
 */
#include "lock/attempt-private.h"

typedef struct
{
  const char *name;
  guint next;          /* bits: the states that may follow; any may be entered again */
  gboolean is_passive; /* waits for an event: no step and no retry timer runs */
  gboolean is_later;   /* the first list has not granted the lock */
} StateRow;

#define BIT(state) (1U << ATTEMPT_##state)
/* What may follow once the node exists. */
#define WITH_NODE (BIT (WAITING) | BIT (CONFIRMING) | BIT (STARTING) | BIT (DELETING) | BIT (DONE))

static const StateRow rows[] = {
  [ATTEMPT_STARTING] = { "STARTING", BIT (CREATING) | BIT (DONE), FALSE, TRUE },
  [ATTEMPT_CREATING] = { "CREATING",
                         BIT (PARENTS) | BIT (NAME_TAKEN) | BIT (FINDING) | BIT (LISTING)
                             | WITH_NODE,
                         FALSE, FALSE },
  [ATTEMPT_PARENTS] = { "PARENTS", BIT (STARTING) | BIT (CREATING) | BIT (DONE), FALSE, TRUE },
  [ATTEMPT_FINDING] = { "FINDING", BIT (LISTING) | WITH_NODE, FALSE, TRUE },
  [ATTEMPT_NAME_TAKEN] = { "NAME_TAKEN", BIT (LISTING) | WITH_NODE, FALSE, TRUE },
  [ATTEMPT_LISTING] = { "LISTING", BIT (DECIDING) | WITH_NODE, FALSE, FALSE },
  [ATTEMPT_DECIDING] = { "DECIDING", BIT (LISTING) | WITH_NODE, TRUE, TRUE },
  [ATTEMPT_WAITING] = { "WAITING", BIT (LISTING) | BIT (DECIDING) | BIT (NAME_TAKEN) | WITH_NODE,
                        TRUE, TRUE },
  [ATTEMPT_CONFIRMING] = { "CONFIRMING", BIT (STARTING) | BIT (DELETING) | BIT (DONE), FALSE,
                           FALSE },
  [ATTEMPT_DELETING] = { "DELETING", BIT (DONE), TRUE, TRUE },
  [ATTEMPT_DONE] = { "DONE", 0, TRUE, FALSE },
};

void
curator_attempt_set_state (Attempt *attempt, AttemptState state)
{
  if (attempt->state == state)
    {
      return;
    }
  g_assert ((rows[attempt->state].next & (1U << state)) != 0);
  curator_debug ("attempt on %s: %s -> %s", attempt->internals->base, rows[attempt->state].name,
                 rows[state].name);
  attempt->state = state;
  if (rows[state].is_passive)
    {
      curator_retry_loop_stop (&attempt->tries);
    }
  if (rows[state].is_later)
    {
      curator_attempt_not_first (attempt);
    }
}

void
curator_attempt_not_first (Attempt *attempt)
{
  CuratorAttemptHook *hook = g_steal_pointer (&attempt->together);
  if (hook != NULL)
    {
      hook->not_first (hook);
    }
}

void
curator_attempt_enter (Attempt *attempt, AttemptState state)
{
  g_clear_pointer (&attempt->confirmation, curator_request_forget);
  if (state != ATTEMPT_LISTING)
    {
      curator_listing_leave (&attempt->listing);
    }
  curator_attempt_set_state (attempt, state);
  curator_retry_loop_begin (&attempt->tries);
}
