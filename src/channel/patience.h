/* How long an address may take, as long as there are others, and how long one may be silent later.
 *
 * Mirrors nothing: Java waits for the session timeout divided by the number of servers. No lock.
 *
 * NOTES: while a quorum serves, a client is connected within a second, two round trips and a
 * quarter of a second for each address that does not answer. Before TCP is connected nothing has
 * been sent, so that is ended soon; each time all addresses were tried in vain the share doubles,
 * for networks that are slow. A server that accepts, and has not answered, may have opened a
 * session. It has longer; and if more than a minority does not answer the servers are slow, not
 * away: the share doubles from then on. A single address has nobody to leave it for.
 */
#pragma once

#include <glib.h>

/* Of attempts to connect, since the last connection. */
typedef struct
{
  guint n_unconnected; /* ended before TCP was connected */
  guint n_unanswered;  /* ended later */
} CuratorPatience;

/* For TCP. */
gint64 curator_patience_connect_us (const CuratorPatience *spent, guint n_addresses);
/* From there to the session. G_MAXINT64: for ever. */
gint64 curator_patience_answer_us (const CuratorPatience *spent, guint n_addresses);
/* For all addresses that may be away while a quorum serves, one after the other. */
gint64 curator_patience_away_us (guint n_addresses);

/* A connection has a session of that timeout: the kernel ends it when the host leaves data
 * unacknowledged for a share of that. */
void curator_patience_bind (int sock, int session_timeout_ms);
/* The server has acknowledged everything and sent nothing for so long. What is unacknowledged is
 * the kernel's. */
gboolean curator_patience_is_over (int sock, gint64 silent_us);
