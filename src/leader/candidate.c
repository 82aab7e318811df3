/* A place in the queue of an election, taken again as often as its recipe wishes, and the threads
 * that await its turn.
 *
 * Mirrors what LeaderSelector does with its InterProcessMutex, and LeaderLatch with its own node;
 * LeaderLatch.await().
 * Threads: any; guarded by the client's mutex.
 *
 * NOTES: the attempt, its retries and its lease are those of every lock. A new attempt starts on
 * the timer thread, because a lease may end while its session is being taken apart.
 */
#include "leader/candidate.h"

#include "base/container.h"
#include "base/fork_gate.h"
#include "core/await.h"
#include "core/client-record.h"
#include "core/log.h"
#include "core/monitor.h"
#include "core/payload.h"
#include "session/connection_error.h"

typedef struct
{
  CuratorOp op;
  CuratorCandidate *candidate;
  GList link;
} Wait;

CURATOR_DESTROY_FUNC (unref_lease, curator_lease_unref)

static CURATOR_LOCKED void
on_changed (CuratorLeaseHook *hook, CuratorLeaseState state)
{
  CuratorCandidate *candidate = CURATOR_CONTAINER (hook, CuratorCandidate, hook);
  candidate->klass->changed (candidate, state);
}

static CURATOR_LOCKED void
end_lease (CuratorClient *client, CuratorLease *lease)
{
  curator_lease_set_hook (lease, NULL);
  curator_lease_end (lease, NULL);
  curator_client_after_unlock (client, unref_lease, lease);
}

/* A grant that comes after the withdrawal ends at once. */
static CURATOR_LOCKED void
on_granted (CuratorLease *lease, gpointer data)
{
  CuratorCandidate *candidate = data;

  if (candidate->op == NULL) {
    end_lease (candidate->internals->client, lease);
    return;
  }
  g_clear_pointer (&candidate->op, curator_op_unref);
  g_clear_error (&candidate->failure);
  candidate->lease = lease;
  curator_lease_set_hook (lease, &candidate->hook);
  candidate->klass->granted (candidate);
}

/* A warning for each failure would fill the log of a program without a server; each cause is told
 * once in a row. */
static CURATOR_LOCKED void
note_failure (CuratorCandidate *candidate, const GError *error)
{
  if (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_CLOSED))
    return;
  if (candidate->failure == NULL
      || !g_error_matches (candidate->failure, error->domain, error->code)) {
    curator_warn ("a candidate for leadership is out of the queue: %s", error->message);
    curator_connection_error_unhandled (candidate->internals->client, error);
  }
  g_clear_error (&candidate->failure);
  candidate->failure = g_error_copy (error);
}

static CURATOR_UNLOCKED void
on_done (CuratorOp *op, gpointer result, const GError *error, gpointer data)
{
  CuratorCandidate *candidate = data;
  CuratorClient *client = candidate->internals->client;

  curator_client_lock (client);
  if (error != NULL && candidate->op == op) {
    g_clear_pointer (&candidate->op, curator_op_unref);
    note_failure (candidate, error);
    curator_candidate_queue_again (candidate, CURATOR_CANDIDATE_RETRY_US);
  }
  curator_client_unlock (client);
  curator_candidate_unref (candidate);
}

static CURATOR_LOCKED void
on_timer (gpointer data)
{
  CuratorCandidate *candidate = data;
  CuratorNodeRequest *request = NULL;

  candidate->timer = NULL;
  if (candidate->payload != NULL) {
    request = curator_node_request_new (candidate->internals->lock_name);
    request->data = g_bytes_ref (candidate->payload);
  }
  curator_candidate_ref (candidate);
  const CuratorAttemptSpec spec = { .request = request,
                                    .deadline_us = G_MAXINT64,
                                    .granted = on_granted,
                                    .done = on_done,
                                    .data = candidate };
  candidate->op = curator_lock_internals_attempt_locked (candidate->internals, &spec);
}

void
curator_candidate_init (CuratorCandidate *candidate, const CuratorCandidateClass *klass,
                        CuratorClient *client, const char *path, const char *lock_name,
                        const char *id)
{
  candidate->tag = klass->tag;
  curator_refs_init (&candidate->refs);
  curator_refs_init (&candidate->memory);
  candidate->klass = klass;
  candidate->id = g_strdup (id);
  candidate->internals = curator_lock_internals_new (client, path, path, lock_name, 1, NULL);
  candidate->hook.changed = on_changed;
}

gpointer
curator_candidate_ref (gpointer candidate)
{
  curator_refs_inc (&((CuratorCandidate *) candidate)->memory);
  return candidate;
}

void
curator_candidate_unref (gpointer data)
{
  CuratorCandidate *candidate = data;

  if (!curator_refs_dec (&candidate->memory))
    return;
  curator_not_shared ();
  g_assert (candidate->op == NULL && candidate->timer == NULL && candidate->lease == NULL);
  g_assert (candidate->waits.length == 0);
  curator_gate_enter ();
  g_clear_pointer (&candidate->payload, g_bytes_unref);
  g_clear_error (&candidate->failure);
  curator_lock_internals_unref (candidate->internals);
  curator_gate_leave ();
  candidate->klass->finalize (candidate);
  g_free (candidate->id);
  curator_tag_clear (candidate);
  g_free (candidate);
}

void
curator_candidate_queue (CuratorCandidate *candidate, gint64 delay_us)
{
  g_assert (!curator_candidate_is_queued (candidate) && candidate->lease == NULL);
  candidate->timer =
      curator_timer_after (candidate->internals->client, delay_us, on_timer, candidate);
}

