/* The end of a session: all that depends on it is told, its handle is closed. */
#ifndef CURATOR_SESSION_CLOSE_H
#define CURATOR_SESSION_CLOSE_H

#include "client/session.h"

/* @locks client mutex required, all of them but the last. */
/* For close(): no successor. What is left in the reaper, if a session's end takes it, is dropped. */
void curator_session_close_all (CuratorClient *client) CURATOR_LOCKED;
/* DEAD, and all that depend on it are told LOST. */
void curator_session_tear_down (CuratorSession *session) CURATOR_LOCKED;
/* A session event while the session is being left. */
void curator_session_cleanup_event (CuratorSession *session, int state) CURATOR_LOCKED;
/* @locality session lane. Takes the client's reference of the session. */
void curator_session_close_handle (gpointer session) CURATOR_UNLOCKED;

#endif
