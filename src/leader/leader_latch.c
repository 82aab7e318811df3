/* LeaderLatch: leads from its turn in the queue until it is closed.
 *
 * Threads: any; guarded by the client's mutex. Listeners run on the states lane. A latch whose
 * lease has ended, or whose attempt has failed, queues again by itself.
 */
#include "curator/leader.h"

#include "base/fork_gate.h"
#include "base/tag.h"
#include "core/async.h"
#include "core/client-record.h"
#include "core/listeners.h"
#include "core/monitor.h"
#include "core/payload.h"
#include "leader/candidate.h"
#include "leader/participants.h"
#include "lock/lock-private.h"
#include "lock/wire.h"

#include <string.h>

struct _CuratorLeaderLatch
{
  CuratorCandidate candidate; /* first */
  CuratorClient *client;      /* a reference */
  gboolean until_lost CURATOR_GUARDED;
  gboolean is_leader CURATOR_GUARDED;        /* what the listeners were told last */
  CuratorTimer *leave_timer CURATOR_GUARDED; /* it is closed, and its listeners have not returned */
  CuratorListeners listeners CURATOR_GUARDED;
};

static void
finalize (gpointer object)
{
  CuratorLeaderLatch *latch = object;
  curator_listeners_clear (&latch->listeners);
  curator_client_unref (latch->client);
}

static void
call_listener (GCallback func, gpointer latch, int is_leader, gpointer user_data)
{
  ((CuratorLeaderLatchListener) func) (latch, is_leader, user_data);
}

/* All listeners from that index on. */
static CURATOR_LOCKED void
tell (CuratorLeaderLatch *latch, guint first, gboolean is_leader)
{
  curator_listeners_notify (&latch->listeners, first, latch->client, call_listener, latch,
                            curator_candidate_ref, curator_candidate_unref, is_leader);
}

static CURATOR_LOCKED void
set_leadership (CuratorLeaderLatch *latch, gboolean is_leader)
{
  if (latch->is_leader == is_leader)
    return;
  latch->is_leader = is_leader;
  tell (latch, 0, is_leader);
  if (is_leader)
    curator_candidate_end_waits (&latch->candidate);
}

/* By the rule of the latch. */
static CURATOR_LOCKED gboolean
state_leads (CuratorLeaderLatch *latch, CuratorLeaseState state)
{
  return latch->candidate.life == CURATOR_LIFE_STARTED
         && (state == CURATOR_LEASE_STATE_HELD
             || (state == CURATOR_LEASE_STATE_SUSPECT && latch->until_lost));
}

/* By the clock, of which the listeners may not know yet. */
static CURATOR_LOCKED gboolean
leads_now (gpointer object)
{
  CuratorLeaderLatch *latch = object;
  CuratorLease *lease = latch->candidate.lease;
  return lease != NULL && state_leads (latch, curator_lease_state_now (lease));
}

/* Leaves the queue, if it leads. */
static CURATOR_LOCKED void
step_down (CuratorLeaderLatch *latch)
{
  curator_timer_cancel (latch->client, &latch->leave_timer);
  curator_candidate_step_down (&latch->candidate);
}

static CURATOR_LOCKED void
on_changed (gpointer object, CuratorLeaseState state)
{
  CuratorLeaderLatch *latch = object;

  set_leadership (latch, state_leads (latch, state));
  if (state >= CURATOR_LEASE_STATE_LOST) {
    step_down (latch);
    curator_candidate_queue_again (&latch->candidate, 0);
  }
}

static CURATOR_LOCKED void
on_granted (gpointer object)
{
  on_changed (object, curator_lease_state_now (((CuratorCandidate *) object)->lease));
}

