/* LeaderSelector: runs a function of the user's on a thread of its own while it leads.
 *
 * Threads: any; guarded by the client's mutex. The function runs on a thread that is started at the
 * grant and ends with it, so a selector in the queue has none. The function may end its thread. The
 * thread keeps the selector in memory, but does not keep it open.
 */
#include "curator/leader.h"

#include "base/fork_gate.h"
#include "base/tag.h"
#include "core/client-record.h"
#include "core/listeners.h"
#include "core/log.h"
#include "core/monitor.h"
#include "leader/candidate.h"
#include "leader/participants.h"
#include "lock/lock-private.h"
#include "lock/wire.h"

#include <string.h>

struct _CuratorLeaderSelector
{
  CuratorCandidate candidate; /* first */
  CuratorClient *client;      /* a reference */
  CuratorTakeLeadershipFunc take_leadership;
  gpointer user_data;
  GDestroyNotify destroy;
  gboolean until_lost CURATOR_GUARDED;
  GCancellable *cancellable CURATOR_GUARDED; /* of the current leadership, or NULL */
  gint64 pause_us CURATOR_GUARDED;           /* before it queues again */
};

/* On the thread that leads. */
typedef struct
{
  CuratorLeaderSelector *selector;
  CuratorLease *lease;
  GCancellable *cancellable;
  gint64 begun_us;
} Leadership;

/* A function that returns sooner has failed, or has nothing to do: it is called ever less often. */
#define SHORT_US       (100 * 1000)
#define FIRST_PAUSE_US (10 * 1000)

static void
finalize (gpointer object)
{
  CuratorLeaderSelector *selector = object;
  curator_user_data_destroy (selector->client, selector->destroy, selector->user_data);
  curator_client_unref (selector->client);
}

static CURATOR_LOCKED void
on_changed (gpointer object, CuratorLeaseState state)
{
  CuratorLeaderSelector *selector = object;

  if (state >= CURATOR_LEASE_STATE_LOST
      || (state == CURATOR_LEASE_STATE_SUSPECT && !selector->until_lost))
    curator_dispatch_cancel (selector->client, selector->cancellable);
}

/* The delete of the old node is sent before the create of the next. */
static CURATOR_LOCKED void
end_leadership (CuratorLeaderSelector *selector)
{
  g_clear_object (&selector->cancellable);
  curator_candidate_step_down (&selector->candidate);
}

/* Also if the function has ended its thread. */
static CURATOR_UNLOCKED void
leave (void *data)
{
  Leadership *leadership = data;
  CuratorLeaderSelector *selector = leadership->selector;
  CuratorClient *client = selector->client;

  curator_client_lock (client);
  end_leadership (selector);
  const gint64 took_us = curator_client_now_us (client) - leadership->begun_us;
  const gint64 pause_us = took_us < SHORT_US ? selector->pause_us : 0;
  selector->pause_us = CLAMP (2 * pause_us, FIRST_PAUSE_US, CURATOR_CANDIDATE_RETRY_US);
  curator_candidate_queue_again (&selector->candidate, pause_us);
  curator_client_unlock (client);
  CURATOR_INSIDE_GATE;
  curator_lease_unref (leadership->lease);
  g_object_unref (leadership->cancellable);
  curator_candidate_unref (selector);
}

static CURATOR_UNLOCKED void *
lead (void *data)
{
  CuratorLeaderSelector *selector = data;
  Leadership leadership = { .selector = selector,
                            .begun_us = curator_client_now_us (selector->client) };

  curator_client_lock (selector->client);
  leadership.lease = curator_lease_ref (selector->candidate.lease);
  leadership.cancellable = g_object_ref (selector->cancellable);
  curator_client_unlock (selector->client);
  pthread_cleanup_push (leave, &leadership);
  /* The leadership may have ended before it began. */
  if (curator_lease_is_provable (leadership.lease)
      && !g_cancellable_is_cancelled (leadership.cancellable)) {
    selector->take_leadership (selector, leadership.lease, leadership.cancellable,
                               selector->user_data);
    pthread_setcancelstate (PTHREAD_CANCEL_DISABLE, NULL);
  }
  pthread_cleanup_pop (TRUE);
  return NULL;
}

static CURATOR_LOCKED gboolean
leads_now (gpointer object)
{
  CuratorLease *lease = ((CuratorLeaderSelector *) object)->candidate.lease;
  return lease != NULL && curator_lease_state_now (lease) < CURATOR_LEASE_STATE_LOST;
}

