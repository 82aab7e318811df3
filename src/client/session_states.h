/* The life of a client's sessions, one after the other. */
#ifndef CURATOR_SESSION_STATES_H
#define CURATOR_SESSION_STATES_H

#include "client/session.h"

/* Makes the next one current; its handle follows on the session lane. */
void curator_session_open (CuratorClient *client) CURATOR_LOCKED;
/* LOST: the session is over and, unless the authentication was refused, the next one is opened. */
void curator_session_die (CuratorSession *session, int rc) CURATOR_LOCKED;
/* A handle can be had now, at the latest: does not wait for the next try. */
void curator_session_reopen (CuratorClient *client) CURATOR_LOCKED;

#endif
