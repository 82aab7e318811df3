/* Ends a session on the server, as if its time were over, while its owner still believes in it. */
#ifndef CURATOR_TEST_EXPIRE_H
#define CURATOR_TEST_EXPIRE_H

#include "proxy.h"

/* Opens the session with its id and password and closes it in the same segment: no timer is
 * involved, and a second libzookeeper handle would fight with the first one over the connection.
 * The owner loses its connection and learns of the expiry as soon as it reconnects. */
gboolean expire_session (const char *server, gint64 id, const guint8 password[16], int timeout_ms);

/* The session that went through the proxy last; id (may be NULL) tells which that was. */
gboolean expire_last_session (Proxy *proxy, const char *server, gint64 *id);

#endif
