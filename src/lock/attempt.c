/* One attempt to be granted a lock path: the state machine of LockInternals.attemptLock.
 *
 * Mirrors LockInternals.attemptLock and internalLockLoop, with CreateBuilder's protected mode.
 * Threads: completions and watch events advance it on ZooKeeper's thread, time-outs and retry sleeps
 * on the timer lane, cancellation on the canceller's; the client's mutex guards all of it.
 *
 * NOTES: create and list are sent back to back, since a session's requests are answered in order:
 * an uncontended grant costs one round trip. An attempt belongs to one session at a time; when that
 * dies the node is given to the reaper and the attempt starts anew at the tail of the queue, because
 * a node of a dead session may be listed for a while and must not be mistaken for ours. A create of
 * unknown outcome is looked for by its GUID, after a sync, before another is made.
 */
#include "lock/lock_internals-private.h"

#include "client/lease_clock.h"
#include "client/log.h"
#include "client/parents.h"
#include "client/path.h"
#include "client/reaper.h"
#include "client/request.h"
#include "client/retry_loop.h"
#include "client/stats-private.h"
#include "client/watches.h"
#include "lock/lease-private.h"
#include "lock/queue.h"
#include "lock/own_watch.h"

#include <string.h>

/* Part of what a time-out may be late by. */
#define LEAVE_PATIENCE_US (50 * 1000)

typedef enum
{
  ATTEMPT_STARTING,    /* waiting for a connection, or sleeping between tries */
  ATTEMPT_CREATING,    /* create and list are under way */
  ATTEMPT_PARENTS,     /* making the containers above */
  ATTEMPT_FINDING,     /* the create's outcome is unknown: looking for the GUID */
  ATTEMPT_TAKEN,       /* the name is taken: looking whose the node is */
  ATTEMPT_LISTING,
  ATTEMPT_DECIDING,    /* a user's driver has been asked */
  ATTEMPT_WAITING,     /* somebody in front is watched */
  ATTEMPT_CONFIRMING,  /* ours, and a quorum is asked whether we are still there */
  ATTEMPT_LEAVING,     /* failed; the node is being deleted */
  ATTEMPT_DONE
} AttemptState;

typedef struct
{
  CuratorOp op;
  CuratorLockInternals *internals;
  CuratorNodeRequest *wanted;
  gboolean once;
  AttemptState state;
  GList link;                 /* in internals->attempts while it has a node */
  gboolean linked;

  CuratorSession *session;    /* the one that the node belongs to */
  CuratorSessionHook hook;
  CuratorRetryLoop tries;     /* of the present step */
  void (*step) (gpointer attempt);
  CuratorRetryLoop restarts;  /* after the node or its session vanished */
  gboolean restarting;

  char *prefix;               /* "_c_<uuid>-", one for each session, or NULL if not protected */
  GBytes *payload;            /* what the node is created with */
  gboolean unknown;           /* a create of this session may have succeeded unseen */
  char *node;                 /* full path of our node */
  char *candidate;            /* full path of a node that may be ours */
  gint64 czxid;
  CuratorRequest *create;
  CuratorRequest *read;       /* list, sync, get or check under way */
  CuratorRequest *list;       /* the one sent behind the create */
  CuratorParents *parents;
  CuratorWatch *watch;
  gboolean watches_parent;
  CuratorStake stake;
  CuratorOwnWatch *own_watch;
  guint64 question;           /* rises with each question to a user's driver */
  gint64 called_us;
  gboolean has_waited;
  GError *failure;            /* what the operation ends with, while LEAVING */
} Attempt;

typedef enum
{
  VERDICT_MISSING,    /* our node is not in the list */
  VERDICT_EXHAUSTED,
  VERDICT_OURS,
  VERDICT_WAIT
} VerdictKind;

typedef struct
{
  VerdictKind kind;
  char *watch;        /* leaf name to watch; NULL: the parent */
  gsize n_foreign;
} Verdict;

static void start (gpointer data);
static void find (gpointer data);
static void list (gpointer data);
static void confirm (gpointer data);
static void look_whose (gpointer data);
static void decide (Attempt *attempt, const struct String_vector *children);

