/* How an attempt waits in the queue: list, decide, watch, list again.
 *
 * Mirrors LockInternals.internalLockLoop. Threads: watch events and lists arrive on ZooKeeper's
 * thread; guarded by the client's mutex, except that a user's driver is called without it.
 */
#include "lock/attempt-private.h"

#include "base/fork_gate.h"
#include "base/path.h"
#include "core/monitor.h"
#include "core/namespace.h"
#include "core/stats-private.h"
#include "lock/verdict.h"
#include "session/heartbeat.h"
#include "session/lease_clock.h"

static void decide (Attempt *attempt, const struct String_vector *children,
                    CuratorOrder *order) CURATOR_LOCKED;
static void go_on_in_front (Attempt *attempt) CURATOR_LOCKED;

/* The children may have changed since the list; the read that set the watch has them. */
static CURATOR_LOCKED void
on_parent_armed (Attempt *attempt, const CuratorZkReply *reply)
{
  if (reply != NULL)
    {
      CuratorOrder order = { 0 };
      curator_attempt_forget_read (attempt);
      decide (attempt, reply->children, &order);
      curator_queue_clear (&order.queue);
      return;
    }
  curator_attempt_enter (attempt, ATTEMPT_LISTING);
}

/* The end of a node of our session may be the first sign of the session's own end. */
static CURATOR_LOCKED gboolean
is_ours (const Attempt *attempt, const CuratorWatch *watch)
{
  return curator_watch_is_own (watch)
         || curator_session_has_stake (attempt->session, curator_watch_get_path (watch));
}

/* If nothing is watched any more, our turn came while this read was in flight. If the read failed, the
 * node is checked before the grant. */
static CURATOR_LOCKED void
on_own_node_seen (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  Attempt *attempt = data;
  const gboolean is_turn = attempt->is_next && attempt->watch == NULL;

  attempt->read = NULL;
  attempt->is_unseen = attempt->is_unseen && rc != ZOK;
  if (rc == ZNONODE || (rc == ZOK && reply->stat->czxid != curator_own_node_stake (&attempt->own)->czxid))
    {
      curator_attempt_restart (attempt, ZNONODE);
    }
  else if (is_turn)
    {
      curator_attempt_grant (attempt);
    }
}

/* Before our turn, so that the answer is here when that comes. */
static CURATOR_LOCKED void
look_at_own_node (Attempt *attempt)
{
  attempt->is_unseen = TRUE;
  curator_attempt_forget_request (&attempt->read);
  attempt->read = curator_request_exists (attempt->session, curator_attempt_node (attempt), FALSE,
                                          on_own_node_seen, attempt);
}

/* A list of this session showed the node. Deleted before or after the watch was set, it is gone. */
static CURATOR_LOCKED void
on_front_gone (Attempt *attempt)
{
  /* The second watch stays: its node is probably the next one in front. */
  g_clear_pointer (&attempt->watch, curator_watch_release);
  if (attempt->knows_front)
    {
      attempt->watch = attempt->second_watch != NULL
                           ? g_steal_pointer (&attempt->second_watch)
                           : g_ptr_array_steal_index (attempt->rest_watches, 0);
      go_on_in_front (attempt);
    }
  else if (curator_attempt_node (attempt) == NULL)
    {
      curator_attempt_enter (attempt, ATTEMPT_STARTING);
    }
  else if (!attempt->is_next)
    {
      curator_attempt_list_in_time (attempt);
    }
  else if (attempt->read == NULL)
    {
      curator_attempt_grant (attempt);
    }
}

static CURATOR_LOCKED void
on_watch_failed (Attempt *attempt, int rc)
{
  curator_attempt_stop_watching (attempt);
  curator_attempt_set_state (attempt, curator_attempt_node (attempt) != NULL ? ATTEMPT_LISTING : ATTEMPT_NAME_TAKEN);
  curator_attempt_step_failed (attempt, rc, "watching");
}

static CURATOR_LOCKED void
drop_further_watch (Attempt *attempt, CuratorWatch *watch)
{
  if (watch == attempt->second_watch)
    {
      g_clear_pointer (&attempt->second_watch, curator_watch_release);
      return;
    }
  g_ptr_array_remove (attempt->rest_watches, watch);
}

