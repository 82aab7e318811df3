/* A watch on one's own lock node: revocation, and deletion by a third party. */
#pragma once

#include "curator/lease.h"
#include "lock/lock_internals-private.h"

typedef struct _CuratorOwnWatch CuratorOwnWatch;

/* path: the node's full one. czxid: of our node, 0 where it is not known.
 * NULL when the session has no watch left. */
CuratorOwnWatch *curator_own_watch_new (CuratorLockInternals *internals, CuratorSession *session,
                                        const char *path, gint64 czxid) CURATOR_LOCKED;
/* lease: what the node's attempt became; borrowed. on_gone runs once, with the mutex held, when the
 * node is gone, or another has taken its place. */
void curator_own_watch_attach (CuratorOwnWatch *own, CuratorLease *lease,
                               void (*on_gone) (CuratorLease *lease)) CURATOR_LOCKED;
/* Removes the watch from the server. */
void curator_own_watch_free (CuratorOwnWatch *own) CURATOR_LOCKED;
/* The node is about to be deleted, which ends the watch: no request is sent. */
void curator_own_watch_abandon (CuratorOwnWatch *own) CURATOR_LOCKED;
