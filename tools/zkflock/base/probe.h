#ifndef ZKFLOCK_PROBE_H
#define ZKFLOCK_PROBE_H

#include "base/options.h"

#include <gio/gio.h>

typedef struct _Probe Probe;

/* Starts one thread for each server of the connect string. A thread gives up after timeout_ms,
 * except in a slow name resolution. */
Probe *probe_start (const Options *options, gint64 timeout_ms);
/* NULL, for no result, is allowed in the next two. Whether every server has refused: no host of that name, no connection, another protocol, no TLS, or
 * a server without a quorum; or it closes the connection, to the client, too (has_failed). FALSE while one has not
 * answered. */
gboolean probe_all_refuse (Probe *probe, gboolean has_failed);
/* Whether every server has refused TLS, or has a certificate that was refused. */
gboolean probe_all_refuse_tls (Probe *probe);
/* A server answers, though the client has no session. */
gboolean probe_some_serve (Probe *probe);
/* Whether a cause is known of every server. */
gboolean probe_has_causes (Probe *probe);
/* Whether every thread has its result. */
gboolean probe_is_complete (Probe *probe);
/* For example "zk1:2181: connection refused; zk2:2181: unknown host". */
char *probe_describe (Probe *probe);
/* Whether a thread of any probe still runs. The process must not end by exit() then: that takes down
 * GnuTLS under the thread. */
gboolean probe_is_running (void);
/* Does not wait for the threads. NULL is allowed. */
void probe_free (Probe *probe);

#endif
