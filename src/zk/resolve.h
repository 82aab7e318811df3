/* Looks up the names of a client's servers (HostProvider). Guarded by the client's mutex. */
#pragma once

#include "core/client-record.h"

/* Starts a look-up of each name in client->known for which none is under way. Each calls found,
 * with the mutex held, when it has ended, unless the client is closed by then. */
void curator_resolve_start (CuratorClient *client,
                            void (*found) (CuratorClient *client)) CURATOR_LOCKED;
/* Some name in client->known is being looked up. */
gboolean curator_resolve_is_busy (CuratorClient *client) CURATOR_LOCKED;
