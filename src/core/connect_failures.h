/* The last failure to connect to each address, as libzookeeper's log lines report it. */
#pragma once

#include <glib.h>

/* Takes note of a log line that reports a failed connection; ignores every other line. */
void curator_connect_failures_note (const char *line, gint64 now_us);
/* Why none of the servers, of CuratorServer, could be connected to since then, in
 * CURATOR_CONNECT_ERROR: the code of the newest failure, and a list of "address: cause". Failures
 * before since_us do not count: such a server has not answered. known: whether one has failed. */
GError *curator_connect_failures_error (GPtrArray *servers, gint64 since_us, gboolean *known);
