#ifndef ZKFLOCK_DIAL_TLS_H
#define ZKFLOCK_DIAL_TLS_H

#include "base/dial.h"

#include <gio/gio.h>

typedef struct _DialFiles DialFiles;     /* certificates and keys; may be shared by threads */
typedef struct _DialSession DialSession; /* of one connection */

/* secure: NULL for none, which verifies nobody. */
DialFiles *dial_files_new (const Secure *secure, GError **error);
void dial_files_free (DialFiles *files);
gint64 dial_files_get_expiry (DialFiles *files);

/* Shakes hands; host: the name that the certificate must have. */
DialSession *dial_session_new (DialFiles *files, GSocket *socket, const char *host,
                               gint64 timeout_ms, GError **error);
void dial_session_free (DialSession *session);
void dial_session_inspect (DialSession *session, DialCertificate *certificate);
/* -1 with error set; 0 at the end. */
gssize dial_session_write (DialSession *session, const char *bytes, gsize n, GError **error);
gssize dial_session_read (DialSession *session, char *bytes, gsize n, GError **error);

#endif
