/* The state of the connection: what it is, who hears of it, who waits for it. */
#ifndef CURATOR_CONNECTION_H
#define CURATOR_CONNECTION_H

#include "guards.h"

#include <curator/client.h>

/* Posts a state to the listeners unless it is the present one. */
void curator_client_set_state (CuratorClient *client, CuratorConnectionState state) CURATOR_LOCKED;

#endif
