/* The lease of one node: how it is lost, released and watched.
 *
 * Mirrors Lease of InterProcessSemaphoreV2. Threads: any; guarded by the client's mutex. The lease
 * clock, the session's death or the node's deletion, whichever is first, makes it LOST; that is
 * final.
 */
#include "lock/lease-impl.h"

#include "base/container.h"
#include "base/path.h"
#include "base/tag.h"
#include "core/client-record.h"
#include "core/log.h"
#include "core/monitor.h"
#include "core/stats-private.h"
#include "lock/own_watch.h"
#include "session/heartbeat.h"

/* Most holds end sooner; only longer ones are worth a watch on their node. */
#define OWN_WATCH_AFTER_US (250 * 1000)
/* A hold that lasts too long is over for this part of the session timeout before its node is
 * deleted. */
#define END_GUARD_SHARE      10
#define LONGEST_END_GUARD_US G_USEC_PER_SEC

static CURATOR_LOCKED CuratorDeletion *
deletion_of (const CuratorLease *lease)
{
  return curator_deletion_new (lease->client, lease->path,
                               lease->is_ephemeral ? lease->session->id : 0,
                               lease->name_is_unique ? 0 : lease->czxid);
}

static CURATOR_LOCKED void
note_end (CuratorLease *lease, CuratorTraceKind kind, CuratorCounter counter)
{
  CuratorClient *client = lease->client;
  const gint64 lasted_us = curator_locked_now_us (client) - lease->since_us;
  curator_count (client, counter, 1);
  curator_count_duration (client, CURATOR_DURATION_HOLD, lasted_us);
  curator_trace (client, kind, lease->path, lasted_us, lease->session->id);
}

static CURATOR_LOCKED void
end_as_lost (CuratorLease *lease, CuratorLostReason reason)
{
  static const CuratorCounter counters[] = {
    [CURATOR_LOST_REASON_SESSION] = CURATOR_COUNTER_LOST_SESSION,
    [CURATOR_LOST_REASON_CLOCK] = CURATOR_COUNTER_LOST_CLOCK,
    [CURATOR_LOST_REASON_DELETED] = CURATOR_COUNTER_LOST_DELETED,
    [CURATOR_LOST_REASON_CLOSED] = CURATOR_COUNTER_LOST_CLOSED,
    [CURATOR_LOST_REASON_MAX_HOLD] = CURATOR_COUNTER_LOST_MAX_HOLD,
  };

  lease->lost_reason = reason;
  curator_lease_set_state (lease, CURATOR_LEASE_STATE_LOST);
  note_end (lease, CURATOR_TRACE_KIND_LOST, counters[reason]);
}

/* The lost node may still block others on the server. */
static CURATOR_LOCKED void
lose (CuratorLease *lease, CuratorLostReason reason)
{
  if (curator_lease_is_over (lease->state))
    return;
  end_as_lost (lease, reason);
  if (reason == CURATOR_LOST_REASON_MAX_HOLD) {
    /* Time for whatever works under the hold to stop. */
    const gint64 guard_us = MIN (
        curator_session_terms (lease->session)->session_us / END_GUARD_SHARE, LONGEST_END_GUARD_US);
    curator_deletion_start_later (deletion_of (lease), guard_us);
  } else {
    curator_deletion_start (deletion_of (lease), NULL);
  }
  curator_queue_slot_leave (&lease->slot, FALSE, curator_path_leaf (lease->path));
}

/* The clock may have run out before listeners were notified. */
static CURATOR_LOCKED CuratorLeaseState
node_state_now (CuratorLease *lease)
{
  if (curator_lease_is_over (lease->state))
    return lease->state;
  if (lease->is_ephemeral && curator_lease_clock_remaining_ms (lease->session) == 0) {
    lose (lease, CURATOR_LOST_REASON_CLOCK);
    curator_lease_clock_note_end (lease->session);
  } else if (curator_deadline_remaining_ms (&lease->ends_us, lease->client) == 0) {
    g_autofree char *shown = curator_path_escape (lease->path);
    curator_warn ("%s was held for longer than its maximum: the hold is lost", shown);
    lose (lease, CURATOR_LOST_REASON_MAX_HOLD);
  }
  return lease->state;
}

