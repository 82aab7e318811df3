/* The connection state of a client. Guarded by its mutex. */
#pragma once

#include "base/guards.h"
#include "core/op.h"

#include <curator/client.h>

/* Sets the state and notifies the listeners, unless it is the current one. */
void curator_client_set_state (CuratorClient *client, CuratorConnectionState state) CURATOR_LOCKED;

/* The operation of curator_client_block_until_connected(). */
CuratorOp *curator_connection_wait (CuratorClient *client, gint64 timeout_ms, CuratorOpDone done,
                                    gpointer data) CURATOR_UNLOCKED;