static gboolean
is_sequential (const Attempt *attempt)
{
  return attempt->wanted->mode == CURATOR_CREATE_EPHEMERAL_SEQUENTIAL
         || attempt->wanted->mode == CURATOR_CREATE_PERSISTENT_SEQUENTIAL;
}

static gboolean
is_ephemeral (const Attempt *attempt)
{
  return attempt->wanted->mode == CURATOR_CREATE_EPHEMERAL
         || attempt->wanted->mode == CURATOR_CREATE_EPHEMERAL_SEQUENTIAL;
}

/* Without a number a node has no place in a queue: its creation is the grant, unless the driver
 * wants to see the children. */
static gboolean
has_queue (const Attempt *attempt)
{
  const CuratorLockDriver *driver = attempt->internals->driver;
  return is_sequential (attempt) || (!driver->is_ours && driver->funcs.gets_the_lock != NULL);
}

static void
set_state (Attempt *attempt, AttemptState state)
{
  static const char *const names[]
      = { "STARTING", "CREATING", "PARENTS",  "FINDING",    "TAKEN",
          "LISTING",  "DECIDING", "WAITING", "CONFIRMING", "LEAVING",
          "DONE" };
  if (attempt->state != state)
    {
      curator_debug ("attempt on %s: %s -> %s", attempt->internals->base, names[attempt->state],
                     names[state]);
      attempt->state = state;
    }
}

static void
forget_request (CuratorRequest **request)
{
  if (*request != NULL)
    {
      curator_request_forget (*request);
      *request = NULL;
    }
}

/* @locks client mutex required. Tries func now, and again as the policy says. */
static void
try_step (Attempt *attempt, AttemptState state, void (*func) (gpointer attempt))
{
  forget_request (&attempt->read);
  set_state (attempt, state);
  attempt->step = func;
  curator_retry_loop_begin (&attempt->tries);
}

static void
stop_watching (Attempt *attempt)
{
  g_clear_pointer (&attempt->watch, curator_watch_release);
}

/* @locks client mutex required. A number of the server's makes a name that is nobody else's; without
 * one the next holder's node has the same. */
static void
delete_plain_node (Attempt *attempt)
{
  CuratorClient *client = attempt->op.client;
  if (is_sequential (attempt))
    {
      curator_reaper_delete (client, attempt->node, G_MAXINT64, NULL, NULL);
      return;
    }
  curator_reaper_delete_owned (client, attempt->node,
                               is_ephemeral (attempt) ? attempt->session->id : 0, attempt->czxid,
                               G_MAXINT64, NULL, NULL);
}

/* @locks client mutex required. Whatever of ours is or may be on the server goes to the reaper. */
static void
leave_node (Attempt *attempt)
{
  CuratorClient *client = attempt->op.client;
  CuratorLockInternals *internals = attempt->internals;

  curator_stake_unregister (&attempt->stake);
  g_clear_pointer (&attempt->own_watch, curator_own_watch_free);
  if (attempt->linked)
    {
      g_queue_unlink (&internals->attempts, &attempt->link);
      attempt->linked = FALSE;
    }
  const CuratorUnknown unknown
      = { .parent = internals->base,
          .prefix = attempt->prefix,
          .name = attempt->wanted->name,
          .session_id
          = attempt->session != NULL && is_ephemeral (attempt) ? attempt->session->id : 0,
          .payload = attempt->payload };
  if (attempt->create != NULL)
    {
      curator_reaper_adopt_create (client, attempt->create, &unknown);
      attempt->create = NULL;
    }
  else if (attempt->node != NULL && attempt->prefix != NULL)
    {
      curator_reaper_delete (client, attempt->node, G_MAXINT64, NULL, NULL);
    }
  else if (attempt->node != NULL)
    {
      delete_plain_node (attempt);
    }
  if (attempt->unknown)
    {
      curator_reaper_delete_unknown (client, &unknown);
    }
  attempt->unknown = FALSE;
  g_clear_pointer (&attempt->node, g_free);
  g_clear_pointer (&attempt->candidate, g_free);
  g_clear_pointer (&attempt->prefix, g_free);
}

