/* A session's table of watches (WatcherRemovalManager), for the session's files. */
#pragma once

#include "session/session.h"

GHashTable *curator_watches_table_new (void) CURATOR_LOCKED;
void curator_watches_event (CuratorSession *session, int type, const char *path) CURATOR_LOCKED;
void curator_watches_connected (CuratorSession *session) CURATOR_LOCKED;
void curator_watches_disconnected (CuratorSession *session) CURATOR_LOCKED;
/* For a shared session: removes every watch from the server. */
void curator_watches_remove_all (CuratorSession *session) CURATOR_LOCKED;
