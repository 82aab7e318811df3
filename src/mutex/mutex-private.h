/* The inside of InterProcessMutex: re-entrant holds that belong to threads. Any thread; guarded
 * by the client's mutex. */
#pragma once

#include "lock/lock-private.h"

/* Called without the mutex. The node for an acquire by owner; NULL with error if it can never be
 * granted. */
typedef CuratorNodeRequest *(*CuratorNewRequest) (CuratorLock *mutex, guint64 owner,
                                                  GError **error);

/* Takes internals. */
CuratorLock *curator_mutex_new_of_kind (const char *kind, CuratorNewRequest new_request,
                                        CuratorLockInternals *internals);