/* Handles every watch but the first. If other nodes may be in front, it lists now, while the first one
 * still holds the lock. If that list fails, the first watch still wakes the waiter. */
static CURATOR_LOCKED void
on_further_watch (Attempt *attempt, CuratorWatch *watch, CuratorWatchEvent event)
{
  if (event == CURATOR_WATCH_ARMED)
    {
      attempt->knows_front = attempt->knows_front && !curator_watch_is_own (watch);
    }
  else if (event == CURATOR_WATCH_GONE || event == CURATOR_WATCH_FAILED)
    {
      drop_further_watch (attempt, watch);
      attempt->knows_front = attempt->knows_front && event == CURATOR_WATCH_GONE;
      if (attempt->knows_front)
        {
          go_on_in_front (attempt);
        }
      else if (event == CURATOR_WATCH_GONE && attempt->state == ATTEMPT_WAITING)
        {
          curator_attempt_list (attempt);
        }
    }
}

/* A change of data is ignored. A change of children is followed by ARMED with the new ones. */
void
curator_attempt_on_watch (CuratorWatch *watch, CuratorWatchEvent event, int rc,
                          const CuratorZkReply *reply, gpointer data)
{
  Attempt *attempt = data;

  if (watch != attempt->watch)
    {
      on_further_watch (attempt, watch, event);
    }
  else if (event == CURATOR_WATCH_ARMED && attempt->watches_parent)
    {
      on_parent_armed (attempt, reply);
    }
  else if (event == CURATOR_WATCH_ARMED)
    {
      attempt->is_next = attempt->is_next && !curator_watch_is_own (watch);
      attempt->knows_front = attempt->knows_front && !curator_watch_is_own (watch);
    }
  else if (event == CURATOR_WATCH_GONE)
    {
      on_front_gone (attempt);
    }
  else if (event == CURATOR_WATCH_FAILED)
    {
      on_watch_failed (attempt, rc);
    }
}

static CURATOR_LOCKED gboolean
is_watching (CuratorWatch *watch, const char *path)
{
  const char *watched = watch != NULL ? curator_watch_get_path (watch) : NULL;
  return watched != NULL && g_str_equal (watched, path);
}

/* Optional: without it nothing fails. */
static CURATOR_LOCKED CuratorWatch *
watch_further (Attempt *attempt, const char *path)
{
  return curator_watch_add (attempt->session, path, ZWATCHTYPE_DATA, CURATOR_WATCH_OPTIONAL,
                            curator_attempt_on_watch, attempt);
}

static CURATOR_LOCKED void
set_second_watch (Attempt *attempt, const char *leaf)
{
  g_autofree char *path = leaf != NULL ? curator_path_join (attempt->internals->base, leaf) : NULL;

  if (leaf != NULL && is_watching (attempt->second_watch, path))
    {
      return;
    }
  g_clear_pointer (&attempt->second_watch, curator_watch_release);
  if (leaf != NULL)
    {
      attempt->second_watch = watch_further (attempt, path);
    }
}

static CURATOR_LOCKED void
release_watch (gpointer watch)
{
  curator_watch_release (watch);
}

/* The reads are sent together: one round trip shows which of them have gone. */
static CURATOR_LOCKED void
watch_rest (Attempt *attempt, const GPtrArray *names)
{
  attempt->rest_watches = g_ptr_array_new_full (names->len, release_watch);
  for (guint i = 0; i < names->len && attempt->knows_front; i++)
    {
      g_autofree char *path =
          curator_path_join (attempt->internals->base, g_ptr_array_index (names, i));
      CuratorWatch *watch = watch_further (attempt, path);
      attempt->knows_front = watch != NULL && !is_ours (attempt, watch);
      if (watch != NULL)
        {
          g_ptr_array_add (attempt->rest_watches, watch);
        }
    }
}

/* One of those that are known to be in front has ended. No list will show whether our own node still
 * exists: a read does, whose answer is newer than that end. From then on heartbeats check our node. If
 * only one is left in front, its end is the grant. */
