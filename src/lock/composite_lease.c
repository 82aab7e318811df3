/* The lease of a multi-lock: as held as the least held of its members.
 *
 * Mirrors InterProcessMultiLock.isAcquiredInThisProcess, which asks all. Threads: any; members may
 * belong to different clients, so no mutex is held while another is taken: a member's news are
 * worked up after its own was given back. The composite's state is guarded by its own client's.
 */
#include "client/monitor.h"
#include "lock/gather.h"
#include "lock/lease-impl.h"

CuratorLease *
curator_lease_new_composite (GPtrArray *members)
{
  CuratorLease *lease = g_new0 (CuratorLease, 1);

  curator_refs_init (&lease->refs);
  lease->listeners.are_news = TRUE;
  lease->members = members;
  lease->fd = -1;
  lease->client = curator_client_ref (curator_lease_first (lease)->client);
  return lease;
}

/* LOST as soon as one is, RELEASED once all are. */
CuratorLeaseState
curator_composite_state (CuratorLease *lease)
{
  CuratorLeaseState worst = CURATOR_LEASE_HELD;
  guint n_released = 0;

  for (guint i = 0; i < lease->members->len; i++)
    {
      const CuratorLeaseState state
          = curator_lease_get_state (g_ptr_array_index (lease->members, i));
      if (state == CURATOR_LEASE_RELEASED)
        {
          n_released++;
        }
      else
        {
          worst = MAX (worst, state);
        }
    }
  return n_released == lease->members->len ? CURATOR_LEASE_RELEASED : worst;
}

gint64
curator_composite_remaining_ms (CuratorLease *lease)
{
  gint64 least = G_MAXINT64;
  for (guint i = 0; i < lease->members->len; i++)
    {
      least
          = MIN (least, curator_lease_get_remaining_ms (g_ptr_array_index (lease->members, i)));
    }
  return least;
}

/* @locks none. Takes a reference of the composite. */
static void
update (gpointer data)
{
  CuratorLease *lease = data;
  const CuratorLeaseState state = curator_composite_state (lease);

  curator_client_lock (lease->client);
  curator_lease_set_state (lease, state);
  curator_client_unlock (lease->client);
  curator_lease_unref (lease);
}

void
curator_composite_follow_members (CuratorLease *lease)
{
  for (guint i = 0; i < lease->members->len; i++)
    {
      CuratorLease *member = g_ptr_array_index (lease->members, i);
      curator_client_lock (member->client);
      member->whole = lease;
      curator_client_unlock (member->client);
    }
  /* Some may have changed before they were followed. */
  update (curator_lease_ref (lease));
}

void
curator_composite_member_changed (CuratorLease *member)
{
  if (member->whole != NULL && curator_lease_try_ref (member->whole) != NULL)
    {
      curator_client_after_unlock (member->client, update, member->whole);
    }
}

/* The members in reverse, each whatever the others say. */
void
curator_composite_release (CuratorLease *lease, CuratorReaperDone done, gpointer data)
{
  CuratorGather *gather = curator_gather_new (lease->members->len, done, data);
  for (guint i = lease->members->len; i-- > 0;)
    {
      curator_lease_release_start (g_ptr_array_index (lease->members, i), curator_gather_one,
                                   gather);
    }
}

void
curator_composite_free_members (CuratorLease *lease)
{
  for (guint i = 0; i < lease->members->len; i++)
    {
      CuratorLease *member = g_ptr_array_index (lease->members, i);
      curator_client_lock (member->client);
      member->whole = NULL;
      curator_client_unlock (member->client);
    }
  g_ptr_array_unref (lease->members);
}
