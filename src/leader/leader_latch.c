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
#include "leader/leader_await.h"
#include "leader/participants.h"
#include "lock/lock-private.h"
#include "lock/wire.h"

#include <string.h>

struct _CuratorLeaderLatch
{
  CuratorTag tag;
  CuratorRefs refs;      /* the user's; at zero the latch closes itself */
  CuratorRefs memory;    /* one for each of refs, and for the attempt */
  CuratorClient *client; /* a reference */
  char *id;
  gboolean until_lost CURATOR_GUARDED;
  gboolean is_leader CURATOR_GUARDED;        /* what the listeners were told last */
  CuratorTimer *leave_timer CURATOR_GUARDED; /* it is closed, and its listeners have not returned */
  CuratorListeners listeners CURATOR_GUARDED;
  CuratorCandidate candidate;
};

static void
memory_ref (gpointer data)
{
  CuratorLeaderLatch *latch = data;
  curator_refs_inc (&latch->memory);
}

static void
memory_unref (gpointer data)
{
  CuratorLeaderLatch *latch = data;

  if (curator_refs_dec (&latch->memory)) {
    curator_candidate_clear (&latch->candidate);
    curator_listeners_clear (&latch->listeners);
    curator_client_unref (latch->client);
    g_free (latch->id);
    curator_tag_clear (latch);
    g_free (latch);
  }
}

static void
call_listener (GCallback func, gpointer latch, int is_leader, gpointer user_data)
{
  ((CuratorLeaderLatchListener) func) (latch, is_leader, user_data);
}

/* For a notification, which does not keep the latch open. */
static gpointer
ref_latch (gpointer latch)
{
  memory_ref (latch);
  return latch;
}

/* All listeners from that index on. */
static CURATOR_LOCKED void
tell (CuratorLeaderLatch *latch, guint first, gboolean is_leader)
{
  curator_listeners_notify (&latch->listeners, first, latch->client, call_listener, latch,
                            ref_latch, memory_unref, is_leader);
}

static CURATOR_LOCKED void
set_leadership (CuratorLeaderLatch *latch, gboolean is_leader)
{
  if (latch->is_leader == is_leader)
    return;
  latch->is_leader = is_leader;
  tell (latch, 0, is_leader);
  if (is_leader)
    curator_leader_await_end (&latch->candidate);
}

/* By the rule of the latch. */
static CURATOR_LOCKED gboolean
state_leads (CuratorLeaderLatch *latch, CuratorLeaseState state)
{
  return latch->candidate.life == CURATOR_LIFE_STARTED
         && (state == CURATOR_LEASE_HELD || (state == CURATOR_LEASE_SUSPECT && latch->until_lost));
}

/* By the clock, of which the listeners may not know yet. */
static CURATOR_LOCKED gboolean
leads_now (gpointer owner)
{
  CuratorLeaderLatch *latch = owner;
  CuratorLease *lease = latch->candidate.lease;
  return lease != NULL && state_leads (latch, curator_lease_state_now (lease));
}

/* Leaves the queue, if it leads. */
static CURATOR_LOCKED void
step_down (gpointer data)
{
  CuratorLeaderLatch *latch = data;
  curator_timer_cancel (latch->client, &latch->leave_timer);
  curator_candidate_step_down (&latch->candidate);
}

static CURATOR_LOCKED void
on_changed (gpointer owner, CuratorLeaseState state)
{
  CuratorLeaderLatch *latch = owner;

  set_leadership (latch, state_leads (latch, state));
  if (state >= CURATOR_LEASE_LOST) {
    step_down (latch);
    curator_candidate_queue_again (&latch->candidate, 0);
  }
}

static CURATOR_LOCKED void
on_granted (gpointer owner)
{
  CuratorLeaderLatch *latch = owner;

  on_changed (latch, curator_lease_state_now (latch->candidate.lease));
}