static CURATOR_LOCKED void
go_on_in_front (Attempt *attempt)
{
  g_autoptr (GPtrArray) names = g_steal_pointer (&attempt->rest);

  if (names != NULL)
    {
      watch_rest (attempt, names);
    }
  if (!attempt->has_looked && attempt->read == NULL)
    {
      look_at_own_node (attempt);
    }
  attempt->has_looked = TRUE;
  curator_stake_set_near (curator_own_node_stake (&attempt->own), TRUE);
  if (attempt->knows_front && (attempt->rest_watches == NULL || attempt->rest_watches->len == 0))
    {
      attempt->knows_front = FALSE;
      attempt->is_next = TRUE;
    }
}

/* FALSE when it cannot be watched; the attempt has then failed. */
static CURATOR_LOCKED gboolean
watch_front (Attempt *attempt, const char *leaf, CuratorWatchNeed need)
{
  g_autofree char *path = leaf != NULL ? curator_path_join (attempt->internals->base, leaf)
                                       : g_strdup (attempt->internals->base);

  if (is_watching (attempt->watch, path) && attempt->watches_parent == (leaf == NULL))
    {
      return TRUE;
    }
  /* The node of the second watch may now be in front: no watch is released before the new one is
   * set, so that it is not removed from the server in between. */
  CuratorWatch *before = g_steal_pointer (&attempt->watch);
  attempt->watches_parent = leaf == NULL;
  attempt->watch =
      curator_watch_add (attempt->session, path, leaf != NULL ? ZWATCHTYPE_DATA : ZWATCHTYPE_CHILD,
                         need, curator_attempt_on_watch, attempt);
  g_clear_pointer (&before, curator_watch_release);
  if (attempt->watch == NULL)
    {
      curator_attempt_fail (
          attempt, g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_LIMIT_EXCEEDED,
                                        "this client has as many watches as one session can have"));
    }
  return attempt->watch != NULL;
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
curator_attempt_wait_for (Attempt *attempt, const char *leaf, const char *second)
{
  const CuratorWatchNeed need = attempt->has_waited ? CURATOR_WATCH_NEEDED : CURATOR_WATCH_NEW;

  attempt->is_next = FALSE;
  attempt->is_unseen = FALSE;
  attempt->knows_front = FALSE;
  if (begin_to_wait (attempt) && watch_front (attempt, leaf, need))
    {
      set_second_watch (attempt, second);
      curator_attempt_forget_rest (attempt);
    }
}

/* A node of this session is right in front: nothing has to be watched. */
void
curator_attempt_wait_behind (Attempt *attempt)
{
  curator_listing_leave (&attempt->listing);
  begin_to_wait (attempt);
}

static CURATOR_LOCKED void
wait_as_judged (Attempt *attempt, const CuratorVerdict *verdict)
{
  curator_attempt_wait_for (attempt, verdict->watch, verdict->second_watch);
  if (attempt->state == ATTEMPT_WAITING)
    {
      attempt->is_next = verdict->is_next && !is_ours (attempt, attempt->watch);
      attempt->knows_front = verdict->knows_front && attempt->second_watch != NULL
                             && !is_ours (attempt, attempt->watch)
                             && !is_ours (attempt, attempt->second_watch);
      attempt->rest = attempt->knows_front ? curator_verdict_copy_rest (verdict) : NULL;
      attempt->has_looked = FALSE;
      if (attempt->knows_front && verdict->is_long && attempt->rest == NULL)
        {
          look_at_own_node (attempt);
        }
    }
}