/* @locks client mutex required. Back to where nothing is under way, watched or on the server. */
static void
let_go (Attempt *attempt)
{
  attempt->question++;
  curator_retry_loop_stop (&attempt->tries);
  curator_retry_loop_stop (&attempt->restarts);
  forget_request (&attempt->read);
  forget_request (&attempt->list);
  g_clear_pointer (&attempt->parents, curator_parents_forget);
  stop_watching (attempt);
  leave_node (attempt);
  curator_session_remove_hook (&attempt->hook);
  g_clear_pointer (&attempt->session, curator_session_unref);
}

/* @locks client mutex required. path: the full one. */
static void
note_outcome (Attempt *attempt, CuratorTraceKind kind, const char *path)
{
  CuratorClient *client = attempt->op.client;
  const gint64 took_us = curator_client_now_us (client) - attempt->called_us;
  const gboolean granted = kind == CURATOR_TRACE_GRANTED;

  curator_count (client, granted ? CURATOR_COUNTER_GRANTS : CURATOR_COUNTER_FAILURES, 1);
  curator_count (client, CURATOR_COUNTER_WAITS, attempt->has_waited ? 1 : 0);
  if (granted)
    {
      curator_count_wait (client, took_us);
    }
  curator_trace (client, kind, path, took_us,
                 attempt->session != NULL ? attempt->session->id : 0);
}

/* @locks client mutex required. */
static void
finish_failed (Attempt *attempt)
{
  set_state (attempt, ATTEMPT_DONE);
  curator_op_finish (&attempt->op, NULL, g_steal_pointer (&attempt->failure));
}

/* @locks none (reaper). */
static void
on_left (const GError *error, gpointer data)
{
  Attempt *attempt = data;
  curator_client_lock (attempt->op.client);
  if (attempt->state == ATTEMPT_LEAVING)
    {
      finish_failed (attempt);
    }
  curator_client_unlock (attempt->op.client);
  curator_op_unref (&attempt->op);
}

/* @locks client mutex required. Takes error. A caller that asks the server next should not find the
 * node that this attempt leaves behind: while there is a connection its delete is awaited, but not
 * for long. */
static void
fail (Attempt *attempt, GError *error)
{
  CuratorClient *client = attempt->op.client;

  attempt->failure = error;
  note_outcome (attempt, CURATOR_TRACE_FAILED, attempt->internals->base);
  if (attempt->node != NULL && attempt->prefix != NULL && curator_client_is_running (client)
      && curator_client_is_connected (client))
    {
      set_state (attempt, ATTEMPT_LEAVING);
      curator_op_stop_clock (&attempt->op);
      curator_op_ref (&attempt->op);
      g_autofree char *node = g_steal_pointer (&attempt->node);
      let_go (attempt);
      curator_reaper_delete (client, node, LEAVE_PATIENCE_US, on_left, attempt);
      return;
    }
  let_go (attempt);
  finish_failed (attempt);
}

static void
fail_zk (Attempt *attempt, int rc, const char *what)
{
  CuratorLockInternals *internals = attempt->internals;
  fail (attempt, curator_error_from_zk (
                     rc, what, curator_client_user_path (attempt->op.client, internals->base)));
}

/* @locks client mutex required. The node or its session is gone: to the tail of the queue, as often
 * as the retry policy allows. */
static void
restart (Attempt *attempt, int rc)
{
  const int count = attempt->restarts.count;
  let_go (attempt);
  set_state (attempt, ATTEMPT_STARTING);
  if (!attempt->restarting)
    {
      attempt->restarting = TRUE;
      attempt->restarts.start_us = curator_client_now_us (attempt->op.client);
    }
  attempt->restarts.count = count;
  curator_retry_loop_again (&attempt->restarts, rc);
}

static void
on_session_died (CuratorSessionHook *hook)
{
  Attempt *attempt = (Attempt *) ((char *) hook - G_STRUCT_OFFSET (Attempt, hook));
  restart (attempt, ZSESSIONEXPIRED);
}

/* @locks client mutex required. After a failed request: another try, or the end. */
static void
step_failed (Attempt *attempt, int rc, const char *what)
{
  if (curator_zk_is_retryable (rc))
    {
      curator_retry_loop_again (&attempt->tries, rc);
      return;
    }
  fail_zk (attempt, rc, what);
}

static void
tries_go (gpointer data)
{
  Attempt *attempt = data;
  attempt->step (attempt);
}

