/* Ends a session: notifies its users and closes its handle (CuratorZookeeperClient.close). */
#pragma once

#include "session/session.h"

/* For close(): opens no next session. Drops the deletions, unless the handle is shared. */
void curator_session_close_all (CuratorClient *client) CURATOR_LOCKED;
/* Sets it DEAD and notifies every hold, hook and watch of it. */
void curator_session_tear_down (CuratorSession *session) CURATOR_LOCKED;
/* A session event during the cleanup of a shared session. */
void curator_session_cleanup_event (CuratorSession *session, int state) CURATOR_LOCKED;
/* Runs on the session lane. Takes the client's reference to the session. */
void curator_session_close_handle (gpointer session) CURATOR_UNLOCKED;
