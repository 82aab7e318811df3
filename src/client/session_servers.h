/* Which servers a session's handle connects to. Guarded by the client's mutex. */
#pragma once

#include "session/session.h"

/* Looks the names up after a pause, and runs open (a new reference of the session) on the session
 * lane as soon as addresses are known, or no name has one. */
void curator_session_servers_find (CuratorSession *session, gint64 pause_ms,
                                   CuratorWork open) CURATOR_LOCKED;
/* Ends that pause of the current session. */
void curator_session_servers_hurry (CuratorClient *client) CURATOR_LOCKED;
/* The handle is not opened yet for want of addresses. */
gboolean curator_session_servers_are_sought (const CuratorSession *session) CURATOR_LOCKED;
void curator_session_servers_follow (CuratorSession *session) CURATOR_LOCKED;
void curator_session_servers_connected (CuratorSession *session) CURATOR_LOCKED;
/* client->known has other servers. */
void curator_session_servers_replaced (CuratorClient *client) CURATOR_LOCKED;
void curator_session_servers_stop (CuratorSession *session) CURATOR_LOCKED;
