/* The making and ending of leases, for the engine and the recipes. */
#ifndef CURATOR_LEASE_PRIVATE_H
#define CURATOR_LEASE_PRIVATE_H

#include "client/lease_clock.h"
#include "client/reaper.h"
#include "client/session.h"
#include "curator/lease.h"
#include "lock/line.h"
#include "lock/lock_internals-private.h"

typedef struct _CuratorOwnWatch CuratorOwnWatch;

typedef struct
{
  char *path; /* full; transfer full */
  gint64 czxid;
  gboolean name_is_unique; /* nobody else can have a node of this name */
  gboolean is_ephemeral;
  CuratorStake *stake;        /* the waiting one, which ends here */
  CuratorPlace *place;        /* moved: whoever is behind the attempt is behind the hold */
  CuratorOwnWatch *own_watch; /* transfer full; NULL: one is set when the hold has lasted a while */
} CuratorLeaseNode;

/* The node is held from now on. */
CuratorLease *curator_lease_new (CuratorSession *session, CuratorLockInternals *internals,
                                 const CuratorLeaseNode *node) CURATOR_LOCKED;

/* A node with the number of this hold's may be made in line. */
void curator_lease_share_number (CuratorLease *lease, CuratorLine *line) CURATOR_LOCKED;

/* A lease over several (a multi-lock's); takes the array of CuratorLease, which is not empty. */
CuratorLease *curator_lease_new_composite (GPtrArray *members) CURATOR_LOCKED;
/* @locks none. From now on its listeners and its descriptor hear of what becomes of the members. */
void curator_composite_follow_members (CuratorLease *lease) CURATOR_UNLOCKED;

/* Ends the hold here and now; the server hears of it, and done, which
 * may be NULL, is told within patience_us. FALSE if it was over already: done is not called. */
gboolean curator_lease_end (CuratorLease *lease, gint64 patience_us, CuratorReleaseDone done,
                            gpointer data) CURATOR_LOCKED;
/* The same for any lease, composite ones too; done is always called,
 * once, without a lock. */
void curator_lease_release_start (CuratorLease *lease, CuratorReleaseDone done,
                                  gpointer data) CURATOR_UNLOCKED;

/* NULL if the last reference is being dropped just now. */
CuratorLease *curator_lease_try_ref (CuratorLease *lease);
/* By the clock, not by what listeners have been told so far. */
CuratorLeaseState curator_lease_state_now (CuratorLease *lease) CURATOR_LOCKED;
/* @locks none; to be read atomically as long as the lease is there: as last told. */
const CuratorLeaseState *curator_lease_peek_state (const CuratorLease *lease);
CuratorClient *curator_lease_get_client (CuratorLease *lease);
const char *curator_lease_full_path (CuratorLease *lease);
CuratorSession *curator_lease_get_session (CuratorLease *lease);

/* How long a blocking release waits for its confirmation. */
gint64 curator_client_release_patience_us (CuratorClient *client);

#endif
