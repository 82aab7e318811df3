/* LeaderLatch.await(), for every recipe of elections.
 *
 * Threads: any; guarded by the client's mutex.
 */
#include "leader/leader_await.h"

#include "core/await.h"
#include "core/client-record.h"
#include "core/monitor.h"
#include "session/connection_error.h"

typedef struct
{
  CuratorOp op;
  CuratorCandidate *candidate;
  GList link;
} Wait;

/* Takes error; NULL for success. */
static CURATOR_LOCKED void
finish_wait (Wait *wait, GError *error)
{
  g_queue_unlink (&wait->candidate->waits, &wait->link);
  curator_op_finish (&wait->op, NULL, error);
}

/* NULL: it leads, or may do so later. */
static CURATOR_LOCKED GError *
why_never (const CuratorCandidate *candidate)
{
  if (candidate->life == CURATOR_LIFE_LATENT)
    return g_error_new (CURATOR_ERROR, CURATOR_ERROR_NOT_STARTED, "the %s has not been started",
                        candidate->klass->name);
  return candidate->life == CURATOR_LIFE_STOPPED ? curator_candidate_closed_error (candidate)
                                                 : NULL;
}

void
curator_leader_await_end (CuratorCandidate *candidate)
{
  while (candidate->waits.head != NULL)
    finish_wait (candidate->waits.head->data, why_never (candidate));
}

static CURATOR_LOCKED void
cancel_wait (CuratorOp *op, GError *reason)
{
  finish_wait ((Wait *) op, reason);
}

/* Not of an outage, which may have ended since. */
static gboolean
keeps_out (const GError *failure)
{
  return failure != NULL && !g_error_matches (failure, CURATOR_ERROR, CURATOR_ERROR_CONNECTION_LOST)
         && !g_error_matches (failure, CURATOR_ERROR, CURATOR_ERROR_SESSION_EXPIRED);
}

/* Why the candidate could not queue; or the attempt in progress knows whether a contender is
 * ahead. */
static CURATOR_LOCKED GError *
wait_timed_out (CuratorOp *op)
{
  const CuratorCandidate *candidate = ((Wait *) op)->candidate;
  CuratorOp *attempt = candidate->op;

  if (keeps_out (candidate->failure) && (attempt == NULL || !attempt->contender_was_shown)) {
    GError *error = g_error_copy (candidate->failure);
    g_prefix_error (&error, "the %s could not queue: ", candidate->klass->name);
    return error;
  }
  return attempt != NULL ? attempt->klass->timed_out (attempt)
                         : curator_unanswered_error (op->client, "leading at",
                                                     candidate->internals->shown, op->begun_us);
}

/* Ends at once if the candidate leads, or never will. */
static CURATOR_UNLOCKED CuratorOp *
begin_wait (CuratorCandidate *candidate, gint64 timeout_ms, CuratorAwait *await)
{
  static const CuratorOpClass klass = { .cancel = cancel_wait, .timed_out = wait_timed_out };
  CuratorClient *client = candidate->internals->client;
  Wait *wait =
      curator_op_alloc (sizeof *wait, &klass, client, curator_client_deadline (client, timeout_ms),
                        curator_await_done, await);

  wait->candidate = candidate;
  wait->link.data = wait;
  curator_client_lock (client);
  if (curator_op_begin (&wait->op)) {
    g_queue_push_tail_link (&candidate->waits, &wait->link);
    if (candidate->life != CURATOR_LIFE_STARTED || candidate->klass->leads (candidate->owner))
      curator_leader_await_end (candidate);
  }
  curator_client_unlock (client);
  return &wait->op;
}

gboolean
curator_leader_await (CuratorCandidate *candidate, gint64 timeout_ms, GCancellable *cancellable,
                      GError **error)
{
  CuratorClient *client = candidate->internals->client;
  CuratorAwait await;

  if (!curator_check_call (client, timeout_ms, cancellable, error))
    return FALSE;
  curator_await_init (&await, client);
  CuratorOp *op = begin_wait (candidate, timeout_ms, &await);
  return curator_await_op (&await, op, cancellable, NULL, error);
}
