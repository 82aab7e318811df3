/* What a ZooKeeper code means, for the caller and for a retry. */
#ifndef CURATOR_ZK_ERROR_H
#define CURATOR_ZK_ERROR_H

#include <glib.h>

/* The GError of a ZooKeeper code: CONNECTION_LOST, SESSION_EXPIRED, AUTH_FAILED, or the code itself
 * in CURATOR_ZK_ERROR. */
GError *curator_error_from_zk (int rc, const char *what, const char *path);
/* TRUE for codes after which the same request may be tried again (some leave its outcome unknown). */
gboolean curator_zk_is_retryable (int rc);
/* TRUE when the server may have carried the request out although it failed here. */
gboolean curator_zk_is_ambiguous (int rc);
/* TRUE for a server's last word: asking again brings the same. */
gboolean curator_zk_is_refusal (int rc);

#endif
