/* One attempt to acquire a lock path, as a state machine.
 *
 * Mirrors LockInternals.attemptLock and internalLockLoop.
 * Threads: answers and watch events arrive on ZooKeeper's thread, timeouts and retries on the timer
 * thread, cancellation on the canceller's; the client's mutex guards all of it.
 *
 * NOTES: create and list are sent back to back, because a session's requests are answered in order:
 * an uncontended grant costs one round trip. An attempt belongs to one session at a time. When that
 * session dies, the reaper gets the node and the attempt restarts at the tail of the queue: a node
 * of a dead session may be listed for a while and must not be mistaken for ours.
 */
#include "lock/attempt-private.h"

#include "base/container.h"
#include "base/path.h"
#include "core/client-record.h"
#include "core/monitor.h"
#include "core/stats-private.h"
#include "lock/lease-private.h"
#include "nodes/reaper.h"
#include "session/heartbeat.h"
#include "session/request.h"
#include "session/session.h"

/* A payload that is shorter is refused by no server at which anything else works. */
#define LONG_PAYLOAD 256
#define LOST_CREATES 3

static CURATOR_LOCKED void
on_session_died (CuratorSessionHook *hook)
{
  Attempt *attempt = CURATOR_CONTAINER (hook, Attempt, session_hook);
  curator_attempt_restart (attempt, ZSESSIONEXPIRED);
}

/* --- its node --------------------------------------------------------------------------------- */

static CURATOR_LOCKED void
on_parents (int rc, gpointer data)
{
  Attempt *attempt = data;
  attempt->parents = NULL;
  GError *missing = curator_parents_chroot_error (attempt->op.client, rc);
  if (missing != NULL)
    curator_attempt_fail (attempt, missing);
  else if (rc != ZOK)
    curator_attempt_step_failed (attempt, rc, "creating the parents of a node in");
  /* The server may delete the empty container first: then start over. */
  else
    curator_attempt_enter (attempt, ATTEMPT_STARTING);
}

/* Servers may be told to take less than our limit. They close the connection, and say why in their
 * logs only. */
static CURATOR_LOCKED GError *
refusal_of (const Attempt *attempt)
{
  const CuratorOwnNode *own = &attempt->own;

  if (own->n_lost < LOST_CREATES || own->payload == NULL
      || g_bytes_get_size (own->payload) < LONG_PAYLOAD)
    return NULL;
  g_autofree char *hosts = curator_path_escape (attempt->op.client->connect_string);
  return g_error_new (CURATOR_ERROR, CURATOR_ERROR_LIMIT_EXCEEDED,
                      "creating a node in %s: %s has closed the connection %d times in a row at a "
                      "payload of %" G_GSIZE_FORMAT " bytes: is its jute.maxbuffer less?",
                      attempt->internals->shown, hosts, LOST_CREATES,
                      g_bytes_get_size (own->payload));
}

static CURATOR_LOCKED void
on_not_created (CuratorOwnNode *node, int rc)
{
  Attempt *attempt = CURATOR_CONTAINER (node, Attempt, own);
  GError *refusal;

  curator_listing_leave (&attempt->listing);
  curator_front_stop (&attempt->front);
  if (rc == ZNONODE) {
    curator_attempt_set_state (attempt, ATTEMPT_PARENTS);
    attempt->parents =
        curator_parents_make (attempt->own.session, attempt->internals->base, on_parents, attempt);
  } else if (rc == ZNODEEXISTS) {
    attempt->contender_shown = !node->may_exist;
    curator_attempt_enter (attempt, ATTEMPT_NAME_TAKEN);
  } else if ((refusal = refusal_of (attempt)) != NULL) {
    curator_attempt_fail (attempt, refusal);
  } else {
    if (node->may_exist)
      curator_attempt_set_state (attempt, ATTEMPT_FINDING);
    curator_attempt_step_failed (attempt, rc, "creating a node in");
  }
}

static CURATOR_LOCKED void
on_there (CuratorOwnNode *node, gint64 number)
{
  Attempt *attempt = CURATOR_CONTAINER (node, Attempt, own);

  g_queue_push_tail_link (&attempt->internals->attempts, &attempt->link);
  attempt->linked = TRUE;
  if (number > CURATOR_QUEUE_LAST_NUMBER) {
    curator_attempt_apply_verdict (attempt, &(CuratorVerdict){ .kind = VERDICT_EXHAUSTED });
    return;
  }
  if (number >= 0 && curator_own_node_has_neighbours (node)) {
    curator_queue_slot_take (&attempt->slot, attempt->local_queue, attempt->internals->lock_name,
                             number);
  }
  const CuratorQueueSlot *ahead = attempt->slot.ahead;
  curator_own_node_register (node, ahead != NULL && !ahead->is_held ? CURATOR_STAKE_FAR
                                                                    : CURATOR_STAKE_NEAR);
  if (!curator_own_node_has_queue (node)) {
    curator_attempt_grant (attempt, FALSE);
  } else if (ahead != NULL) {
    curator_listing_leave (&attempt->listing);
    curator_front_wait_for_neighbour (&attempt->front);
    curator_attempt_begin_to_wait (attempt);
  } else if (attempt->listing.listing == NULL) {
    curator_attempt_enter (attempt, ATTEMPT_LISTING);
  } else {
    curator_attempt_set_state (attempt, ATTEMPT_LISTING);
  }
}

