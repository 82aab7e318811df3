/* TLS by GnuTLS; see channel_tls.h. Threads: one; no lock.
 *
 * NOTES: a server may refuse the client's certificate after the handshake (TLS 1.3): by an alert,
 * or by closing the connection, and the alert is lost if we have written meanwhile. A session
 * ticket or any other data shows that it has accepted the certificate.
 */
#include "channel/channel_tls.h"

#include "channel/channel_error.h"

#ifdef CURATOR_HAVE_TLS

#include "channel/gnutls_library.h"

#include <gio/gio.h>
#include <string.h>
#include <sys/socket.h>

/* Taken from the priorities that the administrator has set for the system. Nothing is added to
 * them. */
#define NO_OLD_VERSIONS "-VERS-SSL3.0:-VERS-TLS1.0:-VERS-TLS1.1"
/* 2,048 bits of RSA. A profile of the priorities could lower the administrator's. */
#define MIN_STRENGTH GNUTLS_SEC_PARAM_MEDIUM

/* A few records as ZooKeeper sends them. */
#define AHEAD_SIZE 4096

struct _CuratorTlsSession
{
  gnutls_session_t session;
  const CuratorTlsCredentials *credentials;
  char *host;
  char *refusal;    /* of the server's certificate, or NULL */
  gsize unfinished; /* bytes of a write to be repeated */
  int fd;
  gsize ahead_start; /* what was received and GnuTLS has not asked for yet */
  gsize ahead_end;
  gboolean wants_write; /* what was read cannot go on before something is written */
  gboolean is_established;
  gboolean is_sure; /* the server has accepted what we have shown */
  guint8 ahead[AHEAD_SIZE];
};

static gboolean
has_name (gnutls_x509_crt_t certificate)
{
  char name[256];
  int kind = 0;

  for (unsigned i = 0; kind != GNUTLS_SAN_DNSNAME && kind != GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE;
       i++) {
    gsize length = sizeof name;
    kind = gnutls.x509_crt_get_subject_alt_name (certificate, i, name, &length, NULL);
  }
  return kind == GNUTLS_SAN_DNSNAME;
}

static gboolean
has_address (gnutls_x509_crt_t certificate, const char *host)
{
  g_autoptr (GInetAddress) address = g_inet_address_new_from_string (host);
  return address != NULL
         && gnutls.x509_crt_check_ip (certificate, g_inet_address_to_bytes (address),
                                      (unsigned) g_inet_address_get_native_size (address), 0)
                != 0;
}

/* What GnuTLS does not object to: if a certificate has no alternative name, it takes the common
 * name; and by default a key of 1,024 bits will do. It has not been given the lists of revoked
 * ones. */
static const char *
objection_to (CuratorTlsSession *tls, const gnutls_datum_t *der, gboolean is_server)
{
  gnutls_x509_crt_t certificate;
  unsigned bits = 0;
  const char *why = NULL;

  gnutls.x509_crt_init (&certificate);
  const int rc = gnutls.x509_crt_import (certificate, der, GNUTLS_X509_FMT_DER);
  const int kind = rc == 0 ? gnutls.x509_crt_get_pk_algorithm (certificate, &bits) : rc;
  if (kind < 0)
    why = gnutls.strerror (kind);
  else if (gnutls.pk_bits_to_sec_param ((gnutls_pk_algorithm_t) kind, bits) < MIN_STRENGTH)
    why = "A key is too short.";
  else if (is_server && !has_name (certificate) && !has_address (certificate, tls->host))
    why = "It has no alternative name.";
  else if (curator_tls_credentials_have_revoked (tls->credentials, certificate))
    why = is_server ? "It has been revoked." : "Its issuer has been revoked.";
  gnutls.x509_crt_deinit (certificate);
  return why;
}

