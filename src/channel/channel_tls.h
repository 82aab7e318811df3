/* A TLS session on a connected socket that does not block. Used by one thread; no lock. */
#pragma once

#include "channel/tls_credentials.h"

typedef struct _CuratorTlsSession CuratorTlsSession;

/* host: SNI, and the name that the certificate must have, without a dot at its end. */
CuratorTlsSession *curator_tls_session_new (int fd, const char *host,
                                            CuratorTlsCredentials *credentials, gboolean verify,
                                            GError **error);
void curator_tls_session_free (CuratorTlsSession *session);

/* Why the certificate of the server is not valid for the host, to be freed; NULL: it is. */
char *curator_tls_session_dup_refusal (CuratorTlsSession *session);
/* When it expires, in seconds since 1970; 0: unknown. */
gint64 curator_tls_session_get_peer_expiry (CuratorTlsSession *session);

gboolean curator_tls_session_wants_write (CuratorTlsSession *session);
gboolean curator_tls_session_has_pending (CuratorTlsSession *session);

/* 1: done; 0: not now; -1 with an error. */
int curator_tls_session_shake (CuratorTlsSession *session, GError **error);
/* The number of bytes; 0: not now; -1 with an error, also at the end. */
gssize curator_tls_session_read (CuratorTlsSession *session, guint8 *bytes, gsize n,
                                 GError **error);
gssize curator_tls_session_write (CuratorTlsSession *session, const guint8 *bytes, gsize n,
                                  GError **error);
void curator_tls_session_finish (CuratorTlsSession *session);
