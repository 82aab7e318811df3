/* Opens and replaces the sessions of a client (ConnectionState, HandleHolder). */
#pragma once

#include "session/session.h"

/* Opens a new current session. The session lane opens its handle later. */
void curator_session_open (CuratorClient *client) CURATOR_LOCKED;
/* LOST: ends the session, and opens the next one unless the authentication was refused. */
void curator_session_die (CuratorSession *session, int rc) CURATOR_LOCKED;