static void
tries_give_up (gpointer data, int rc)
{
  fail_zk (data, rc, "acquiring");
}

static void
restarts_go (gpointer data)
{
  try_step (data, ATTEMPT_STARTING, start);
}

/* @locks client mutex required. What the node was to be made under is not held any more. */
static gboolean
lost_cover (Attempt *attempt)
{
  CuratorLease *under = attempt->wanted->under;
  if (under == NULL
      || (curator_lease_get_session (under) == attempt->session
          && curator_lease_state_now (under) < CURATOR_LEASE_LOST))
    {
      return FALSE;
    }
  fail (attempt, g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_LOCK_LOST,
                                      "the hold that this one was to be taken under is lost"));
  return TRUE;
}

/* @locks client mutex required. Its last step: nothing is under way any more. */
static void
grant (Attempt *attempt)
{
  CuratorSession *session = attempt->session;

  if (lost_cover (attempt))
    {
      return;
    }

  curator_stake_unregister (&attempt->stake);
  stop_watching (attempt);
  note_outcome (attempt, CURATOR_TRACE_GRANTED, attempt->node);
  const CuratorLeaseNode node
      = { .path = g_steal_pointer (&attempt->node),
          .czxid = attempt->czxid,
          .name_is_ours = attempt->prefix != NULL || is_sequential (attempt),
          .is_ephemeral = is_ephemeral (attempt) };
  CuratorLease *lease = curator_lease_new (session, attempt->internals, &node);
  curator_lease_watch_own_node (lease, g_steal_pointer (&attempt->own_watch));
  let_go (attempt);
  set_state (attempt, ATTEMPT_DONE);
  curator_op_finish (&attempt->op, lease, NULL);
}

/* @locks client mutex held. */
static void
on_confirmed (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  Attempt *attempt = data;
  attempt->read = NULL;
  if (rc == ZOK && curator_lease_clock_is_fresh (attempt->session))
    {
      grant (attempt);
    }
  else if (rc == ZNONODE)
    {
      restart (attempt, rc);
    }
  else
    {
      /* An answer that took too long proves nothing. */
      step_failed (attempt, rc == ZOK ? ZOPERATIONTIMEOUT : rc, "confirming");
    }
}

/* @locks client mutex held (retry loop). */
static void
confirm (gpointer data)
{
  Attempt *attempt = data;
  GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (paths, g_strdup (attempt->node));
  attempt->read = curator_request_check (attempt->session, paths, on_confirmed, attempt);
}

/* @locks client mutex required. The predicate says ours: the hold is granted against a proof that
 * the session was alive, never on what a server that may lag behind has listed alone. */
static void
win (Attempt *attempt)
{
  stop_watching (attempt);
  if (curator_lease_clock_is_fresh (attempt->session))
    {
      grant (attempt);
    }
  else
    {
      try_step (attempt, ATTEMPT_CONFIRMING, confirm);
    }
}

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
          forget_request (&attempt->read);
          decide (attempt, reply->children);
        }
      else if (attempt->watches_parent)
        {
          try_step (attempt, ATTEMPT_LISTING, list);
        }
      break;
    case CURATOR_WATCH_CHANGED:
      /* Data says nothing about the queue; of children, ARMED follows with the new ones. */
      break;
    case CURATOR_WATCH_GONE:
      stop_watching (attempt);
      if (has_queue (attempt))
        {
          try_step (attempt, ATTEMPT_LISTING, list);
        }
      else
        {
          try_step (attempt, ATTEMPT_STARTING, start);
        }
      break;
    case CURATOR_WATCH_FAILED:
      stop_watching (attempt);
      attempt->step = has_queue (attempt) ? list : look_whose;
      step_failed (attempt, rc, "watching");
      break;
    default:
      g_assert_not_reached ();
    }
}

