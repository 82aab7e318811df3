/* A session's table of watches, for the files of the session. */
#ifndef CURATOR_WATCH_TABLE_H
#define CURATOR_WATCH_TABLE_H

#include "client/session.h"

GHashTable *curator_watches_table_new (void) CURATOR_LOCKED;
void curator_watches_event (CuratorSession *session, int type, const char *path) CURATOR_LOCKED;
void curator_watches_connected (CuratorSession *session) CURATOR_LOCKED;
void curator_watches_died (CuratorSession *session) CURATOR_LOCKED;
/* The session goes on without us: every watch is taken from it, until the table is empty. */
void curator_watches_remove_all (CuratorSession *session) CURATOR_LOCKED;

#endif