void
curator_candidate_queue_again (CuratorCandidate *candidate, gint64 delay_us)
{
  if (candidate->requeues && candidate->life == CURATOR_LIFE_STARTED
      && curator_client_is_running (candidate->internals->client))
    curator_candidate_queue (candidate, delay_us);
}

static GError *
closed_error (const CuratorCandidate *candidate)
{
  return g_error_new (CURATOR_ERROR, CURATOR_ERROR_CLOSED, "the %s is closed",
                      candidate->klass->name);
}

gboolean
curator_candidate_start (CuratorCandidate *candidate, GError **error)
{
  CuratorClient *client = candidate->internals->client;
  GError *refusal = NULL;

  if (!curator_client_check_usable (client, error))
    return FALSE;
  curator_client_lock (client);
  if (candidate->life == CURATOR_LIFE_STOPPED) {
    refusal = closed_error (candidate);
  } else if (candidate->life == CURATOR_LIFE_STARTED) {
    refusal = g_error_new (CURATOR_ERROR, CURATOR_ERROR_ALREADY_STARTED,
                           "the %s was already started", candidate->klass->name);
  } else if (candidate->payload == NULL
             || curator_check_payload (g_bytes_get_size (candidate->payload), &refusal)) {
    candidate->life = CURATOR_LIFE_STARTED;
    curator_candidate_queue (candidate, 0);
  }
  curator_client_unlock (client);
  if (refusal != NULL)
    g_propagate_error (error, refusal);
  return refusal == NULL;
}

gboolean
curator_candidate_is_queued (const CuratorCandidate *candidate)
{
  return candidate->op != NULL || candidate->timer != NULL;
}

/* Runs without the mutex. */
static void
cancel_op (gpointer data)
{
  CuratorOp *op = data;
  curator_op_cancel (op, g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_CLOSED,
                                              "the candidate has left the queue"));
  curator_op_unref (op);
}

void
curator_candidate_withdraw (CuratorCandidate *candidate)
{
  CuratorClient *client = candidate->internals->client;

  curator_timer_cancel (client, &candidate->timer);
  if (candidate->op != NULL)
    curator_client_after_unlock (client, cancel_op, g_steal_pointer (&candidate->op));
}

void
curator_candidate_step_down (CuratorCandidate *candidate)
{
  if (candidate->lease != NULL)
    end_lease (candidate->internals->client, g_steal_pointer (&candidate->lease));
}

/* Takes error; NULL for success. */
static CURATOR_LOCKED void
finish_wait (CuratorOp *op, GError *error)
{
  Wait *wait = (Wait *) op;
  g_queue_unlink (&wait->candidate->waits, &wait->link);
  curator_op_finish (op, NULL, error);
}

void
curator_candidate_end_waits (CuratorCandidate *candidate)
{
  while (candidate->waits.head != NULL) {
    GError *error = NULL;
    if (candidate->life == CURATOR_LIFE_LATENT)
      error = g_error_new (CURATOR_ERROR, CURATOR_ERROR_NOT_STARTED, "the %s has not been started",
                           candidate->klass->name);
    else if (candidate->life == CURATOR_LIFE_STOPPED)
      error = closed_error (candidate);
    finish_wait (candidate->waits.head->data, error);
  }
}

/* Why the candidate could not queue; or the attempt in progress knows whether a contender is
 * ahead. */
static CURATOR_LOCKED GError *
wait_timed_out (CuratorOp *op)
{
  const CuratorCandidate *candidate = ((Wait *) op)->candidate;
  const GError *failure = candidate->failure;
  CuratorOp *attempt = candidate->op;

  /* Not of an outage, which may have ended since. */
  if (failure != NULL && !g_error_matches (failure, CURATOR_ERROR, CURATOR_ERROR_CONNECTION_LOST)
      && !g_error_matches (failure, CURATOR_ERROR, CURATOR_ERROR_SESSION_EXPIRED)
      && (attempt == NULL || !attempt->contender_was_shown)) {
    GError *error = g_error_copy (failure);
    g_prefix_error (&error, "the %s could not queue: ", candidate->klass->name);
    return error;
  }
  return attempt != NULL ? attempt->klass->timed_out (attempt)
                         : curator_unanswered_error (op->client, "leading at",
                                                     candidate->internals->shown, op->begun_us);
}

gboolean
curator_candidate_await (CuratorCandidate *candidate, gint64 timeout_ms, GCancellable *cancellable,
                         GError **error)
{
  static const CuratorOpClass klass = { .cancel = finish_wait, .timed_out = wait_timed_out };
  CuratorClient *client = candidate->internals->client;
  CuratorAwait await;

  if (!curator_check_call (client, cancellable, error))
    return FALSE;
  curator_await_init (&await, client);
  Wait *wait =
      curator_op_alloc (sizeof *wait, &klass, client, curator_client_deadline (client, timeout_ms),
                        curator_await_done, &await);
  wait->candidate = candidate;
  wait->link.data = wait;
  curator_client_lock (client);
  if (curator_op_begin (&wait->op)) {
    g_queue_push_tail_link (&candidate->waits, &wait->link);
    /* It leads, or never will. */
    if (candidate->life != CURATOR_LIFE_STARTED || candidate->klass->leads (candidate))
      curator_candidate_end_waits (candidate);
  }
  curator_client_unlock (client);
  return curator_await_op (&await, &wait->op, cancellable, NULL, error);
}