static CURATOR_LOCKED void
on_absent (CuratorOwnNode *node)
{
  curator_attempt_enter (CURATOR_CONTAINER (node, Attempt, own), ATTEMPT_STARTING);
}

static CURATOR_LOCKED void
on_name_taken (CuratorOwnNode *node, const char *leaf, gboolean is_litter)
{
  Attempt *attempt = CURATOR_CONTAINER (node, Attempt, own);
  attempt->ahead_is_being_deleted = is_litter != FALSE;
  attempt->contender_shown = attempt->contender_shown && !is_litter;
  curator_attempt_wait (attempt, &(CuratorFrontView){ .first = leaf });
}

static CURATOR_LOCKED void
on_node_failed (CuratorOwnNode *node, int rc, const char *what)
{
  Attempt *attempt = CURATOR_CONTAINER (node, Attempt, own);
  if (rc == ZNONODE)
    curator_attempt_restart (attempt, rc);
  else
    curator_attempt_step_failed (attempt, rc, what);
}

static const CuratorOwnNodeClass own_node_class = {
  on_there, on_not_created, on_absent, on_name_taken, curator_attempt_on_confirmed, on_node_failed
};

/* --- its place in the queue, and what is in front --------------------------------------------- */

static CURATOR_LOCKED void
on_ahead_held (CuratorQueueSlot *slot)
{
  Attempt *attempt = CURATOR_CONTAINER (slot, Attempt, slot);
  curator_stake_set_near (&attempt->own.stake, TRUE);
}

static CURATOR_LOCKED void
on_ahead_left (CuratorQueueSlot *slot, gboolean released, const char *leaf)
{
  Attempt *attempt = CURATOR_CONTAINER (slot, Attempt, slot);
  if (released)
    curator_attempt_grant (attempt, FALSE);
  else
    curator_attempt_wait (attempt, &(CuratorFrontView){ .first = leaf });
}

static const CuratorQueueSlotClass slot_class = { on_ahead_left, on_ahead_held };

static CURATOR_LOCKED void
on_clear (CuratorFront *front)
{
  curator_attempt_grant (CURATOR_CONTAINER (front, Attempt, front), FALSE);
}

/* Without a node of ours, another one had its name. */
static CURATOR_LOCKED void
on_list (CuratorFront *front, const struct String_vector *children)
{
  Attempt *attempt = CURATOR_CONTAINER (front, Attempt, front);
  if (children != NULL) {
    CuratorSortedList list = { 0 };
    curator_listing_leave (&attempt->listing);
    curator_reaper_note_list (attempt->op.client, attempt->internals->base, children);
    curator_attempt_decide (attempt, children, &list);
    curator_queue_clear (&list.queue);
    return;
  }
  curator_attempt_enter (attempt, attempt->own.path != NULL ? ATTEMPT_LISTING : ATTEMPT_STARTING);
}

static CURATOR_LOCKED void
on_list_early (CuratorFront *front)
{
  Attempt *attempt = CURATOR_CONTAINER (front, Attempt, front);
  if (attempt->state == ATTEMPT_WAITING)
    curator_attempt_list (attempt);
}

static CURATOR_LOCKED void
on_failed (CuratorFront *front, int rc)
{
  Attempt *attempt = CURATOR_CONTAINER (front, Attempt, front);
  curator_attempt_set_state (attempt,
                             attempt->own.path != NULL ? ATTEMPT_LISTING : ATTEMPT_NAME_TAKEN);
  curator_attempt_step_failed (attempt, rc, "watching");
}

static const CuratorFrontClass front_class = { on_clear, on_list, on_list_early, on_failed };

/* --- steps ------------------------------------------------------------------------------------ */

static CURATOR_LOCKED void
create_node (Attempt *attempt)
{
  CuratorSession *current = attempt->op.client->session;

  g_assert (attempt->state <= ATTEMPT_PARENTS);
  /* Joins the client's current session. */
  if (attempt->own.session != current) {
    g_assert (attempt->own.session == NULL);
    curator_own_node_join (&attempt->own, current);
    curator_session_add_hook (current, &attempt->session_hook);
    attempt->local_queue = curator_local_queue_join (current, attempt->internals->base);
  }
  if (curator_attempt_lost_required_hold (attempt))
    return;
  /* A node that requires a hold of the same queue may have its number. */
  if (attempt->own.request->required_hold != NULL)
    curator_lease_share_number (attempt->own.request->required_hold, attempt->local_queue);
  const gboolean needs_list = curator_local_queue_note_create (
      attempt->local_queue, curator_own_node_has_neighbours (&attempt->own),
      &attempt->create_number);
  curator_attempt_set_state (attempt, ATTEMPT_CREATING);
  curator_request_collect (current);
  curator_own_node_create (&attempt->own);
  if (needs_list && attempt->batch_hook == NULL && curator_own_node_has_queue (&attempt->own))
    curator_attempt_list (attempt);
  curator_request_send (current);
}

