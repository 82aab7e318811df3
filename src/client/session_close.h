/* The end of a session: all that depends on it is told, its handle is closed. */
#ifndef CURATOR_SESSION_CLOSE_H
#define CURATOR_SESSION_CLOSE_H

#include "client/session.h"

/* @locks client mutex required, all of them but the last. */
/* For close(): no successor. What is left in the reaper, if a session's end takes it, is dropped. */
void curator_session_close_all (CuratorClient *client);
/* DEAD, and all that depend on it are told LOST. */
void curator_session_bury (CuratorSession *session);
/* A session event while the session is being left. */
void curator_session_leaving_event (CuratorSession *session, int state);
/* @locality session lane. Takes the client's reference of the session. */
void curator_session_close_handle (gpointer session);

#endif
