/* A deadline for each attempt to reconnect. */
#pragma once

#include "session/session.h"

/* Started at the disconnection, stopped when the session is connected or dead. */
void curator_connect_deadline_start (CuratorSession *session) CURATOR_LOCKED;
void curator_connect_deadline_stop (CuratorSession *session) CURATOR_LOCKED;