static CURATOR_LOCKED void
on_granted (gpointer object)
{
  CuratorLeaderSelector *selector = object;

  selector->cancellable = g_cancellable_new ();
  curator_dispatch_expect (selector->client, CURATOR_LANE_STATES, CURATOR_EXPECTED_CANCEL);
  curator_candidate_ref (selector);
  CuratorZkOps *ops = selector->client->ops;
  const int failed = ops->start_thread (ops, "curator-leader", lead, selector);
  if (failed != 0) {
    curator_warn ("a leader selector cannot start its thread: %s", g_strerror (failed));
    end_leadership (selector);
    curator_candidate_queue_again (&selector->candidate, CURATOR_CANDIDATE_RETRY_US);
    curator_client_after_unlock (selector->client, curator_candidate_unref, selector);
  } else if (leads_now (selector)) {
    curator_candidate_end_waits (&selector->candidate);
  }
}

CuratorLeaderSelector *
curator_leader_selector_new (CuratorClient *client, const char *path,
                             CuratorTakeLeadershipFunc take_leadership, gpointer user_data,
                             GDestroyNotify destroy, GError **error)
{
  static const CuratorCandidateClass klass = { .tag = CURATOR_TAG_LEADER_SELECTOR,
                                               .name = "leader selector",
                                               .granted = on_granted,
                                               .changed = on_changed,
                                               .leads = leads_now,
                                               .finalize = finalize };

  CURATOR_CHECK_CALL (CURATOR_IS_CLIENT (client) && take_leadership != NULL, error, NULL);
  if (!curator_lock_check_path (client, path, error))
    return NULL;
  CuratorLeaderSelector *selector = g_new0 (CuratorLeaderSelector, 1);
  selector->client = curator_client_ref (client);
  selector->take_leadership = take_leadership;
  selector->user_data = user_data;
  selector->destroy = destroy;
  curator_candidate_init (&selector->candidate, &klass, client, path, CURATOR_LOCK_NAME, "");
  return selector;
}

CuratorLeaderSelector *
curator_leader_selector_ref (CuratorLeaderSelector *selector)
{
  g_return_val_if_fail (CURATOR_IS_LEADER_SELECTOR (selector), NULL);
  curator_candidate_ref (selector);
  curator_refs_inc (&selector->candidate.refs);
  return selector;
}

void
curator_leader_selector_unref (CuratorLeaderSelector *selector)
{
  g_return_if_fail (CURATOR_IS_LEADER_SELECTOR (selector));
  if (!curator_client_check_forked (selector->client, NULL))
    return;
  if (curator_refs_dec (&selector->candidate.refs))
    curator_leader_selector_close (selector);
  curator_candidate_unref (selector);
}

void
curator_leader_selector_set_id (CuratorLeaderSelector *selector, const char *id)
{
  g_return_if_fail (CURATOR_IS_LEADER_SELECTOR (selector) && id != NULL);
  g_return_if_fail (curator_client_check_forked (selector->client, NULL));
  curator_client_lock (selector->client);
  const gboolean latent = selector->candidate.life == CURATOR_LIFE_LATENT;
  if (latent) {
    g_free (selector->candidate.id);
    selector->candidate.id = g_strdup (id);
    g_clear_pointer (&selector->candidate.payload, g_bytes_unref);
    selector->candidate.payload = *id != '\0' ? g_bytes_new (id, strlen (id)) : NULL;
  }
  curator_client_unlock (selector->client);
  g_return_if_fail (latent);
}

CURATOR_GETTER (const char *, curator_leader_selector_get_id, const CuratorLeaderSelector,
                LEADER_SELECTOR, candidate.id, NULL)
CURATOR_GETTER (const char *, curator_leader_selector_get_path, const CuratorLeaderSelector,
                LEADER_SELECTOR, candidate.internals->shown, NULL)
CURATOR_GETTER (CuratorClient *, curator_leader_selector_get_client, const CuratorLeaderSelector,
                LEADER_SELECTOR, client, NULL)

void
curator_leader_selector_set_auto_requeue (CuratorLeaderSelector *selector, gboolean auto_requeue)
{
  g_return_if_fail (CURATOR_IS_LEADER_SELECTOR (selector));
  if (!curator_client_check_forked (selector->client, NULL))
    return;
  curator_client_lock (selector->client);
  selector->candidate.requeues = auto_requeue;
  curator_client_unlock (selector->client);
}

