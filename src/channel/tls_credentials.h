/* The certificates and keys of a client, loaded from their files.
 *
 * Used by one thread at a time; no lock. Without GnuTLS every function fails with UNSUPPORTED.
 */
#pragma once

#include "channel/tls_settings.h"

typedef struct _CuratorTlsCredentials CuratorTlsCredentials;

gboolean curator_tls_is_built_in (void);
/* Loads GnuTLS, before any thread of a channel needs it. FALSE with UNSUPPORTED or RESOURCES. */
gboolean curator_tls_load (GError **error);

/* Whether each of these settings can be loaded by itself: the CAs of the lists of revoked
 * certificates may be set later. */
gboolean curator_tls_check (const CuratorTls *tls, GError **error);

/* tls must outlive the credentials. */
CuratorTlsCredentials *curator_tls_credentials_load (const CuratorTls *tls, GError **error);
void curator_tls_credentials_free (CuratorTlsCredentials *credentials);
/* Loads them, or again if a file has changed. After a failure those that there were are still
 * there. */
gboolean curator_tls_credentials_refresh (CuratorTlsCredentials **credentials,
                                          const CuratorTls *tls, GError **error);
/* When our own certificate expires, in seconds since 1970; 0: there is none. */
gint64 curator_tls_credentials_get_expiry (const CuratorTlsCredentials *credentials);
/* Of a certificate in a gnutls_datum_t, in seconds since 1970; 0: it cannot be read. */
gint64 curator_tls_expiry_of (gconstpointer der);
/* Why no certificate can be judged now: a list of revoked ones has grown old. To be freed; NULL:
 * nothing. */
char *curator_tls_credentials_dup_stale (const CuratorTlsCredentials *credentials);
/* Of a gnutls_x509_crt_t: whether one of the lists names it. */
gboolean curator_tls_credentials_have_revoked (const CuratorTlsCredentials *credentials,
                                               gpointer certificate);
/* As gnutls_certificate_verify_peers(), of a gnutls_session_t. A trusted certificate that is no CA's
 * vouches for the server that shows it, and for no other. */
int curator_tls_credentials_verify (const CuratorTlsCredentials *credentials, gpointer session,
                                    gpointer wanted, guint n_wanted, guint *status);
/* gnutls_certificate_credentials_t */
gpointer curator_tls_credentials_get (const CuratorTlsCredentials *credentials);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorTlsCredentials, curator_tls_credentials_free)
