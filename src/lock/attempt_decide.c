/* What an attempt does next: list, verdict, step.
 *
 * Mirrors LockInternals.internalLockLoop. Threads: lists arrive on ZooKeeper's thread; guarded by
 * the client's mutex, except that a user's driver is called without it.
 */
#include "lock/attempt-private.h"

#include "base/container.h"
#include "base/fork_gate.h"
#include "base/path.h"
#include "core/monitor.h"
#include "core/stats-private.h"
#include "lock/verdict.h"
#include "session/heartbeat.h"

/* A listing in flight will show every change known so far. */
void
curator_attempt_list (Attempt *attempt)
{
  if (attempt->listing.listing == NULL)
    curator_listing_join (&attempt->listing, attempt->local_queue, attempt->create_number);
}

gboolean
curator_attempt_begin_to_wait (Attempt *attempt)
{
  curator_count_waiting (attempt->op.client, attempt->counted_as_waiter ? 0 : 1);
  attempt->counted_as_waiter = TRUE;
  if (!attempt->ahead_is_being_deleted) {
    attempt->contender_shown = TRUE;
    attempt->op.contender_was_shown = TRUE;
    curator_local_queue_note_contender (attempt->local_queue);
  }
  if (attempt->once && attempt->contender_shown) {
    curator_attempt_refuse (attempt);
    return FALSE;
  }
  curator_attempt_set_state (attempt, ATTEMPT_WAITING);
  return TRUE;
}

void
curator_attempt_wait (Attempt *attempt, const CuratorFrontView *view)
{
  const CuratorWatchNeed need =
      attempt->counted_as_waiter ? CURATOR_WATCH_NEEDED : CURATOR_WATCH_NEW;

  if (curator_attempt_begin_to_wait (attempt)
      && !curator_front_wait (&attempt->front, view, need)) {
    curator_attempt_fail (
        attempt, g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_LIMIT_EXCEEDED,
                                      "this client has as many watches as one session can have"));
  }
}

void
curator_attempt_apply_verdict (Attempt *attempt, const CuratorVerdict *verdict)
{
  curator_count (attempt->op.client, CURATOR_COUNTER_NAMES_IGNORED, verdict->n_foreign);
  const char *path = attempt->internals->shown;
  g_autofree char *twin = NULL;

  switch (verdict->kind) {
  case VERDICT_MISSING:
    curator_attempt_restart (attempt, ZNONODE);
    break;
  case VERDICT_EXHAUSTED:
    curator_attempt_fail (attempt,
                          g_error_new (CURATOR_ERROR, CURATOR_ERROR_SEQUENCE_EXHAUSTED,
                                       "the sequence numbers below %s are exhausted", path));
    break;
  case VERDICT_TIED:
    twin = curator_path_escape (verdict->watch);
    curator_attempt_fail (
        attempt,
        g_error_new (CURATOR_ERROR, CURATOR_ERROR_SEQUENCE_EXHAUSTED,
                     "%s has a node with the number that the server has given this one, so "
                     "they have no order: %s; the next attempt gets another number",
                     path, twin));
    break;
  case VERDICT_UNNUMBERED:
    curator_attempt_fail (
        attempt, g_error_new (CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT,
                              "the driver finds no sequence number in the name of its node \"%s\"",
                              curator_path_leaf (attempt->own.path)));
    break;
  case VERDICT_GRANTED:
    /* While it waited, a node of the same name may have taken the place of ours: no list shows
       * that. */
    curator_attempt_grant (attempt, attempt->counted_as_waiter && attempt->own.stake.needs_read);
    break;
  case VERDICT_WAIT:
    curator_attempt_wait (attempt, &(CuratorFrontView){ .first = verdict->watch,
                                                        .second = verdict->second_watch,
                                                        .is_last = verdict->is_next });
    curator_stake_set_near (&attempt->own.stake, verdict->is_near);
    break;
  default:
    g_assert_not_reached ();
  }
}

/* A question to a user's driver, which is called without the mutex. */
typedef struct
{
  Attempt *attempt;
  guint32 number;
  int max_leases;
  gboolean is_sequential;
  char *own;
  GPtrArray *children;
} Question;

static CURATOR_UNLOCKED void
ask_user_driver (gpointer data)
{
  Question *question = data;
  Attempt *attempt = question->attempt;
  g_auto (CuratorQueue) queue = { 0 };

  const CuratorVerdict verdict =
      curator_judge_by_user (attempt->internals, question->max_leases, question->own,
                             question->is_sequential, question->children, &queue);

  curator_client_lock (attempt->op.client);
  /* The end of what was in front may have decided meanwhile. */
  if (attempt->state == ATTEMPT_DECIDING && question->number == attempt->question)
    curator_attempt_apply_verdict (attempt, &verdict);
  curator_client_unlock (attempt->op.client);
  CURATOR_INSIDE_GATE;
  g_free (question->own);
  g_ptr_array_unref (question->children);
  curator_op_unref (&attempt->op);
  g_free (question);
}

static CURATOR_LOCKED void
ask_user_driver_later (Attempt *attempt, const struct String_vector *children)
{
  Question *question = g_new (Question, 1);

  curator_attempt_set_state (attempt, ATTEMPT_DECIDING);
  curator_op_ref (&attempt->op);
  *question = (Question){ .attempt = attempt,
                          .number = ++attempt->question,
                          .max_leases = attempt->internals->max_leases,
                          .is_sequential = attempt->own.request->is_sequential,
                          .own = g_strdup (curator_path_leaf (attempt->own.path)),
                          .children = g_ptr_array_new_full ((guint) children->count, g_free) };
  for (int i = 0; i < children->count; i++)
    g_ptr_array_add (question->children, g_strdup (children->data[i]));
  curator_dispatch_push (attempt->op.client, CURATOR_LANE_QUESTIONS, ask_user_driver, question,
                         NULL);
}

void
curator_attempt_decide (Attempt *attempt, const struct String_vector *children,
                        CuratorSortedList *list)
{
  CuratorLockInternals *internals = attempt->internals;
  const char *own = curator_path_leaf (attempt->own.path);

  if (internals->driver->predicate == NULL) {
    ask_user_driver_later (attempt, children);
    return;
  }
  CuratorQueue *queue = curator_sorted_list_get (list, children, internals);
  const CuratorVerdict verdict = curator_judge (internals, internals->max_leases, own, queue);
  attempt->ahead_is_being_deleted =
      !attempt->contender_shown && curator_verdict_is_for_litter (&verdict, internals, own, queue);
  if (queue->other_recipe != NULL)
    curator_lock_internals_warn_of_mix (internals->client, internals->base, queue->other_recipe);
  curator_attempt_apply_verdict (attempt, &verdict);
}

void
curator_attempt_on_listed (CuratorListingUser *user, int rc, const CuratorZkReply *reply,
                           CuratorSortedList *list)
{
  static const struct String_vector nothing = { 0 };
  Attempt *attempt = CURATOR_CONTAINER (user, Attempt, listing);

  /* While CREATING: the library has refused the create, of which the answer is still to come. */
  if ((rc == ZOK || rc == ZNONODE) && attempt->state != ATTEMPT_CREATING)
    curator_attempt_decide (attempt, rc == ZOK ? reply->children : &nothing, list);
  else if (attempt->state == ATTEMPT_LISTING)
    curator_attempt_step_failed (attempt, rc, "listing");
}