CuratorLeaderLatch *
curator_leader_latch_new (CuratorClient *client, const char *path, const char *id, GError **error)
{
  static const CuratorCandidateClass klass = { .name = "leader latch",
                                               .ref = memory_ref,
                                               .unref = memory_unref,
                                               .granted = on_granted,
                                               .changed = on_changed,
                                               .leads = leads_now };

  CURATOR_CHECK_CALL (CURATOR_IS_CLIENT (client), error, NULL);
  if (!curator_lock_check_path (client, path, error)
      || !curator_check_payload (id != NULL ? strlen (id) : 0, error))
    return NULL;
  CURATOR_INSIDE_GATE;
  CuratorLeaderLatch *latch = g_new0 (CuratorLeaderLatch, 1);
  curator_not_shared ();
  latch->tag = CURATOR_TAG_LEADER_LATCH;
  curator_refs_init (&latch->refs);
  curator_refs_init (&latch->memory);
  latch->client = curator_client_ref (client);
  latch->id = g_strdup (id != NULL ? id : "");
  latch->listeners.on_state_lane = TRUE;
  curator_candidate_init (&latch->candidate, &klass, latch, client, path, CURATOR_LATCH_NAME);
  latch->candidate.requeues = TRUE;
  latch->candidate.payload = g_bytes_new (latch->id, strlen (latch->id));
  return latch;
}

CuratorLeaderLatch *
curator_leader_latch_ref (CuratorLeaderLatch *latch)
{
  g_return_val_if_fail (CURATOR_IS_LEADER_LATCH (latch), NULL);
  memory_ref (latch);
  curator_refs_inc (&latch->refs);
  return latch;
}

void
curator_leader_latch_unref (CuratorLeaderLatch *latch)
{
  g_return_if_fail (CURATOR_IS_LEADER_LATCH (latch));
  if (!curator_client_check_forked (latch->client, NULL))
    return;
  if (curator_refs_dec (&latch->refs))
    curator_leader_latch_close (latch, CURATOR_LEADER_LATCH_SILENT);
  memory_unref (latch);
}

CURATOR_GETTER (const char *, curator_leader_latch_get_id, const CuratorLeaderLatch, LEADER_LATCH,
                id, NULL)
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
  return curator_leader_await (&latch->candidate, timeout_ms, cancellable, error);
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
  return curator_participants_read (latch->candidate.internals, timeout_ms, cancellable, error);
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
  memory_unref (latch);
}

static void
do_nothing (gpointer data)
{
}

/* Runs on the timer thread: a listener does not return. */
static CURATOR_LOCKED void
on_patience_over (gpointer data)
{
  CuratorLeaderLatch *latch = data;
  latch->leave_timer = NULL;
  step_down (latch);
}

/* The next candidate leads once the listeners have stopped what only a leader may do. */
static CURATOR_LOCKED void
leave_after_listeners (CuratorLeaderLatch *latch)
{
  const gint64 patience_us = (gint64) latch->client->settings.connection_timeout_ms * 1000;

  latch->leave_timer = curator_timer_after (latch->client, patience_us, on_patience_over, latch);
  memory_ref (latch);
  curator_dispatch_push (latch->client, CURATOR_LANE_STATES, do_nothing, latch, leave_and_unref);
}

static CURATOR_LOCKED void
close_now (CuratorLeaderLatch *latch)
{
  latch->candidate.life = CURATOR_LIFE_STOPPED;
  curator_candidate_withdraw (&latch->candidate);
  set_leadership (latch, FALSE);
  if (latch->candidate.lease != NULL && curator_listeners_count (&latch->listeners) > 0)
    leave_after_listeners (latch);
  else
    step_down (latch);
  curator_leader_await_end (&latch->candidate);
}

void
curator_leader_latch_close (CuratorLeaderLatch *latch, CuratorLeaderLatchCloseMode mode)
{
  g_return_if_fail (CURATOR_IS_LEADER_LATCH (latch));
  g_return_if_fail (mode == CURATOR_LEADER_LATCH_SILENT
                    || mode == CURATOR_LEADER_LATCH_NOTIFY_LEADER);
  CuratorClient *client = latch->client;

  if (!curator_client_check_forked (client, NULL))
    return;
  if (mode == CURATOR_LEADER_LATCH_SILENT)
    curator_listeners_remove_all (&latch->listeners, client, TRUE);
  curator_client_lock (client);
  if (latch->candidate.life != CURATOR_LIFE_STOPPED)
    close_now (latch);
  curator_client_unlock (client);
  curator_listeners_remove_all (&latch->listeners, client, FALSE);
}
