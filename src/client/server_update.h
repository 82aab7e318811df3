/* Another list of servers for a client that is running (ZooKeeper.updateServerList, EnsembleTracker).
 * Guarded by the client's mutex. */
#pragma once

#include "session/session.h"

/* Follows the configuration of the ensemble from the first session on, if the client does. */
void curator_follow_configuration (CuratorClient *client) CURATOR_LOCKED;