/* @locks client mutex required. leaf NULL: the parent's children. */
static void
wait_for (Attempt *attempt, const char *leaf)
{
  CuratorLockInternals *internals = attempt->internals;
  g_autofree char *path
      = leaf != NULL ? curator_path_join (internals->base, leaf) : g_strdup (internals->base);

  attempt->has_waited = TRUE;
  if (attempt->once)
    {
      fail (attempt, g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT,
                                          "somebody else is in front"));
      return;
    }
  set_state (attempt, ATTEMPT_WAITING);
  if (leaf == NULL && attempt->watch != NULL && attempt->watches_parent)
    {
      return;
    }
  stop_watching (attempt);
  attempt->watches_parent = leaf == NULL;
  attempt->watch = curator_watch_add (attempt->session, path,
                                      leaf != NULL ? ZWATCHTYPE_DATA : ZWATCHTYPE_CHILD, on_watch,
                                      attempt);
  if (attempt->watch == NULL)
    {
      fail (attempt, g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_LIMIT_EXCEEDED,
                                          "this client watches as much as one session can"));
    }
}

static const char *
driver_key (const char *name, gpointer user_data)
{
  const CuratorLockInternals *internals = user_data;
  return curator_lock_driver_key (internals->driver, name, internals->lock_name);
}

/* @locks client mutex held for a driver of ours, none for a user's. */
static Verdict
judge (CuratorLockInternals *internals, int max_leases, const char *own,
       const char *const *children, gsize n_children, gboolean sequential)
{
  CuratorLockDriver *driver = internals->driver;
  g_auto (CuratorQueue) queue = { 0 };
  CuratorPredicateResults results = { 0 };

  curator_queue_init (&queue, children, n_children, driver_key, internals);
  if (queue.n_foreign > 0)
    {
      g_autofree char *shown = curator_path_escape (queue.first_foreign);
      curator_debug ("%s: %" G_GSIZE_FORMAT " children are no lock nodes and are ignored, as %s",
                     internals->base, queue.n_foreign, shown);
    }
  if (sequential && queue.exhausted)
    {
      return (Verdict){ .kind = VERDICT_EXHAUSTED, .n_foreign = queue.n_foreign };
    }
  if (sequential && curator_queue_index_of (&queue, own) < 0)
    {
      return (Verdict){ .kind = VERDICT_MISSING, .n_foreign = queue.n_foreign };
    }
  if (driver->funcs.gets_the_lock != NULL)
    {
      driver->funcs.gets_the_lock (driver, (const char *const *) queue.names, queue.n_names, own,
                                   max_leases, &results, driver->user_data);
    }
  else
    {
      curator_standard_gets_the_lock (driver, (const char *const *) queue.names, queue.n_names,
                                      own, max_leases, &results, NULL);
    }
  return (Verdict){ .kind = results.gets_the_lock ? VERDICT_OURS : VERDICT_WAIT,
                    .watch = results.gets_the_lock ? NULL : g_strdup (results.path_to_watch),
                    .n_foreign = queue.n_foreign };
}