static CURATOR_LOCKED void
run_step (gpointer data)
{
  Attempt *attempt = data;
  if (attempt->state == ATTEMPT_FINDING) {
    curator_own_node_search (&attempt->own);
  } else if (attempt->state == ATTEMPT_NAME_TAKEN) {
    curator_own_node_check_owner (&attempt->own);
  } else if (attempt->state == ATTEMPT_LISTING) {
    curator_attempt_list (attempt);
  } else if (attempt->state == ATTEMPT_CONFIRMING) {
    curator_count (attempt->op.client, CURATOR_COUNTER_CONFIRMATIONS, 1);
    curator_own_node_confirm (&attempt->own);
  } else {
    create_node (attempt);
  }
}

/* --- begin ------------------------------------------------------------------------------------ */

static void
attempt_finalize (CuratorOp *op)
{
  Attempt *attempt = (Attempt *) op;
  curator_not_shared ();
  curator_node_request_free (attempt->own.request);
  g_clear_error (&attempt->failure);
  g_clear_pointer (&attempt->restarts, g_free);
  curator_lock_internals_unref (attempt->internals);
}

CuratorOp *
curator_lock_internals_attempt_locked (CuratorLockInternals *internals,
                                       const CuratorAttemptSpec *spec)
{
  static const CuratorOpClass klass = { .cancel = curator_attempt_cancel,
                                        .timed_out = curator_attempt_timed_out,
                                        .finalize = attempt_finalize };
  CuratorClient *client = internals->client;
  Attempt *attempt =
      curator_op_alloc (sizeof *attempt, &klass, client, spec->deadline_us, spec->done, spec->data);

  attempt->internals = curator_lock_internals_ref (internals);
  attempt->own =
      (CuratorOwnNode){ .klass = &own_node_class,
                        .internals = internals,
                        .request = spec->request != NULL ? spec->request
                                                         : curator_node_request_default () };
  attempt->front = (CuratorFront){ .klass = &front_class, .own = &attempt->own };
  attempt->slot.klass = &slot_class;
  attempt->session_hook.died = on_session_died;
  attempt->once = spec->once != FALSE;
  attempt->granted = spec->granted;
  attempt->batch_hook = spec->batch_hook;
  attempt->link.data = attempt;
  attempt->listing.listed = curator_attempt_on_listed;
  if (!curator_op_begin (&attempt->op))
    return &attempt->op;
  attempt->called_us = attempt->op.begun_us;
  curator_retry_loop_init (&attempt->tries, client, run_step, curator_attempt_on_retries_exhausted,
                           attempt);
  /* By a node of this session, of which the server has told and which will be in front. */
  attempt->op.contender_was_shown =
      client->session != NULL && curator_own_node_has_neighbours (&attempt->own)
      && curator_local_queue_is_occupied (client->session, internals->base, internals->lock_name);
  GError *error = NULL;
  /* A try that cannot succeed asks no server. */
  if (attempt->once && attempt->op.contender_was_shown)
    curator_attempt_refuse (attempt);
  else if (curator_own_node_check_payload (&attempt->own, &error))
    curator_attempt_enter (attempt, ATTEMPT_STARTING);
  else
    curator_attempt_fail (attempt, error);
  return &attempt->op;
}

CuratorOp *
curator_lock_internals_attempt (CuratorLockInternals *internals, const CuratorAttemptSpec *spec)
{
  CuratorAttemptSpec described = *spec;

  if (spec->request == NULL && internals->driver->funcs.creates_the_lock != NULL)
    described.request = curator_node_request_ask (internals);
  return CURATOR_WITH_MUTEX (internals->client,
                             curator_lock_internals_attempt_locked (internals, &described));
}

void
curator_lock_internals_list (CuratorOp *op)
{
  Attempt *attempt = (Attempt *) op;
  if (!op->finished && attempt->state == ATTEMPT_CREATING && attempt->listing.listing == NULL)
    curator_attempt_list (attempt);
}

void
curator_lock_internals_recheck (CuratorLockInternals *internals)
{
  GList *next;
  for (GList *link = internals->attempts.head; link != NULL; link = next) {
    Attempt *attempt = link->data;
    next = link->next;
    if (attempt->state == ATTEMPT_WAITING)
      curator_attempt_enter (attempt, ATTEMPT_LISTING);
  }
}