void
curator_attempt_apply_verdict (Attempt *attempt, const CuratorVerdict *verdict)
{
  curator_count (attempt->op.client, CURATOR_COUNTER_NAMES_IGNORED, verdict->n_foreign);
  /* The list is newer than a read of our node that is in flight. */
  curator_attempt_forget_request (&attempt->read);
  attempt->is_unseen = FALSE;
  switch (verdict->kind)
    {
    case VERDICT_MISSING:
      curator_attempt_restart (attempt, ZNONODE);
      break;
    case VERDICT_EXHAUSTED:
      curator_attempt_fail (attempt,
                            g_error_new (CURATOR_ERROR, CURATOR_ERROR_SEQUENCE_EXHAUSTED,
                                         "the sequence numbers below %s are exhausted",
                                         curator_lock_internals_shown (attempt->internals)));
      break;
    case VERDICT_UNNUMBERED:
      curator_attempt_fail (
          attempt,
          g_error_new (CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT,
                       "the driver finds no sequence number in the name of its node \"%s\"",
                       curator_path_leaf (curator_attempt_node (attempt))));
      break;
    case VERDICT_GRANTED:
      curator_attempt_grant (attempt);
      break;
    case VERDICT_WAIT:
      wait_as_judged (attempt, verdict);
      curator_stake_set_near (curator_own_node_stake (&attempt->own), verdict->is_near);
      break;
    default:
      g_assert_not_reached ();
    }
}

/* A question to a user's driver, which is called without the mutex. */
typedef struct
{
  Attempt *attempt;
  guint64 number;
  int max_leases;
  char *own;
  GPtrArray *children;
} Question;

static CURATOR_UNLOCKED void
ask_user_driver (gpointer data)
{
  Question *question = data;
  Attempt *attempt = question->attempt;
  g_auto (CuratorQueue) order = { 0 };

  const CuratorVerdict verdict =
      curator_judge_by_user (attempt->internals, question->max_leases, question->own,
                             curator_own_node_request (&attempt->own)->is_sequential, question->children, &order);

  curator_client_lock (attempt->op.client);
  if (question->number == attempt->question)
    {
      curator_attempt_apply_verdict (attempt, &verdict);
    }
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
  question->attempt = attempt;
  question->number = ++attempt->question;
  question->max_leases = attempt->internals->max_leases;
  question->own = g_strdup (curator_path_leaf (curator_attempt_node (attempt)));
  question->children = g_ptr_array_new_full ((guint) children->count, g_free);
  for (int i = 0; i < children->count; i++)
    {
      g_ptr_array_add (question->children, g_strdup (children->data[i]));
    }
  curator_dispatch_question (attempt->op.client, ask_user_driver, question);
}

static CURATOR_LOCKED void
note_tail (Attempt *attempt, const CuratorQueue *queue)
{
  if (curator_own_node_has_neighbours (&attempt->own))
    {
      curator_line_note_tail (attempt->line, attempt->internals->lock_name, queue,
                              curator_path_leaf (curator_attempt_node (attempt)));
    }
}

static CURATOR_LOCKED void
decide (Attempt *attempt, const struct String_vector *children, CuratorOrder *order)
{
  CuratorLockInternals *internals = attempt->internals;

  if (!internals->driver->is_builtin)
    {
      ask_user_driver_later (attempt, children);
      return;
    }
  CuratorQueue *queue = curator_order_get (order, children, internals);
  const CuratorVerdict verdict =
      curator_judge (internals, internals->max_leases, curator_path_leaf (curator_attempt_node (attempt)), queue);
  attempt->only_litter = !attempt->behind
                         && curator_verdict_is_for_litter (
                             &verdict, internals, curator_path_leaf (curator_attempt_node (attempt)), queue);
  if (queue->other_recipe != NULL)
    {
      curator_lock_internals_warn_of_mix (internals->client, internals->base, queue->other_recipe);
    }
  note_tail (attempt, queue);
  curator_attempt_apply_verdict (attempt, &verdict);
}

void
curator_attempt_on_listed (int rc, const CuratorZkReply *reply, CuratorOrder *order, gpointer data)
{
  static const struct String_vector nothing = { 0 };
  Attempt *attempt = data;

  if (attempt->state == ATTEMPT_CREATING)
    {
      /* The library has refused the create, of which the answer is still to come. */
      return;
    }
  if (rc == ZOK || rc == ZNONODE)
    {
      decide (attempt, rc == ZOK ? reply->children : &nothing, order);
    }
  else if (attempt->state == ATTEMPT_LISTING)
    {
      curator_attempt_step_failed (attempt, rc, "listing");
    }
}