CuratorLeaderLatch *
curator_leader_latch_new (CuratorClient *client, const char *path, const char *id, GError **error)
{
  static const CuratorCandidateClass klass = { .tag = CURATOR_TAG_LEADER_LATCH,
                                               .name = "leader latch",
                                               .granted = on_granted,
                                               .changed = on_changed,
                                               .leads = leads_now,
                                               .finalize = finalize };

  CURATOR_CHECK_CALL (CURATOR_IS_CLIENT (client), error, NULL);
  if (!curator_lock_check_path (client, path, error)
      || !curator_check_payload (id != NULL ? strlen (id) : 0, error))
    return NULL;
  CURATOR_INSIDE_GATE;
  CuratorLeaderLatch *latch = g_new0 (CuratorLeaderLatch, 1);
  curator_not_shared ();
  latch->client = curator_client_ref (client);
  latch->listeners.on_state_lane = TRUE;
  curator_candidate_init (&latch->candidate, &klass, client, path, CURATOR_LATCH_NAME,
                          id != NULL ? id : "");
  latch->candidate.requeues = TRUE;
  latch->candidate.payload = g_bytes_new (latch->candidate.id, strlen (latch->candidate.id));
  return latch;
}

CuratorLeaderLatch *
curator_leader_latch_ref (CuratorLeaderLatch *latch)
{
  g_return_val_if_fail (CURATOR_IS_LEADER_LATCH (latch), NULL);
  curator_candidate_ref (latch);
  curator_refs_inc (&latch->candidate.refs);
  return latch;
}

void
curator_leader_latch_unref (CuratorLeaderLatch *latch)
{
  g_return_if_fail (CURATOR_IS_LEADER_LATCH (latch));
  if (!curator_client_check_forked (latch->client, NULL))
    return;
  if (curator_refs_dec (&latch->candidate.refs))
    curator_leader_latch_close (latch, CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT);
  curator_candidate_unref (latch);
}

CURATOR_GETTER (const char *, curator_leader_latch_get_id, const CuratorLeaderLatch, LEADER_LATCH,
                candidate.id, NULL)
CURATOR_GETTER (const char *, curator_leader_latch_get_path, const CuratorLeaderLatch, LEADER_LATCH,
                candidate.internals->shown, NULL)
CURATOR_GETTER (CuratorClient *, curator_leader_latch_get_client, const CuratorLeaderLatch,
                LEADER_LATCH, client, NULL)

void
curator_leader_latch_set_until_lost (CuratorLeaderLatch *latch, gboolean until_lost)
{
  g_return_if_fail (CURATOR_IS_LEADER_LATCH (latch));
  if (!curator_client_check_forked (latch->client, NULL))
    return;
  curator_client_lock (latch->client);
  const gboolean latent = latch->candidate.life == CURATOR_LIFE_LATENT;
  latch->until_lost = latent ? until_lost : latch->until_lost;
  curator_client_unlock (latch->client);
  g_return_if_fail (latent);
}

gboolean
curator_leader_latch_start (CuratorLeaderLatch *latch, GError **error)
{
  CURATOR_CHECK_CALL (CURATOR_IS_LEADER_LATCH (latch), error, FALSE);
  return curator_candidate_start (&latch->candidate, error);
}

gboolean
curator_leader_latch_await (CuratorLeaderLatch *latch, gint64 timeout_ms, GCancellable *cancellable,
                            GError **error)
{
  CURATOR_CHECK_WAITING (CURATOR_IS_LEADER_LATCH (latch), cancellable, error, FALSE);
  return curator_candidate_await (&latch->candidate, timeout_ms, cancellable, error);
}

gboolean
curator_leader_latch_has_leadership (CuratorLeaderLatch *latch)
{
  g_return_val_if_fail (CURATOR_IS_LEADER_LATCH (latch), FALSE);
  return CURATOR_UNLESS_FORKED (latch->client, leads_now (latch), FALSE);
}

CuratorLease *
curator_leader_latch_dup_lease (CuratorLeaderLatch *latch)
{
  g_return_val_if_fail (CURATOR_IS_LEADER_LATCH (latch), NULL);
  return CURATOR_UNLESS_FORKED (
      latch->client, leads_now (latch) ? curator_lease_ref (latch->candidate.lease) : NULL, NULL);
}

