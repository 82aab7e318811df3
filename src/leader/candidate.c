/* A place in the queue of an election, taken again as often as its recipe wishes.
 *
 * Mirrors what LeaderSelector does with its InterProcessMutex, and LeaderLatch with its own node.
 * Threads: any; guarded by the client's mutex.
 *
 * NOTES: the attempt, its retries and its lease are those of every lock. A new attempt starts on
 * the timer thread, because a lease may end while its session is being taken apart.
 */
#include "leader/candidate.h"

#include "base/container.h"
#include "base/fork_gate.h"
#include "core/client-record.h"
#include "core/log.h"
#include "core/monitor.h"
#include "core/payload.h"
#include "session/connection_error.h"

CURATOR_DESTROY_FUNC (unref_lease, curator_lease_unref)

static CURATOR_LOCKED void
on_changed (CuratorLeaseHook *hook, CuratorLeaseState state)
{
  CuratorCandidate *candidate = CURATOR_CONTAINER (hook, CuratorCandidate, hook);
  candidate->klass->changed (candidate->owner, state);
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
  candidate->klass->granted (candidate->owner);
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
  candidate->klass->unref (candidate->owner);
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
  candidate->klass->ref (candidate->owner);
  const CuratorAttemptSpec spec = { .request = request,
                                    .deadline_us = G_MAXINT64,
                                    .granted = on_granted,
                                    .done = on_done,
                                    .data = candidate };
  candidate->op = curator_lock_internals_attempt_locked (candidate->internals, &spec);
}

void
curator_candidate_init (CuratorCandidate *candidate, const CuratorCandidateClass *klass,
                        gpointer owner, CuratorClient *client, const char *path,
                        const char *lock_name)
{
  candidate->klass = klass;
  candidate->owner = owner;
  candidate->internals = curator_lock_internals_new (client, path, path, lock_name, 1, NULL);
  candidate->hook.changed = on_changed;
}

void
curator_candidate_clear (CuratorCandidate *candidate)
{
  CURATOR_INSIDE_GATE;
  curator_not_shared ();
  g_assert (candidate->op == NULL && candidate->timer == NULL && candidate->lease == NULL);
  g_assert (candidate->waits.length == 0);
  g_clear_pointer (&candidate->payload, g_bytes_unref);
  g_clear_error (&candidate->failure);
  curator_lock_internals_unref (candidate->internals);
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

GError *
curator_candidate_closed_error (const CuratorCandidate *candidate)
{
  return g_error_new (CURATOR_ERROR, CURATOR_ERROR_CLOSED, "the %s is closed",
                      candidate->klass->name);
}

static CURATOR_LOCKED gboolean
check_start (const CuratorCandidate *candidate, GError **error)
{
  if (candidate->life == CURATOR_LIFE_STOPPED) {
    g_propagate_error (error, curator_candidate_closed_error (candidate));
    return FALSE;
  }
  if (candidate->life == CURATOR_LIFE_STARTED)
    return CURATOR_REFUSE (error, CURATOR_ERROR_ALREADY_STARTED, "the %s was already started",
                           candidate->klass->name);
  return candidate->payload == NULL
         || curator_check_payload (g_bytes_get_size (candidate->payload), error);
}

gboolean
curator_candidate_start (CuratorCandidate *candidate, GError **error)
{
  CuratorClient *client = candidate->internals->client;

  if (!curator_client_check_usable (client, error))
    return FALSE;
  curator_client_lock (client);
  const gboolean starts = check_start (candidate, error);
  if (starts) {
    candidate->life = CURATOR_LIFE_STARTED;
    curator_candidate_queue (candidate, 0);
  }
  curator_client_unlock (client);
  return starts;
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
