/* A lease from inside, for the files that implement it: lease.c, node_lease.c, composite_lease.c. */
#ifndef CURATOR_LEASE_IMPL_H
#define CURATOR_LEASE_IMPL_H

#include "client/lease_clock.h"
#include "client/listeners.h"
#include "guards.h"
#include "lock/lease-private.h"

/* What differs between the hold of one node and that of several. */
typedef struct
{
  CuratorLeaseState (*state_now) (CuratorLease *lease); /* @locks client mutex required */
  CuratorLeaseState (*get_state) (CuratorLease *lease); /* @locks none, nor for the next */
  gint64 (*get_remaining_ms) (CuratorLease *lease);
  /* @locks client mutex required. LOST or RELEASED, and that is final. */
  void (*on_end) (CuratorLease *lease);
  /* @locks the member's client mutex required. Called for each news of a member. */
  void (*on_member_changed) (CuratorLease *member);
  void (*release) (CuratorLease *lease, CuratorReleaseDone done, gpointer data); /* @locks none */
  void (*finalize) (CuratorLease *lease); /* @locks none; frees the members of the class */
} CuratorLeaseClass;

struct _CuratorLease
{
  CuratorRefs refs;
  const CuratorLeaseClass *klass;
  CuratorClient *client;           /* a reference */
  GPtrArray *members;              /* CuratorLease, of a composite; NULL for a single one */
  CuratorLockInternals *internals; /* from here to is_ephemeral: not of a composite */
  CuratorSession *session;
  char *path; /* full */
  gint64 czxid;
  gboolean name_is_unique; /* nobody else can have a node of this name */
  gboolean is_ephemeral;

  /* Guarded by the client's mutex. */
  CuratorLease *composite
      CURATOR_GUARDED;                /* the composite that this is a member of; no reference */
  CuratorPlace place CURATOR_GUARDED; /* among the nodes of its session */
  CuratorStake stake CURATOR_GUARDED; /* of an ephemeral node: it ends with the session */
  CuratorSessionHook hook CURATOR_GUARDED; /* of a persistent one: it only ends with the client */
  CuratorLeaseState state;                 /* set atomically, for lock/reentry.h */
  CuratorTimer *own_watch_timer CURATOR_GUARDED;
  CuratorOwnWatch *own_watch CURATOR_GUARDED;
  gint64 since_us CURATOR_GUARDED; /* monotonic */
  CuratorListeners listeners CURATOR_GUARDED;
  int fd CURATOR_GUARDED;
};

/* The lease itself, or a composite's first member. */
static inline CuratorLease *
curator_lease_first (CuratorLease *lease)
{
  return lease->members != NULL ? g_ptr_array_index (lease->members, 0) : lease;
}

static inline gboolean
curator_lease_is_over (CuratorLeaseState state)
{
  return state == CURATOR_LEASE_LOST || state == CURATOR_LEASE_RELEASED;
}

/* The only place where a lease's state changes: descriptor and
 * listeners follow. */
void curator_lease_set_state (CuratorLease *lease, CuratorLeaseState state) CURATOR_LOCKED;

#endif