/* The name may also be an address, and is compared with those of the certificate then. */
char *
curator_tls_session_dup_refusal (CuratorTlsSession *tls)
{
  gnutls_typed_vdata_st wanted[] = {
    { GNUTLS_DT_DNS_HOSTNAME, (unsigned char *) tls->host, 0 },
    { GNUTLS_DT_KEY_PURPOSE_OID, (unsigned char *) GNUTLS_KP_TLS_WWW_SERVER, 0 },
  };
  unsigned n = 0;
  unsigned status = 0;
  gnutls_datum_t text = { 0 };
  const gnutls_datum_t *shown = gnutls.certificate_get_peers (tls->session, &n);
  const int rc = curator_tls_credentials_verify (tls->credentials, tls->session, wanted,
                                                 G_N_ELEMENTS (wanted), &status);
  g_autofree char *stale = curator_tls_credentials_dup_stale (tls->credentials);
  const char *why = rc < 0 ? gnutls.strerror (rc) : stale;

  if (why == NULL && status != 0) {
    gnutls.certificate_verification_status_print (status, GNUTLS_CRT_X509, &text, 0);
    why = text.data != NULL ? g_strstrip ((char *) text.data) : "no reason given";
  }
  for (unsigned i = 0; i < n && why == NULL; i++)
    why = objection_to (tls, &shown[i], i == 0);
  char *refusal = why != NULL ? g_strdup_printf ("the certificate of the server is not valid for "
                                                 "\"%s\": %s",
                                                 tls->host, why)
                              : NULL;
  (*gnutls.free) (text.data);
  return refusal;
}

gint64
curator_tls_session_get_peer_expiry (CuratorTlsSession *tls)
{
  unsigned n = 0;
  const gnutls_datum_t *shown = gnutls.certificate_get_peers (tls->session, &n);
  return n > 0 ? curator_tls_expiry_of (shown) : 0;
}

static int
on_certificate (gnutls_session_t session)
{
  CuratorTlsSession *tls = gnutls.session_get_ptr (session);
  tls->refusal = curator_tls_session_dup_refusal (tls);
  return tls->refusal != NULL ? GNUTLS_E_CERTIFICATE_ERROR : 0;
}

/* GnuTLS asks for the header of a record, then for the rest: one call receives both. */
static ssize_t
pull (gnutls_transport_ptr_t data, void *bytes, size_t n)
{
  CuratorTlsSession *tls = data;

  if (tls->ahead_start == tls->ahead_end && n >= AHEAD_SIZE)
    return recv (tls->fd, bytes, n, 0);
  if (tls->ahead_start == tls->ahead_end) {
    const ssize_t got = recv (tls->fd, tls->ahead, AHEAD_SIZE, 0);
    if (got <= 0)
      return got;
    tls->ahead_start = 0;
    tls->ahead_end = (gsize) got;
  }
  const gsize given = MIN (n, tls->ahead_end - tls->ahead_start);
  memcpy (bytes, tls->ahead + tls->ahead_start, given);
  tls->ahead_start += given;
  return (ssize_t) given;
}

/* In TLS 1.2 a server asks for kinds of keys by names, of which GnuTLS knows none for these. */
static gboolean
has_unnamed_key (const CuratorTlsCredentials *credentials)
{
  gnutls_datum_t der;
  gnutls_x509_crt_t own;
  int kind = GNUTLS_PK_UNKNOWN;

  if (gnutls.certificate_get_crt_raw (curator_tls_credentials_get (credentials), 0, 0, &der) < 0)
    return FALSE;
  gnutls.x509_crt_init (&own);
  if (gnutls.x509_crt_import (own, &der, GNUTLS_X509_FMT_DER) >= 0)
    kind = gnutls.x509_crt_get_pk_algorithm (own, NULL);
  gnutls.x509_crt_deinit (own);
  return kind == GNUTLS_PK_RSA_PSS || kind == GNUTLS_PK_EDDSA_ED25519
         || kind == GNUTLS_PK_EDDSA_ED448;
}

