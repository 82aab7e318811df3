/* The inside of a lease (Lease), for lease.c, node_lease.c and composite_lease.c. Any thread;
 * guarded by the client's mutex. */
#pragma once

#include "base/guards.h"
#include "base/tag.h"
#include "core/listeners.h"
#include "lock/lease-private.h"

/* What differs between a lease of one node and one of several. */
typedef struct
{
  CuratorLeaseState (*state_now) (CuratorLease *lease); /* called with the client's mutex held */
  CuratorLeaseState (*get_state) (CuratorLease *lease); /* called without it, like the next */
  gint64 (*get_remaining_ms) (CuratorLease *lease);
  CuratorLostReason (*get_lost_reason) (CuratorLease *lease);
  /* FALSE: the hold is over. */
  gboolean (*extend) (CuratorLease *lease, gint64 at_least_ms);
  /* Called once, with the client's mutex held, on LOST or RELEASED. May be NULL. */
  void (*on_end) (CuratorLease *lease);
  /* Called with the mutex of the member's client held, for each change of a member. */
  void (*on_member_changed) (CuratorLease *lease, CuratorLease *member);
  /* Called without the mutex, both. finalize frees the fields of the class. */
  void (*release) (CuratorLease *lease, CuratorOp *release);
  void (*finalize) (CuratorLease *lease);
} CuratorLeaseClass;

struct _CuratorLease
{
  CuratorTag tag;
  CuratorRefs refs;
  const CuratorLeaseClass *klass;
  CuratorClient *client;           /* a reference */
  GPtrArray *members;              /* CuratorLease of single nodes; NULL for a single one */
  gint is_ending;                  /* atomic: a composite whose release has begun */
  CuratorLockInternals *internals; /* from here to is_ephemeral: unset in a composite */
  CuratorSession *session;
  char *path; /* full */
  gint64 czxid;
  gboolean name_is_unique; /* no other node ever has this name */
  gboolean is_ephemeral;

  GSList *composites CURATOR_GUARDED;      /* that this is a member of; no references */
  CuratorQueueSlot slot CURATOR_GUARDED;   /* among the nodes of its session */
  CuratorStake stake CURATOR_GUARDED;      /* of an ephemeral node: it ends with the session */
  CuratorSessionHook hook CURATOR_GUARDED; /* of a persistent one: it only ends with the client */
  CuratorLeaseState state;                 /* set atomically, for lock/reentry.h */
  CuratorLostReason lost_reason CURATOR_GUARDED;
  _Atomic gint64 ends_us; /* CLOCK_BOOTTIME, at the latest: as a session's deadline_us */
  CuratorTimer *end_timer CURATOR_GUARDED;
  GList unwatched CURATOR_GUARDED; /* its data is NULL, unless the hold waits for a watch */
  gint64 watch_at_us CURATOR_GUARDED;
  CuratorOwnWatch *own_watch CURATOR_GUARDED;
  gint64 since_us CURATOR_GUARDED; /* monotonic */
  CuratorListeners listeners CURATOR_GUARDED;
  CuratorLeaseHook *follower CURATOR_GUARDED; /* or NULL */
  int fd CURATOR_GUARDED;
  GCancellable *cancellable CURATOR_GUARDED; /* NULL until it is asked for */
};

/* The lease itself, or a composite's first member. */
static inline const CuratorLease *
curator_lease_first (const CuratorLease *lease)
{
  return lease->members != NULL ? g_ptr_array_index (lease->members, 0) : lease;
}

static inline gboolean
curator_lease_is_over (CuratorLeaseState state)
{
  return state == CURATOR_LEASE_STATE_LOST || state == CURATOR_LEASE_STATE_RELEASED;
}

/* The only function that changes a lease's state; it notifies descriptor and listeners. */
void curator_lease_set_state (CuratorLease *lease, CuratorLeaseState state) CURATOR_LOCKED;
