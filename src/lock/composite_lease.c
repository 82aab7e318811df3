/* The lease of a multi-lock: its state is the worst of its members'.
 *
 * Mirrors InterProcessMultiLock.isAcquiredInThisProcess. Threads: any. Members may belong to
 * different clients, so no mutex is held while another is taken: a member's change is handled after
 * its own client's mutex was released. The composite's state is guarded by its own client's mutex.
 */
#include "base/tag.h"
#include "core/monitor.h"
#include "lock/lease-impl.h"

static CuratorLease *
lease_at (GPtrArray *leases, guint index)
{
  return g_ptr_array_index (leases, index);
}

/* LOST as soon as one is, RELEASED once all are. While only some are RELEASED, and not by the
 * release of the whole, it is SUSPECT. */
static CuratorLeaseState
composite_get_state (CuratorLease *lease)
{
  CuratorLeaseState worst = CURATOR_LEASE_STATE_HELD;
  guint n_released = 0;

  for (guint i = 0; i < lease->members->len; i++) {
    const CuratorLeaseState state = curator_lease_get_state (lease_at (lease->members, i));
    if (state == CURATOR_LEASE_STATE_RELEASED)
      n_released++;
    else
      worst = MAX (worst, state);
  }
  if (n_released > 0 && !g_atomic_int_get (&lease->is_ending))
    worst = MAX (worst, CURATOR_LEASE_STATE_SUSPECT);
  return n_released == lease->members->len ? CURATOR_LEASE_STATE_RELEASED : worst;
}

static gint64
composite_get_remaining_ms (CuratorLease *lease)
{
  gint64 least = G_MAXINT64;
  for (guint i = 0; i < lease->members->len; i++)
    least = MIN (least, curator_lease_get_remaining_ms (lease_at (lease->members, i)));
  return least;
}

/* Of the member that was lost first: it is asked for when a member changes, and then kept. */
static CURATOR_UNLOCKED CuratorLostReason
composite_get_lost_reason (CuratorLease *lease)
{
  CuratorLostReason reason = CURATOR_LOST_REASON_NONE;

  for (guint i = 0; i < lease->members->len && reason == CURATOR_LOST_REASON_NONE; i++)
    reason = curator_lease_get_lost_reason (lease_at (lease->members, i));
  curator_client_lock (lease->client);
  if (lease->lost_reason == CURATOR_LOST_REASON_NONE)
    lease->lost_reason = reason;
  reason = lease->lost_reason;
  curator_client_unlock (lease->client);
  return reason;
}

/* Takes a reference to the composite. */
static CURATOR_UNLOCKED void
update (gpointer data)
{
  CuratorLease *lease = data;
  const CuratorLeaseState state = composite_get_state (lease);

  composite_get_lost_reason (lease);
  curator_client_lock (lease->client);
  curator_lease_set_state (lease, state);
  curator_client_unlock (lease->client);
  curator_lease_unref (lease);
}

static CURATOR_LOCKED void
composite_on_member_changed (CuratorLease *lease, CuratorLease *member)
{
  if (curator_lease_try_ref (lease) != NULL)
    curator_client_after_unlock (member->client, update, lease);
}

void
curator_leases_release (GPtrArray *leases, CuratorOp *whole)
{
  guint n = leases->len;

  while (n > 0) {
    CuratorClient *client = lease_at (leases, n - 1)->client;
    curator_client_lock (client);
    curator_deletions_gather (client);
    for (; n > 0 && lease_at (leases, n - 1)->client == client; n--)
      curator_lease_end (lease_at (leases, n - 1), curator_release_part (whole, client));
    curator_deletions_send_gathered (client);
    curator_client_unlock (client);
  }
}

/* Releases every member, in reverse, whatever fails. */
static void
composite_release (CuratorLease *lease, CuratorOp *whole)
{
  curator_release_split (whole, lease->members->len);
  g_atomic_int_set (&lease->is_ending, TRUE);
  curator_leases_release (lease->members, whole);
}

static CURATOR_UNLOCKED void
set_following (CuratorLease *lease, gboolean follows)
{
  for (guint i = 0; i < lease->members->len; i++) {
    CuratorLease *member = lease_at (lease->members, i);
    curator_client_lock (member->client);
    member->composites = follows ? g_slist_prepend (member->composites, lease)
                                 : g_slist_remove (member->composites, lease);
    curator_client_unlock (member->client);
  }
}

static void
composite_finalize (CuratorLease *lease)
{
  set_following (lease, FALSE);
  g_ptr_array_unref (lease->members);
}

/* The state as of the last change of a member. */
static CURATOR_LOCKED CuratorLeaseState
composite_state_now (CuratorLease *lease)
{
  return lease->state;
}

/* Those that are held are extended, whatever the others are. */
static gboolean
composite_extend (CuratorLease *lease, gint64 at_least_ms)
{
  gboolean all = TRUE;
  for (guint i = 0; i < lease->members->len; i++) {
    CuratorLease *member = lease_at (lease->members, i);
    all = member->klass->extend (member, at_least_ms) && all;
  }
  return all;
}

CuratorLease *
curator_lease_new_composite (GPtrArray *members)
{
  static const CuratorLeaseClass klass = { .state_now = composite_state_now,
                                           .get_state = composite_get_state,
                                           .get_remaining_ms = composite_get_remaining_ms,
                                           .get_lost_reason = composite_get_lost_reason,
                                           .extend = composite_extend,
                                           .on_member_changed = composite_on_member_changed,
                                           .release = composite_release,
                                           .finalize = composite_finalize };
  CuratorLease *lease = g_new0 (CuratorLease, 1);

  curator_not_shared ();
  lease->tag = CURATOR_TAG_LEASE;
  curator_refs_init (&lease->refs);
  lease->klass = &klass;
  lease->listeners.on_state_lane = TRUE;
  lease->members = members;
  lease->fd = -1;
  lease->client = curator_client_ref (curator_lease_first (lease)->client);
  return lease;
}

void
curator_composite_follow_members (CuratorLease *lease)
{
  set_following (lease, TRUE);
  /* Some may have changed before they were followed. */
  update (curator_lease_ref (lease));
}