CuratorTlsSession *
curator_tls_session_new (int fd, const char *host, CuratorTlsCredentials *credentials,
                         gboolean verify, GError **error)
{
  CuratorTlsSession *tls = g_new0 (CuratorTlsSession, 1);

  tls->fd = fd;
  tls->credentials = credentials;
  /* A dot at the end only tells name servers that nothing follows. */
  tls->host = g_strndup (host, strlen (host) - (g_str_has_suffix (host, ".") ? 1 : 0));
  gnutls.init (&tls->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL
                                  | (has_unnamed_key (credentials) ? GNUTLS_FORCE_CLIENT_CERT : 0));
  const int rc = gnutls.set_default_priority_append (tls->session, NO_OLD_VERSIONS, NULL, 0);
  if (rc < 0) {
    g_set_error (error, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_TLS, "%s",
                 gnutls.strerror (rc));
    curator_tls_session_free (tls);
    return NULL;
  }
  gnutls.credentials_set (tls->session, GNUTLS_CRD_CERTIFICATE,
                          curator_tls_credentials_get (credentials));
  if (!g_hostname_is_ip_address (tls->host))
    gnutls.server_name_set (tls->session, GNUTLS_NAME_DNS, tls->host, strlen (tls->host));
  if (verify) {
    gnutls.session_set_ptr (tls->session, tls);
    gnutls.session_set_verify_function (tls->session, on_certificate);
  }
  gnutls.transport_set_ptr2 (tls->session, tls, GINT_TO_POINTER (fd));
  gnutls.transport_set_pull_function (tls->session, pull);
  return tls;
}

void
curator_tls_session_free (CuratorTlsSession *tls)
{
  gnutls.deinit (tls->session);
  g_free (tls->host);
  g_free (tls->refusal);
  g_free (tls);
}

gboolean
curator_tls_session_wants_write (CuratorTlsSession *tls)
{
  return tls->wants_write;
}

gboolean
curator_tls_session_has_pending (CuratorTlsSession *tls)
{
  return tls->ahead_start < tls->ahead_end || gnutls.record_check_pending (tls->session) > 0;
}

/* The direction is that of the last call, also of one that is complete. */
static void
note_direction (CuratorTlsSession *tls, gssize rc)
{
  tls->wants_write = rc == GNUTLS_E_AGAIN && gnutls.record_get_direction (tls->session) == 1;
}

static gboolean
is_again (gssize rc)
{
  return rc == GNUTLS_E_AGAIN || rc == GNUTLS_E_INTERRUPTED || rc == GNUTLS_E_WARNING_ALERT_RECEIVED
         || rc == GNUTLS_E_REHANDSHAKE;
}

static gboolean
is_of_certificate (gnutls_alert_description_t alert)
{
  static const gnutls_alert_description_t alerts[] = {
    GNUTLS_A_BAD_CERTIFICATE,     GNUTLS_A_UNSUPPORTED_CERTIFICATE, GNUTLS_A_CERTIFICATE_REVOKED,
    GNUTLS_A_CERTIFICATE_EXPIRED, GNUTLS_A_CERTIFICATE_UNKNOWN,     GNUTLS_A_UNKNOWN_CA,
    GNUTLS_A_ACCESS_DENIED,       GNUTLS_A_CERTIFICATE_REQUIRED,
  };
  for (gsize i = 0; i < G_N_ELEMENTS (alerts); i++)
    if (alert == alerts[i])
      return TRUE;
  return FALSE;
}

