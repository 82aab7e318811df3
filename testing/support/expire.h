/* Expires a session on the server, while its owner still believes that it is alive. */
#pragma once

#include "proxy.h"

/* Opens the session with its id and password and closes it in the same segment: no timer is
 * involved. A second libzookeeper handle would compete with the first for the session. The owner
 * loses its connection and learns of the expiry as soon as it reconnects. */
gboolean expire_session (const char *server, gint64 id, const guint8 password[16], int timeout_ms);

/* Expires the session that last went through the proxy; id (may be NULL) receives its id. */
gboolean expire_last_session (Proxy *proxy, const char *server, gint64 *id);
