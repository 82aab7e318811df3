/* Who stands in an election. Any thread; no lock. */
#pragma once

#include "base/guards.h"
#include "curator/leader.h"
#include "lock/lock_internals-private.h"

/* Array of CuratorLeaderParticipant, at most this many, the leader first. NULL with error. */
GPtrArray *curator_participants_read (CuratorLockInternals *internals, guint most,
                                      gint64 timeout_ms, GCancellable *cancellable,
                                      GError **error) CURATOR_UNLOCKED;
/* The leader alone. NULL without an error if there is none. */
CuratorLeaderParticipant *curator_participants_read_leader (CuratorLockInternals *internals,
                                                            gint64 timeout_ms,
                                                            GCancellable *cancellable,
                                                            GError **error) CURATOR_UNLOCKED;