/* What a call that has done nothing returns: 0: not now; -1 with an error. */
static int
failure_of (CuratorTlsSession *tls, gssize rc, GError **error)
{
  if (is_again (rc))
    return 0;
  const gboolean is_alert = rc == GNUTLS_E_FATAL_ALERT_RECEIVED;
  const gnutls_alert_description_t alert = is_alert ? gnutls.alert_get (tls->session) : 0;
  const char *why = is_alert ? gnutls.alert_get_name (alert) : gnutls.strerror ((int) rc);
  /* The server has asked for a certificate of ours and has not shown that it accepts the answer. */
  const gboolean may_be_refused =
      gnutls.certificate_client_get_request_status (tls->session) != 0 && !tls->is_sure
      && (gnutls.session_get_flags (tls->session) & GNUTLS_SFLAGS_SESSION_TICKET) == 0;

  if (tls->refusal != NULL) {
    g_set_error_literal (error, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_CERTIFICATE_REFUSED,
                         tls->refusal);
  } else if ((is_alert && is_of_certificate (alert)) || may_be_refused) {
    const gboolean sent = gnutls.certificate_get_ours (tls->session) != NULL;
    g_set_error (error, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_CLIENT_CERTIFICATE,
                 "the server %s: %s",
                 sent ? "does not accept our certificate"
                      : "wants a certificate, and we have none that it would accept",
                 why);
  } else {
    g_set_error (error, CURATOR_CONNECT_ERROR,
                 tls->is_established ? CURATOR_CONNECT_ERROR_CONNECT : CURATOR_CONNECT_ERROR_TLS,
                 "TLS: %s", why);
  }
  return -1;
}

int
curator_tls_session_shake (CuratorTlsSession *tls, GError **error)
{
  int rc;

  do {
    rc = gnutls.handshake (tls->session);
  } while (rc == GNUTLS_E_WARNING_ALERT_RECEIVED || rc == GNUTLS_E_GOT_APPLICATION_DATA);
  note_direction (tls, rc);
  if (rc == GNUTLS_E_SUCCESS) {
    tls->is_established = TRUE;
    tls->is_sure = gnutls.protocol_get_version (tls->session) < GNUTLS_TLS1_3;
    return 1;
  }
  return failure_of (tls, rc, error);
}

gssize
curator_tls_session_read (CuratorTlsSession *tls, guint8 *bytes, gsize n, GError **error)
{
  const gssize rc = gnutls.record_recv (tls->session, bytes, n);

  note_direction (tls, rc);
  if (rc > 0) {
    tls->is_sure = TRUE;
    return rc;
  }
  return failure_of (tls, rc == 0 ? GNUTLS_E_PREMATURE_TERMINATION : rc, error);
}

gssize
curator_tls_session_write (CuratorTlsSession *tls, const guint8 *bytes, gsize n, GError **error)
{
  /* GnuTLS has kept the bytes of a write that it could not finish. */
  const gboolean again = tls->unfinished > 0;
  const gsize wanted = again ? tls->unfinished : n;
  const gssize rc = gnutls.record_send (tls->session, again ? NULL : bytes, again ? 0 : n);

  tls->unfinished = is_again (rc) ? wanted : 0;
  return rc >= 0 ? rc : failure_of (tls, rc, error);
}

void
curator_tls_session_finish (CuratorTlsSession *tls)
{
  if (tls->is_established)
    gnutls.bye (tls->session, GNUTLS_SHUT_WR);
}

#else

CURATOR_STUB (CuratorTlsSession *, curator_tls_session_new,
              (int fd, const char *host, CuratorTlsCredentials *credentials, gboolean verify,
               GError **error),
              NULL)
CURATOR_STUB (void, curator_tls_session_free, (CuratorTlsSession * tls), )
CURATOR_STUB (char *, curator_tls_session_dup_refusal, (CuratorTlsSession * tls), NULL)
CURATOR_STUB (gint64, curator_tls_session_get_peer_expiry, (CuratorTlsSession * tls), 0)
CURATOR_STUB (gboolean, curator_tls_session_wants_write, (CuratorTlsSession * tls), FALSE)
CURATOR_STUB (gboolean, curator_tls_session_has_pending, (CuratorTlsSession * tls), FALSE)
CURATOR_STUB (int, curator_tls_session_shake, (CuratorTlsSession * tls, GError **error), -1)
CURATOR_STUB (gssize, curator_tls_session_read,
              (CuratorTlsSession * tls, guint8 *bytes, gsize n, GError **error), -1)
CURATOR_STUB (gssize, curator_tls_session_write,
              (CuratorTlsSession * tls, const guint8 *bytes, gsize n, GError **error), -1)
CURATOR_STUB (void, curator_tls_session_finish, (CuratorTlsSession * tls), )

#endif