/* @locks client mutex required. */
static void
obey (Attempt *attempt, const Verdict *verdict)
{
  curator_count (attempt->op.client, CURATOR_COUNTER_NAMES_IGNORED, verdict->n_foreign);
  switch (verdict->kind)
    {
    case VERDICT_MISSING:
      restart (attempt, ZNONODE);
      break;
    case VERDICT_EXHAUSTED:
      fail (attempt, g_error_new (CURATOR_ERROR, CURATOR_ERROR_SEQUENCE_EXHAUSTED,
                                  "the sequence numbers below %s are at their end",
                                  curator_client_user_path (attempt->op.client,
                                                            attempt->internals->base)));
      break;
    case VERDICT_OURS:
      win (attempt);
      break;
    case VERDICT_WAIT:
      wait_for (attempt, verdict->watch);
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
  const Verdict verdict = judge (attempt->internals, question->max_leases, question->own,
                                 (const char *const *) question->children->pdata,
                                 question->children->len, is_sequential (attempt));

  curator_client_lock (attempt->op.client);
  if (question->number == attempt->question)
    {
      obey (attempt, &verdict);
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
      const Verdict verdict
          = judge (internals, internals->max_leases, own, (const char *const *) children->data,
                   (gsize) children->count, is_sequential (attempt));
      obey (attempt, &verdict);
      g_free (verdict.watch);
      return;
    }
  Question *question = g_new (Question, 1);
  set_state (attempt, ATTEMPT_DECIDING);
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
  step_failed (attempt, rc, "listing");
}

/* @locks client mutex held (retry loop). */
static void
list (gpointer data)
{
  Attempt *attempt = data;
  attempt->read = curator_request_get_children (attempt->session, attempt->internals->base, FALSE,
                                                on_listed, attempt);
}

/* @locks client mutex held. The list that was sent behind the create. */
static void
on_first_list (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  Attempt *attempt = data;
  attempt->list = NULL;
  if (attempt->state != ATTEMPT_LISTING)
    {
      return;
    }
  on_listed (rc, reply, sent_us, attempt);
}

/* @locks client mutex held. The head of the queue disappeared from under us without an event. */
static void
on_stake_changed (CuratorStake *stake, CuratorLeaseState state)
{
  Attempt *attempt = (Attempt *) ((char *) stake - G_STRUCT_OFFSET (Attempt, stake));
  if (attempt->state == ATTEMPT_WAITING)
    {
      restart (attempt, ZNONODE);
    }
}

static gboolean
number_is_usable (Attempt *attempt)
{
  const char *key = curator_lock_driver_key (attempt->internals->driver,
                                             curator_path_leaf (attempt->node),
                                             attempt->internals->lock_name);
  gint64 number;
  return !curator_queue_parse_number (key, &number)
         || (number >= 0 && number <= CURATOR_QUEUE_LAST_NUMBER);
}

/* @locks client mutex required. path: our node's, which is this session's. */
static void
own_node (Attempt *attempt, const char *path, gint64 czxid)
{
  CuratorLockInternals *internals = attempt->internals;

  attempt->unknown = FALSE;
  attempt->node = g_strdup (path);
  attempt->czxid = czxid;
  attempt->stake.path = attempt->node;
  attempt->stake.changed = on_stake_changed;
  g_queue_push_tail_link (&internals->attempts, &attempt->link);
  attempt->linked = TRUE;
  if (is_sequential (attempt) && internals->driver->is_ours && !number_is_usable (attempt))
    {
      const Verdict verdict = { .kind = VERDICT_EXHAUSTED };
      obey (attempt, &verdict);
      return;
    }
  curator_stake_register (&attempt->stake, attempt->session, FALSE);
  if (curator_revocation_is_on (internals))
    {
      attempt->own_watch = curator_own_watch_new (internals, attempt->session, path);
    }
  if (!has_queue (attempt))
    {
      win (attempt);
      return;
    }
  set_state (attempt, ATTEMPT_LISTING);
  attempt->step = list;
  if (attempt->list == NULL)
    {
      try_step (attempt, ATTEMPT_LISTING, list);
    }
}

/* @locks client mutex held. */
static void
on_parents (int rc, gpointer data)
{
  Attempt *attempt = data;
  attempt->parents = NULL;
  if (rc == ZOK)
    {
      /* The reaper of empty containers may be faster than we: then all begins again. */
      try_step (attempt, ATTEMPT_STARTING, start);
      return;
    }
  attempt->step = start;
  step_failed (attempt, rc, "making the parents of a node in");
}

/* @locks client mutex required. */
static void
make_parents (Attempt *attempt)
{
  set_state (attempt, ATTEMPT_PARENTS);
  attempt->parents
      = curator_parents_make (attempt->session, attempt->internals->base, on_parents, attempt);
}

/* @locks client mutex held. */
static void
on_created (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  Attempt *attempt = data;

  attempt->create = NULL;
  if (rc == ZOK)
    {
      own_node (attempt, reply->path, reply->stat->czxid);
      return;
    }
  forget_request (&attempt->list);
  if (rc == ZNONODE)
    {
      make_parents (attempt);
    }
  else if (rc == ZNODEEXISTS)
    {
      try_step (attempt, ATTEMPT_TAKEN, look_whose);
    }
  else
    {
      attempt->unknown = attempt->unknown || curator_zk_is_ambiguous (rc);
      if (attempt->unknown)
        {
          set_state (attempt, ATTEMPT_FINDING);
          attempt->step = find;
        }
      step_failed (attempt, rc, "creating a node in");
    }
}

/* @locks client mutex required. Turns to the session that the client has now. */
static void
adopt_session (Attempt *attempt)
{
  CuratorSession *current = attempt->op.client->session;

  if (attempt->session != current)
    {
      g_assert (attempt->session == NULL);
      attempt->session = curator_session_ref (current);
      attempt->hook.died = on_session_died;
      curator_session_add_hook (current, &attempt->hook);
    }
  if (attempt->wanted->protected_ && attempt->prefix == NULL)
    {
      g_autofree char *uuid = g_uuid_string_random ();
      attempt->prefix = g_strdup_printf ("_c_%s-", uuid);
    }
}

/* @locks client mutex required. A revocable node is empty, as Curator's is. */
static void
choose_payload (Attempt *attempt)
{
  CuratorLockInternals *internals = attempt->internals;

  g_clear_pointer (&attempt->payload, g_bytes_unref);
  if (curator_revocation_is_on (internals))
    {
      attempt->payload = g_bytes_new (NULL, 0);
      return;
    }
  GBytes *payload = attempt->wanted->data != NULL ? attempt->wanted->data
                    : internals->data != NULL     ? internals->data
                                                  : attempt->op.client->default_data;
  attempt->payload = g_bytes_ref (payload);
}

/* @locks client mutex held (retry loop). */
static void
start (gpointer data)
{
  static const int modes[] = { [CURATOR_CREATE_PERSISTENT] = 0,
                               [CURATOR_CREATE_PERSISTENT_SEQUENTIAL] = 2,
                               [CURATOR_CREATE_EPHEMERAL] = 1,
                               [CURATOR_CREATE_EPHEMERAL_SEQUENTIAL] = 3 };
  Attempt *attempt = data;
  CuratorLockInternals *internals = attempt->internals;

  adopt_session (attempt);
  if (lost_cover (attempt))
    {
      return;
    }
  choose_payload (attempt);
  g_autofree char *leaf
      = g_strconcat (attempt->prefix != NULL ? attempt->prefix : "", attempt->wanted->name, NULL);
  g_autofree char *path = curator_path_join (internals->base, leaf);
  set_state (attempt, ATTEMPT_CREATING);
  attempt->create = curator_request_create (attempt->session, path, attempt->payload,
                                            modes[attempt->wanted->mode], on_created, attempt);
  if (has_queue (attempt))
    {
      attempt->list = curator_request_get_children (attempt->session, internals->base, FALSE,
                                                    on_first_list, attempt);
    }
}

/* @locks client mutex held. Whose is the node with the name that we wanted, or found by GUID? */
static void
on_owner_known (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  Attempt *attempt = data;
  g_autofree char *path = g_steal_pointer (&attempt->candidate);

  attempt->read = NULL;
  if (rc == ZNONODE)
    {
      attempt->unknown = attempt->unknown && attempt->prefix != NULL;
      try_step (attempt, ATTEMPT_STARTING, start);
    }
  else if (rc != ZOK)
    {
      step_failed (attempt, rc, "looking at the node in");
    }
  else if ((attempt->prefix != NULL || (attempt->unknown && curator_reply_has_payload (reply, attempt->payload)))
           && reply->stat->ephemeralOwner == (is_ephemeral (attempt) ? attempt->session->id : 0))
    {
      own_node (attempt, path, reply->stat->czxid);
    }
  else
    {
      wait_for (attempt, curator_path_leaf (path));
    }
}

/* @locks client mutex required. */
static void
look_at (Attempt *attempt, const char *leaf)
{
  g_free (attempt->candidate);
  attempt->candidate = curator_path_join (attempt->internals->base, leaf);
  attempt->read = curator_request_get (attempt->session, attempt->candidate, FALSE,
                                       on_owner_known, attempt);
}

/* @locks client mutex held (retry loop). */
static void
look_whose (gpointer data)
{
  Attempt *attempt = data;
  g_autofree char *leaf
      = g_strconcat (attempt->prefix != NULL ? attempt->prefix : "", attempt->wanted->name, NULL);
  look_at (attempt, leaf);
}

/* @locks client mutex held. The children after a sync: is one of them ours? */
static void
on_found (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  Attempt *attempt = data;
  const char *found = NULL;

  attempt->read = NULL;
  if (rc != ZOK && rc != ZNONODE)
    {
      step_failed (attempt, rc, "looking for our node in");
      return;
    }
  for (int i = 0; rc == ZOK && i < reply->children->count; i++)
    {
      if (g_str_has_prefix (reply->children->data[i], attempt->prefix))
        {
          found = reply->children->data[i];
        }
    }
  if (found != NULL)
    {
      look_at (attempt, found);
      return;
    }
  attempt->unknown = FALSE;
  try_step (attempt, ATTEMPT_STARTING, start);
}

/* @locks client mutex held. */
static void
on_synced (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  Attempt *attempt = data;
  attempt->read = NULL;
  if (rc != ZOK && rc != ZNONODE)
    {
      step_failed (attempt, rc, "looking for our node in");
      return;
    }
  if (attempt->prefix == NULL)
    {
      look_whose (attempt);
      return;
    }
  attempt->read = curator_request_get_children (attempt->session, attempt->internals->base, FALSE,
                                                on_found, attempt);
}

/* @locks client mutex held (retry loop). */
static void
find (gpointer data)
{
  Attempt *attempt = data;
  attempt->read
      = curator_request_sync (attempt->session, attempt->internals->base, on_synced, attempt);
}

static void
attempt_cancel (CuratorOp *op, GError *reason)
{
  Attempt *attempt = (Attempt *) op;

  if (attempt->state == ATTEMPT_LEAVING)
    {
      g_clear_error (&reason);
      finish_failed (attempt);
      return;
    }
  /* A single try has nobody to wait for: what took so long was the server. */
  if (attempt->once && g_error_matches (reason, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT))
    {
      g_clear_error (&reason);
      fail_zk (attempt, ZCONNECTIONLOSS, "acquiring");
      return;
    }
  fail (attempt, reason);
}

static void
attempt_finalize (CuratorOp *op)
{
  Attempt *attempt = (Attempt *) op;
  curator_node_request_free (attempt->wanted);
  g_clear_error (&attempt->failure);
  g_clear_pointer (&attempt->payload, g_bytes_unref);
  curator_lock_internals_unref (attempt->internals);
}

static void
release_lease (gpointer lease)
{
  curator_lease_unref (lease);
}

CuratorOp *
curator_lock_internals_attempt_locked (CuratorLockInternals *internals,
                                       CuratorNodeRequest *request, gint64 deadline_us,
                                       gboolean once, CuratorOpDone done, gpointer data)
{
  static const CuratorOpClass klass
      = { .cancel = attempt_cancel, .finalize = attempt_finalize, .free_result = release_lease };
  CuratorClient *client = internals->client;
  Attempt *attempt
      = curator_op_alloc (sizeof *attempt, &klass, client, deadline_us, done, data);

  attempt->internals = curator_lock_internals_ref (internals);
  attempt->wanted = request;
  attempt->once = once;
  attempt->link.data = attempt;
  attempt->called_us = curator_client_now_us (client);
  if (curator_op_begin (&attempt->op))
    {
      curator_retry_loop_init (&attempt->tries, client, tries_go, tries_give_up, attempt);
      curator_retry_loop_init (&attempt->restarts, client, restarts_go, tries_give_up, attempt);
      try_step (attempt, ATTEMPT_STARTING, start);
    }
  return &attempt->op;
}

CuratorOp *
curator_lock_internals_attempt (CuratorLockInternals *internals, CuratorNodeRequest *request,
                                gint64 deadline_us, gboolean once, CuratorOpDone done,
                                gpointer data)
{
  CuratorLockDriver *driver = internals->driver;

  if (request == NULL)
    {
      request = curator_node_request_new (internals->lock_name);
      if (driver->funcs.creates_the_lock != NULL)
        {
          driver->funcs.creates_the_lock (driver, request, driver->user_data);
        }
    }
  curator_client_lock (internals->client);
  CuratorOp *op = curator_lock_internals_attempt_locked (internals, request, deadline_us, once,
                                                         done, data);
  curator_client_unlock (internals->client);
  return op;
}

void
curator_lock_internals_recheck (CuratorLockInternals *internals)
{
  GList *next;
  for (GList *link = internals->attempts.head; link != NULL; link = next)
    {
      Attempt *attempt = link->data;
      next = link->next;
      if (attempt->state == ATTEMPT_WAITING)
        {
          try_step (attempt, ATTEMPT_LISTING, list);
        }
    }
}
