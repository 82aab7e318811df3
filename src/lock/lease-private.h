/* Creating and ending leases (Lease), for attempts and recipes. Any thread; guarded by the
 * client's mutex. */
#pragma once

#include "curator/lease.h"
#include "lock/local_queue.h"
#include "lock/lock_internals-private.h"
#include "nodes/deletion.h"
#include "session/lease_clock.h"
#include "session/session.h"

typedef struct _CuratorOwnWatch CuratorOwnWatch;

typedef struct
{
  char *path; /* full; transfer full */
  gint64 czxid;
  gboolean name_is_unique; /* no other node ever has this name */
  gboolean is_ephemeral;
  CuratorStake *stake;        /* the attempt's, which ends here */
  CuratorQueueSlot *slot;     /* moved: what is behind the attempt is now behind the hold */
  CuratorOwnWatch *own_watch; /* transfer full; NULL: one is set when the hold has lasted a while */
} CuratorLeaseNode;

/* A lease on node, held now. */
CuratorLease *curator_lease_new (CuratorSession *session, CuratorLockInternals *internals,
                                 const CuratorLeaseNode *node) CURATOR_LOCKED;

/* Follows a lease inside the library: unlike a listener, it waits for no user code. */
typedef struct _CuratorLeaseHook CuratorLeaseHook;

struct _CuratorLeaseHook
{
  /* Called with the client's mutex held, for each change. */
  void (*changed) (CuratorLeaseHook *hook, CuratorLeaseState state);
};

/* A lease has one hook at most; NULL removes it. */
void curator_lease_set_hook (CuratorLease *lease, CuratorLeaseHook *hook) CURATOR_LOCKED;

/* A node with this hold's number may be created in that queue. */
void curator_lease_share_number (CuratorLease *lease, CuratorLocalQueue *local) CURATOR_LOCKED;

/* A multi-lock's lease. Takes members, a non-empty array of CuratorLease, none of them composite. A
 * lease may be a member of several composites. */
CuratorLease *curator_lease_new_composite (GPtrArray *members);
/* From now on its listeners and its descriptor follow the members' states. */
void curator_composite_follow_members (CuratorLease *lease) CURATOR_UNLOCKED;

/* Ends the hold now and deletes its node, which ends release. */
void curator_lease_end (CuratorLease *lease, CuratorOp *release) CURATOR_LOCKED;
/* The same for any lease, composite ones too, as a part of whole. It may be another client's, of
 * before a fork. */
void curator_lease_release_part (CuratorLease *lease, CuratorOp *whole) CURATOR_UNLOCKED;

/* Ends leases of single nodes, the last one first; those of one client are deleted together. Each
 * is a part of whole. */
void curator_leases_release (GPtrArray *leases, CuratorOp *whole) CURATOR_UNLOCKED;

/* LOCK_LOST: why a hold that is over cannot be entered again. whose: "the hold of this thread". */
GError *curator_lease_over_error (const CuratorLease *lease, const char *whose);

/* Of a CuratorLease; NULL if the last reference is just being dropped. */
gpointer curator_lease_try_ref (gpointer lease);
/* The state by the clock, of which listeners may not know yet. */
CuratorLeaseState curator_lease_state_now (CuratorLease *lease) CURATOR_LOCKED;
/* By the clock, without the mutex: the hold is neither over nor past its deadline. */
gboolean curator_lease_is_provable (CuratorLease *lease);
const char *curator_lease_full_path (CuratorLease *lease);
CuratorSession *curator_lease_get_session (CuratorLease *lease);
