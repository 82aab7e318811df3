/* Classifies ZooKeeper return codes (RetryPolicy.allowRetry). Any thread; pure. */
#pragma once

#include <glib.h>

/* libzookeeper 3.8 has no names for these. The server closes the connection after the former. */
#define CURATOR_ZK_SASL_REQUIRED  (-124)
#define CURATOR_ZK_QUOTA_EXCEEDED (-125)

/* The GError of a ZooKeeper code: CONNECTION_LOST, SESSION_EXPIRED, AUTH_FAILED, or the code itself
 * in CURATOR_ZK_ERROR. */
GError *curator_error_from_zk (int rc, const char *what, const char *path);
/* The same for the deletion of a lock node, and for the read that shows whose it is. NOAUTH has one
 * cause there. */
GError *curator_error_from_zk_deletion (int rc, gboolean is_reading, const char *path);
/* TRUE for ZAUTHFAILED and CURATOR_ZK_SASL_REQUIRED: no session will be given, so no request will
 * do. */
gboolean curator_zk_is_auth_failure (int rc);
/* TRUE if the same request may be sent again. Some of these codes leave its outcome unknown. */
gboolean curator_zk_is_retryable (int rc);
/* TRUE if the server may have executed the request although it failed here. */
gboolean curator_zk_is_ambiguous (int rc);
/* TRUE if a server has answered for the node of the request, ZOK included. An auth failure is about
 * the session: to take it for a node that may not be read would show locks as free. */
gboolean curator_zk_is_answer (int rc);
/* TRUE if the server would refuse the same request again. */
gboolean curator_zk_is_refusal (int rc);
