/* Follows the configuration of the ensemble (EnsembleTracker). Guarded by the client's mutex. */
#pragma once

#include "session/session.h"

/* Of a new session; until it ends. */
void curator_follow_configuration (CuratorSession *session) CURATOR_LOCKED;
