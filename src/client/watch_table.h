/* A session's table of watches, for the files of the session. */
#ifndef CURATOR_WATCH_TABLE_H
#define CURATOR_WATCH_TABLE_H

#include "client/session.h"

/* @locks client mutex required, all of them. */
GHashTable *curator_watches_table_new (void);
void curator_watches_event (CuratorSession *session, int type, const char *path);
void curator_watches_connected (CuratorSession *session);
void curator_watches_died (CuratorSession *session);
/* The session goes on without us: every watch is taken from it, until the table is empty. */
void curator_watches_leave (CuratorSession *session);

#endif