void
curator_leader_selector_set_until_lost (CuratorLeaderSelector *selector, gboolean until_lost)
{
  g_return_if_fail (CURATOR_IS_LEADER_SELECTOR (selector));
  if (!curator_client_check_forked (selector->client, NULL))
    return;
  curator_client_lock (selector->client);
  selector->until_lost = until_lost;
  curator_client_unlock (selector->client);
}

gboolean
curator_leader_selector_start (CuratorLeaderSelector *selector, GError **error)
{
  CURATOR_CHECK_CALL (CURATOR_IS_LEADER_SELECTOR (selector), error, FALSE);
  return curator_candidate_start (&selector->candidate, error);
}

gboolean
curator_leader_selector_requeue (CuratorLeaderSelector *selector)
{
  g_return_val_if_fail (CURATOR_IS_LEADER_SELECTOR (selector), FALSE);
  CuratorClient *client = selector->client;

  if (!curator_client_check_usable (client, NULL))
    return FALSE;
  curator_client_lock (client);
  const gboolean is_out = selector->candidate.life == CURATOR_LIFE_STARTED
                          && curator_client_is_running (client) && selector->cancellable == NULL
                          && !curator_candidate_is_queued (&selector->candidate);
  if (is_out)
    curator_candidate_queue (&selector->candidate, 0);
  curator_client_unlock (client);
  return is_out;
}

/* A reference to the current leadership's, or NULL. */
static CURATOR_LOCKED GCancellable *
dup_cancellable (CuratorLeaderSelector *selector)
{
  return selector->cancellable != NULL ? g_object_ref (selector->cancellable) : NULL;
}

void
curator_leader_selector_interrupt_leadership (CuratorLeaderSelector *selector)
{
  g_return_if_fail (CURATOR_IS_LEADER_SELECTOR (selector));
  if (!curator_client_check_forked (selector->client, NULL))
    return;
  curator_client_lock (selector->client);
  g_autoptr (GCancellable) cancellable = dup_cancellable (selector);
  curator_client_unlock (selector->client);
  g_cancellable_cancel (cancellable);
}

gboolean
curator_leader_selector_await (CuratorLeaderSelector *selector, gint64 timeout_ms,
                               GCancellable *cancellable, GError **error)
{
  CURATOR_CHECK_WAITING (CURATOR_IS_LEADER_SELECTOR (selector), cancellable, error, FALSE);
  return curator_candidate_await (&selector->candidate, timeout_ms, cancellable, error);
}

gboolean
curator_leader_selector_has_leadership (CuratorLeaderSelector *selector)
{
  g_return_val_if_fail (CURATOR_IS_LEADER_SELECTOR (selector), FALSE);
  return CURATOR_UNLESS_FORKED (selector->client, leads_now (selector), FALSE);
}

CuratorLease *
curator_leader_selector_dup_lease (CuratorLeaderSelector *selector)
{
  g_return_val_if_fail (CURATOR_IS_LEADER_SELECTOR (selector), NULL);
  return CURATOR_UNLESS_FORKED (
      selector->client, leads_now (selector) ? curator_lease_ref (selector->candidate.lease) : NULL,
      NULL);
}

GPtrArray *
curator_leader_selector_get_participants (CuratorLeaderSelector *selector, gint64 timeout_ms,
                                          GCancellable *cancellable, GError **error)
{
  CURATOR_CHECK_WAITING (CURATOR_IS_LEADER_SELECTOR (selector), cancellable, error, NULL);
  return curator_participants_read (selector->candidate.internals, G_MAXUINT, timeout_ms,
                                    cancellable, error);
}

CuratorLeaderParticipant *
curator_leader_selector_get_leader (CuratorLeaderSelector *selector, gint64 timeout_ms,
                                    GCancellable *cancellable, GError **error)
{
  CURATOR_CHECK_WAITING (CURATOR_IS_LEADER_SELECTOR (selector), cancellable, error, NULL);
  return curator_participants_read_leader (selector->candidate.internals, timeout_ms, cancellable,
                                           error);
}

void
curator_leader_selector_close (CuratorLeaderSelector *selector)
{
  g_return_if_fail (CURATOR_IS_LEADER_SELECTOR (selector));
  if (!curator_client_check_forked (selector->client, NULL))
    return;
  curator_client_lock (selector->client);
  selector->candidate.life = CURATOR_LIFE_STOPPED;
  curator_candidate_end_waits (&selector->candidate);
  curator_candidate_withdraw (&selector->candidate);
  g_autoptr (GCancellable) cancellable = dup_cancellable (selector);
  curator_client_unlock (selector->client);
  g_cancellable_cancel (cancellable);
}