/* Also the timer's callback: it may have been extended in the meantime. */
static CURATOR_LOCKED void
wait_for_end (gpointer data)
{
  CuratorLease *lease = data;

  if (g_steal_pointer (&lease->end_timer) != NULL)
    node_state_now (lease);
  const gint64 ends_us = atomic_load (&lease->ends_us);
  if (!curator_lease_is_over (lease->state) && ends_us != G_MAXINT64)
    lease->end_timer =
        curator_timer_add (lease->client, CURATOR_CLOCK_ALWAYS, ends_us, wait_for_end, lease);
}

static CURATOR_LOCKED gint64
moment_after (CuratorClient *client, gint64 ms)
{
  const gint64 now = curator_locked_boottime_us (client);
  return ms > (G_MAXINT64 - now) / 1000 ? G_MAXINT64 : now + MAX (ms, 0) * 1000;
}

/* A maximum that somebody has seen pass stays passed. */
static CURATOR_UNLOCKED gboolean
node_extend (CuratorLease *lease, gint64 at_least_ms)
{
  CuratorClient *client = lease->client;

  curator_client_lock (client);
  gint64 ends_us = atomic_load (&lease->ends_us);
  const gint64 wanted_us = moment_after (client, at_least_ms);
  if (!curator_lease_is_over (node_state_now (lease)) && wanted_us > ends_us)
    atomic_compare_exchange_strong (&lease->ends_us, &ends_us, wanted_us);
  const gboolean is_held = !curator_lease_is_over (node_state_now (lease));
  curator_client_unlock (client);
  return is_held;
}

/* After a pause this may be the first sign of the session's end, which deletes the node, too: so
 * the clock is asked first. */
static CURATOR_LOCKED void
on_node_gone (CuratorLease *lease)
{
  if (!curator_lease_is_over (node_state_now (lease))) {
    g_autofree char *shown = curator_path_escape (lease->path);
    curator_warn ("%s was deleted by a third party: the hold is lost", shown);
    lose (lease, CURATOR_LOST_REASON_DELETED);
  }
}

static CURATOR_LOCKED void
on_stake_changed (CuratorStake *stake, CuratorLeaseState state)
{
  CuratorLease *lease = CURATOR_CONTAINER (stake, CuratorLease, stake);
  if (state != CURATOR_LEASE_STATE_LOST)
    curator_lease_set_state (lease, state);
  else if (stake->loss == CURATOR_LOST_REASON_DELETED)
    on_node_gone (lease);
  else
    lose (lease, stake->loss);
}

/* The holds of a client that wait for a watch. All wait equally long: the first one is due first. */
typedef struct
{
  GQueue leases CURATOR_GUARDED;
  CuratorTimer *timer CURATOR_GUARDED;
} Unwatched;

static CURATOR_LOCKED Unwatched *
unwatched_of (CuratorClient *client)
{
  static const CuratorAttachmentType type = { sizeof (Unwatched), NULL };
  return curator_attached (&client->attached, &type);
}

static CURATOR_LOCKED void
stop_waiting_for_watch (CuratorLease *lease)
{
  if (g_steal_pointer (&lease->unwatched.data) != NULL)
    g_queue_unlink (&unwatched_of (lease->client)->leases, &lease->unwatched);
}

static void watch_due_nodes (gpointer data) CURATOR_LOCKED;

/* The timer goes on when no hold waits any more: the next one need not set it. */
static CURATOR_LOCKED void
await_first (CuratorClient *client)
{
  Unwatched *unwatched = unwatched_of (client);
  if (unwatched->timer == NULL && unwatched->leases.length > 0) {
    const CuratorLease *first = unwatched->leases.head->data;
    unwatched->timer = curator_timer_add (client, CURATOR_CLOCK_RUNNING, first->watch_at_us,
                                          watch_due_nodes, client);
  }
}