GPtrArray *
curator_leader_latch_get_participants (CuratorLeaderLatch *latch, gint64 timeout_ms,
                                       GCancellable *cancellable, GError **error)
{
  CURATOR_CHECK_WAITING (CURATOR_IS_LEADER_LATCH (latch), cancellable, error, NULL);
  return curator_participants_read (latch->candidate.internals, G_MAXUINT, timeout_ms, cancellable,
                                    error);
}

CuratorLeaderParticipant *
curator_leader_latch_get_leader (CuratorLeaderLatch *latch, gint64 timeout_ms,
                                 GCancellable *cancellable, GError **error)
{
  CURATOR_CHECK_WAITING (CURATOR_IS_LEADER_LATCH (latch), cancellable, error, NULL);
  return curator_participants_read_leader (latch->candidate.internals, timeout_ms, cancellable,
                                           error);
}

guint
curator_leader_latch_add_listener (CuratorLeaderLatch *latch, CuratorLeaderLatchListener listener,
                                   gpointer user_data, GDestroyNotify destroy)
{
  g_return_val_if_fail (CURATOR_IS_LEADER_LATCH (latch) && listener != NULL, 0);
  if (!curator_client_check_forked (latch->client, NULL))
    return 0;
  curator_client_lock (latch->client);
  /* What the clock has ended is told before, and only to those who have heard of it. */
  const gboolean leads = latch->is_leader && leads_now (latch);
  const guint id = curator_listeners_add (&latch->listeners, latch->client, G_CALLBACK (listener),
                                          user_data, destroy);
  if (leads)
    tell (latch, curator_listeners_count (&latch->listeners) - 1, TRUE);
  curator_client_unlock (latch->client);
  return id;
}

void
curator_leader_latch_remove_listener (CuratorLeaderLatch *latch, guint id)
{
  g_return_if_fail (CURATOR_IS_LEADER_LATCH (latch));
  curator_listeners_remove (&latch->listeners, latch->client, id);
}

/* Runs behind the listeners; without them, if nobody iterates their context any more. */
static CURATOR_UNLOCKED void
leave_and_unref (gpointer data)
{
  CuratorLeaderLatch *latch = data;

  if (!curator_client_check_forked (latch->client, NULL))
    return;
  curator_client_lock (latch->client);
  step_down (latch);
  curator_client_unlock (latch->client);
  curator_candidate_unref (latch);
}

/* Runs on the timer thread: a listener does not return. */
static CURATOR_LOCKED void
on_patience_over (gpointer data)
{
  CuratorLeaderLatch *latch = data;
  latch->leave_timer = NULL;
  step_down (latch);
}

void
curator_leader_latch_close (CuratorLeaderLatch *latch, CuratorLeaderLatchCloseMode mode)
{
  g_return_if_fail (CURATOR_IS_LEADER_LATCH (latch));
  g_return_if_fail (mode == CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT
                    || mode == CURATOR_LEADER_LATCH_CLOSE_MODE_NOTIFY_LEADER);
  CuratorClient *client = latch->client;

  if (!curator_client_check_forked (client, NULL))
    return;
  if (mode == CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT)
    curator_listeners_remove_all (&latch->listeners, client, TRUE);
  curator_client_lock (client);
  if (latch->candidate.life != CURATOR_LIFE_STOPPED) {
    latch->candidate.life = CURATOR_LIFE_STOPPED;
    curator_candidate_withdraw (&latch->candidate);
    set_leadership (latch, FALSE);
    if (latch->candidate.lease != NULL && curator_listeners_count (&latch->listeners) > 0) {
      /* The next candidate leads once the listeners have stopped what only a leader may do. */
      const gint64 patience_us = (gint64) client->settings.connection_timeout_ms * 1000;
      latch->leave_timer = curator_timer_after (client, patience_us, on_patience_over, latch);
      curator_candidate_ref (latch);
      curator_dispatch_push (client, CURATOR_LANE_STATES, NULL, latch, leave_and_unref);
    } else {
      step_down (latch);
    }
    curator_candidate_end_waits (&latch->candidate);
  }
  curator_client_unlock (client);
  curator_listeners_remove_all (&latch->listeners, client, FALSE);
}
