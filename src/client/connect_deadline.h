/* A deadline for each attempt to connect. */
#pragma once

#include "session/session.h"

/* Started when a handle is opened and at the disconnection, stopped when the session is connected
 * or dead. */
void curator_connect_deadline_start (CuratorSession *session) CURATOR_LOCKED;
/* There are other servers, if the session has no connection. */
void curator_connect_deadline_restart (CuratorSession *session) CURATOR_LOCKED;
void curator_connect_deadline_stop (CuratorSession *session) CURATOR_LOCKED;