/* After the grant the lease has the watch of the attempt, if there is one. Without a watch, because
 * the session has none left or none is needed yet, it waits. */
static CURATOR_LOCKED void
watch_own_node (CuratorLease *lease, gboolean is_due)
{
  if (curator_lease_is_over (lease->state)) {
    g_clear_pointer (&lease->own_watch, curator_own_watch_abandon);
    return;
  }
  /* Another node may take the place of one whose name is not unique at any time. */
  if (lease->own_watch == NULL && (is_due || !lease->name_is_unique)) {
    lease->own_watch =
        curator_own_watch_new (lease->internals, lease->session, lease->path, lease->czxid);
  }
  if (lease->own_watch != NULL) {
    curator_own_watch_attach (lease->own_watch, lease, on_node_gone);
    return;
  }
  lease->watch_at_us = curator_locked_now_us (lease->client) + OWN_WATCH_AFTER_US;
  lease->unwatched.data = lease;
  g_queue_push_tail_link (&unwatched_of (lease->client)->leases, &lease->unwatched);
  await_first (lease->client);
}

static CURATOR_LOCKED void
watch_due_nodes (gpointer data)
{
  CuratorClient *client = data;
  Unwatched *unwatched = unwatched_of (client);
  CuratorLease *first;

  unwatched->timer = NULL;
  while ((first = g_queue_peek_head (&unwatched->leases)) != NULL
         && first->watch_at_us <= curator_locked_now_us (client)) {
    stop_waiting_for_watch (first);
    watch_own_node (first, TRUE);
  }
  await_first (client);
}

/* A persistent node outlives its session. Closing the client ends the hold, but leaves the node
 * where it is. */
static CURATOR_LOCKED void
on_session_died (CuratorSessionHook *hook)
{
  CuratorLease *lease = CURATOR_CONTAINER (hook, CuratorLease, hook);
  CuratorClient *client = lease->client;

  stop_waiting_for_watch (lease);
  g_clear_pointer (&lease->own_watch, curator_own_watch_free);
  if (!curator_client_is_running (client) || client->session == NULL) {
    end_as_lost (lease, curator_client_is_running (client) ? CURATOR_LOST_REASON_SESSION
                                                           : CURATOR_LOST_REASON_CLOSED);
    return;
  }
  curator_session_add_hook (client->session, &lease->hook);
}

void
curator_lease_end (CuratorLease *lease, CuratorOp *release)
{
  if (curator_lease_is_over (node_state_now (lease))) {
    curator_release_end (release, NULL);
    return;
  }
  curator_lease_set_state (lease, CURATOR_LEASE_STATE_RELEASED);
  note_end (lease, CURATOR_TRACE_KIND_RELEASED, CURATOR_COUNTER_RELEASES);
  curator_deletion_start (deletion_of (lease), release);
  curator_queue_slot_leave (&lease->slot, TRUE, curator_path_leaf (lease->path));
}

/* By the clock alone; 0 if the hold is over already. Takes no lock, like the next two, which look
 * at the state after it: see lease_clock.c. */
static gint64
time_left_ms (CuratorLease *lease)
{
  if (curator_lease_is_over ((CuratorLeaseState) g_atomic_int_get (&lease->state)))
    return 0;
  const gint64 left_ms =
      lease->is_ephemeral ? curator_lease_clock_remaining_ms (lease->session) : G_MAXINT64;
  return MIN (left_ms, curator_deadline_remaining_ms (&lease->ends_us, lease->client));
}

/* What the clock has ended is LOST, whether or not anybody was notified so far. */
static CuratorLeaseState
node_get_state (CuratorLease *lease)
{
  const gint64 left_ms = time_left_ms (lease);
  const CuratorLeaseState state = (CuratorLeaseState) g_atomic_int_get (&lease->state);
  return left_ms == 0 && !curator_lease_is_over (state) ? CURATOR_LEASE_STATE_LOST : state;
}

