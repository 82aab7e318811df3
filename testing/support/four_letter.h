/* Four-letter words: the server's own view of sessions, watches and packets.
 *
 * All of these ask the server directly, never through a proxy, and return -1 (or NULL, FALSE) when
 * it did not answer within two seconds.
 */
#pragma once

#include <glib.h>

/* The whole answer, or NULL. address: "host:port", numeric. */
char *four_letter (const char *address, const char *word, int timeout_ms);

/* wchp: path (char *) to the number of sessions that watch it. */
GHashTable *four_letter_watched_paths (const char *address);
/* wchp: the number of sessions that watch this path. */
int four_letter_watchers_of (const char *address, const char *path);
/* wchp: sum of watches on nodes below this path, the path itself not counted. */
int four_letter_watches_below (const char *address, const char *path);
/* mntr: all watches of the server. wchp and wchc leave out those on the children of a node. */
int four_letter_total_watches (const char *address);
/* wchc: the number of paths that this session watches. */
int four_letter_watches_of_session (const char *address, gint64 session);

/* wchc: these paths, NULL-terminated; empty when there is none. */
char **four_letter_paths_of_session (const char *address, gint64 session);

typedef struct
{
  gint64 received; /* packets that the server got from the client */
  gint64 sent;
} FourLetterPackets;

/* cons: packets of the session's connection; FALSE when no connection has that session. */
gboolean four_letter_packets (const char *address, gint64 session, FourLetterPackets *packets);

/* dump: whether the server (standalone or leader) knows that session; 1, 0 or -1. */
int four_letter_session_alive (const char *address, gint64 session);
/* dump: ephemeral nodes of that session, NULL-terminated; empty when it has none. */
char **four_letter_ephemerals (const char *address, gint64 session);

/* srvr: the last transaction that the server has seen; -1 if it does not serve. */
gint64 four_letter_zxid (const char *address);

/* mntr: one value, for example "zk_watch_count". */
gint64 four_letter_monitor (const char *address, const char *key);
