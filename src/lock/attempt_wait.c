/* An attempt's place in the queue: list, decide, watch, look again.
 *
 * Mirrors LockInternals.internalLockLoop. Threads: watch events and lists come on ZooKeeper's
 * thread; guarded by the client's mutex, except that a user's driver is asked without it.
 */
#include "lock/attempt-private.h"

#include "client/path.h"
#include "client/stats-private.h"
#include "lock/verdict.h"

static void decide (Attempt *attempt, const struct String_vector *children);

/* @locks client mutex held. */
static void
on_watch (CuratorWatch *watch, CuratorWatchNews news, int rc, const CuratorZkReply *reply,
          gpointer data)
{
  Attempt *attempt = data;

  switch (news)
    {
    case CURATOR_WATCH_ARMED:
      /* The children may have changed between the list and the watch, whose read shows them. */
      if (attempt->watches_parent && reply != NULL)
        {
          curator_attempt_forget_request (&attempt->read);
          decide (attempt, reply->children);
        }
      else if (attempt->watches_parent)
        {
          curator_attempt_try_step (attempt, ATTEMPT_LISTING, curator_attempt_list);
        }
      break;
    case CURATOR_WATCH_CHANGED:
      /* Data says nothing about the queue; of children, ARMED follows with the new ones. */
      break;
    case CURATOR_WATCH_GONE:
      curator_attempt_stop_watching (attempt);
      if (curator_attempt_has_queue (attempt))
        {
          curator_attempt_try_step (attempt, ATTEMPT_LISTING, curator_attempt_list);
        }
      else
        {
          curator_attempt_try_step (attempt, ATTEMPT_STARTING, curator_attempt_create);
        }
      break;
    case CURATOR_WATCH_FAILED:
      curator_attempt_stop_watching (attempt);
      attempt->step =
          curator_attempt_has_queue (attempt) ? curator_attempt_list : curator_attempt_look_whose;
      curator_attempt_step_failed (attempt, rc, "watching");
      break;
    default:
      g_assert_not_reached ();
    }
}

/* @locks client mutex required. leaf NULL: the parent's children. */
void
curator_attempt_wait_for (Attempt *attempt, const char *leaf)
{
  CuratorLockInternals *internals = attempt->internals;
  g_autofree char *path =
      leaf != NULL ? curator_path_join (internals->base, leaf) : g_strdup (internals->base);

  attempt->has_waited = TRUE;
  if (attempt->once)
    {
      curator_attempt_fail (attempt, g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT,
                                                          "somebody else is in front"));
      return;
    }
  curator_attempt_set_state (attempt, ATTEMPT_WAITING);
  if (leaf == NULL && attempt->watch != NULL && attempt->watches_parent)
    {
      return;
    }
  curator_attempt_stop_watching (attempt);
  attempt->watches_parent = leaf == NULL;
  attempt->watch = curator_watch_add (
      attempt->session, path, leaf != NULL ? ZWATCHTYPE_DATA : ZWATCHTYPE_CHILD, on_watch, attempt);
  if (attempt->watch == NULL)
    {
      curator_attempt_fail (attempt,
                            g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_LIMIT_EXCEEDED,
                                                 "this client watches as much as one session can"));
    }
}

/* @locks client mutex required. */
void
curator_attempt_obey (Attempt *attempt, const CuratorVerdict *verdict)
{
  curator_count (attempt->op.client, CURATOR_COUNTER_NAMES_IGNORED, verdict->n_foreign);
  switch (verdict->kind)
    {
    case VERDICT_MISSING:
      curator_attempt_restart (attempt, ZNONODE);
      break;
    case VERDICT_EXHAUSTED:
      curator_attempt_fail (
          attempt,
          g_error_new (CURATOR_ERROR, CURATOR_ERROR_SEQUENCE_EXHAUSTED,
                       "the sequence numbers below %s are at their end",
                       curator_client_user_path (attempt->op.client, attempt->internals->base)));
      break;
    case VERDICT_OURS:
      curator_attempt_win (attempt);
      break;
    case VERDICT_WAIT:
      curator_attempt_wait_for (attempt, verdict->watch);
      break;
    default:
      g_assert_not_reached ();
    }
}

/* A question to a user's driver, which is asked without our mutex. */
typedef struct
{
  Attempt *attempt;
  guint64 number;
  int max_leases;
  char *own;
  GPtrArray *children;
} Question;

/* @locks none. */
static void
ask_user (gpointer data)
{
  Question *question = data;
  Attempt *attempt = question->attempt;
  const CuratorVerdict verdict =
      curator_judge (attempt->internals, question->max_leases, question->own,
                     (const char *const *) question->children->pdata, question->children->len,
                     curator_attempt_is_sequential (attempt));

  curator_client_lock (attempt->op.client);
  if (question->number == attempt->question)
    {
      curator_attempt_obey (attempt, &verdict);
    }
  curator_client_unlock (attempt->op.client);
  g_free (verdict.watch);
  g_free (question->own);
  g_ptr_array_unref (question->children);
  curator_op_unref (&attempt->op);
  g_free (question);
}

/* @locks client mutex required. */
static void
decide (Attempt *attempt, const struct String_vector *children)
{
  CuratorLockInternals *internals = attempt->internals;
  const char *own = curator_path_leaf (attempt->node);

  if (internals->driver->is_ours)
    {
      const CuratorVerdict verdict = curator_judge (
          internals, internals->max_leases, own, (const char *const *) children->data,
          (gsize) children->count, curator_attempt_is_sequential (attempt));
      curator_attempt_obey (attempt, &verdict);
      g_free (verdict.watch);
      return;
    }
  Question *question = g_new (Question, 1);
  curator_attempt_set_state (attempt, ATTEMPT_DECIDING);
  curator_op_ref (&attempt->op);
  question->attempt = attempt;
  question->number = ++attempt->question;
  question->max_leases = internals->max_leases;
  question->own = g_strdup (own);
  question->children = g_ptr_array_new_full ((guint) children->count, g_free);
  for (int i = 0; i < children->count; i++)
    {
      g_ptr_array_add (question->children, g_strdup (children->data[i]));
    }
  curator_client_after_unlock (attempt->op.client, ask_user, question);
}

/* @locks client mutex held. */
static void
on_listed (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  static const struct String_vector nothing = { 0 };
  Attempt *attempt = data;

  attempt->read = NULL;
  if (rc == ZOK || rc == ZNONODE)
    {
      decide (attempt, rc == ZOK ? reply->children : &nothing);
      return;
    }
  curator_attempt_step_failed (attempt, rc, "listing");
}

/* @locks client mutex held (retry loop). */
void
curator_attempt_list (gpointer data)
{
  Attempt *attempt = data;
  attempt->read = curator_request_get_children (attempt->session, attempt->internals->base, FALSE,
                                                on_listed, attempt);
}

/* @locks client mutex held. The list that was sent behind the create. */
void
curator_attempt_on_first_list (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  Attempt *attempt = data;
  attempt->list = NULL;
  if (attempt->state != ATTEMPT_LISTING)
    {
      return;
    }
  on_listed (rc, reply, sent_us, attempt);
}