static gint64
node_get_remaining_ms (CuratorLease *lease)
{
  const gint64 left_ms = time_left_ms (lease);
  return curator_lease_is_over ((CuratorLeaseState) g_atomic_int_get (&lease->state)) ? 0 : left_ms;
}

static CURATOR_UNLOCKED CuratorLostReason
node_get_lost_reason (CuratorLease *lease)
{
  curator_client_lock (lease->client);
  node_state_now (lease);
  const CuratorLostReason reason = lease->lost_reason;
  curator_client_unlock (lease->client);
  return reason;
}

static CURATOR_LOCKED void
node_on_end (CuratorLease *lease)
{
  stop_waiting_for_watch (lease);
  curator_timer_cancel (lease->client, &lease->end_timer);
  curator_stake_unregister (&lease->stake);
  curator_session_remove_hook (&lease->hook);
  g_clear_pointer (&lease->own_watch, curator_own_watch_abandon);
}

static CURATOR_UNLOCKED void
node_release (CuratorLease *lease, CuratorOp *release)
{
  curator_client_lock (lease->client);
  curator_lease_end (lease, release);
  curator_client_unlock (lease->client);
}

/* Whoever has ended the hold may still use the lease, with the mutex. */
static CURATOR_UNLOCKED void
node_finalize (CuratorLease *lease)
{
  node_release (lease, NULL);
  curator_session_unref (lease->session);
  curator_lock_internals_unref (lease->internals);
}

static const CuratorLeaseClass node_class = { .state_now = node_state_now,
                                              .get_state = node_get_state,
                                              .get_remaining_ms = node_get_remaining_ms,
                                              .get_lost_reason = node_get_lost_reason,
                                              .extend = node_extend,
                                              .on_end = node_on_end,
                                              .release = node_release,
                                              .finalize = node_finalize };

/* The lease takes over what the attempt kept alive. */
static CURATOR_LOCKED void
begin_to_hold (CuratorLease *lease, const CuratorLeaseNode *node)
{
  if (lease->is_ephemeral) {
    lease->stake.czxid = lease->czxid;
    lease->stake.needs_read = !lease->name_is_unique || node->stake->needs_read;
    lease->stake.refuses_check = node->stake->refuses_check;
    curator_stake_move (node->stake, &lease->stake, lease->session);
    return;
  }
  curator_stake_unregister (node->stake);
  lease->hook.died = on_session_died;
  curator_session_add_hook (lease->session, &lease->hook);
}

CuratorLease *
curator_lease_new (CuratorSession *session, CuratorLockInternals *internals,
                   const CuratorLeaseNode *node)
{
  CuratorClient *client = session->client;
  CuratorLease *lease = g_new (CuratorLease, 1);

  *lease = (CuratorLease){ .tag = CURATOR_TAG_LEASE,
                           .klass = &node_class,
                           .client = curator_client_ref (client),
                           .internals = curator_lock_internals_ref (internals),
                           .session = curator_session_ref (session),
                           .path = node->path,
                           .czxid = node->czxid,
                           .name_is_unique = node->name_is_unique,
                           .is_ephemeral = node->is_ephemeral,
                           .stake = { .path = node->path, .changed = on_stake_changed },
                           .state = CURATOR_LEASE_STATE_HELD,
                           .ends_us = moment_after (client, internals->max_hold_ms),
                           .since_us = curator_locked_now_us (client),
                           .listeners.on_state_lane = TRUE,
                           .fd = -1 };
  curator_refs_init (&lease->refs);
  begin_to_hold (lease, node);
  curator_queue_slot_move (node->slot, &lease->slot);
  /* The clock may have run out between the check and the grant. */
  if (curator_lease_is_over (lease->state))
    curator_queue_slot_leave (&lease->slot, FALSE, curator_path_leaf (lease->path));
  lease->own_watch = node->own_watch;
  watch_own_node (lease, FALSE);
  wait_for_end (lease);
  return lease;
}

void
curator_lease_share_number (CuratorLease *lease, CuratorLocalQueue *local)
{
  if (lease->slot.local == local)
    lease->slot.number_is_shared = TRUE;
}
