/* Follows the configuration of the ensemble (EnsembleTracker). Guarded by the client's mutex. */
#ifndef CURATOR_FOLLOW_CONFIGURATION_H
#define CURATOR_FOLLOW_CONFIGURATION_H

#include "session/session.h"

/* Of a new session; until it ends. */
void curator_follow_configuration (CuratorSession *session) CURATOR_LOCKED;

#endif
