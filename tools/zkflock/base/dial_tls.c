#include "base/dial_tls.h"

#include "base/secret.h"

#include <string.h>

#ifdef HAVE_TLS

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

/* As the library: below the priorities that the administrator has set for the system. */
#define NO_OLD_VERSIONS "-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

struct _DialFiles
{
  gnutls_certificate_credentials_t loaded;
};

struct _DialSession
{
  gnutls_session_t session;
  GSocket *socket;
  char *host;
  gint64 deadline_us;
};

static void
set_error (GError **error, const char *what, int rc)
{
  g_set_error (error, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_TLS, "%s: %s", what,
               gnutls_strerror (rc));
}

static int
load_certificate (DialFiles *files, const Secure *secure, GError **error)
{
  const char *key = secure->tls_key != NULL ? secure->tls_key : secure->tls_cert;
  char *password = NULL;

  if (secure->tls_key_password_file != NULL)
    {
      password = secret_read_password (secure->tls_key_password_file, "key password file", error);
      if (password == NULL)
        {
          return GNUTLS_E_FILE_ERROR;
        }
    }
  const int rc = gnutls_certificate_set_x509_key_file2 (files->loaded, secure->tls_cert, key,
                                                        GNUTLS_X509_FMT_PEM, password, 0);
  secret_free (password);
  if (rc < 0)
    {
      set_error (error, secure->tls_cert, rc);
    }
  return rc;
}

DialFiles *
dial_files_new (const Secure *secure, GError **error)
{
  DialFiles *files = g_new0 (DialFiles, 1);
  int rc = 0;

  gnutls_certificate_allocate_credentials (&files->loaded);
  if (secure == NULL)
    {
      return files;
    }
  rc = secure->tls_ca != NULL ? gnutls_certificate_set_x509_trust_file (
           files->loaded, secure->tls_ca, GNUTLS_X509_FMT_PEM)
                              : gnutls_certificate_set_x509_system_trust (files->loaded);
  if (rc < 0)
    {
      set_error (error, secure->tls_ca != NULL ? secure->tls_ca : "the CAs of the system", rc);
    }
  else if (secure->tls_cert != NULL)
    {
      rc = load_certificate (files, secure, error);
    }
  if (rc < 0)
    {
      g_clear_pointer (&files, dial_files_free);
    }
  return files;
}

void
dial_files_free (DialFiles *files)
{
  gnutls_certificate_free_credentials (files->loaded);
  g_free (files);
}

static gint64
expiry_of (const gnutls_datum_t *der)
{
  gnutls_x509_crt_t certificate;

  gnutls_x509_crt_init (&certificate);
  const gboolean read = gnutls_x509_crt_import (certificate, der, GNUTLS_X509_FMT_DER) == 0;
  const time_t end = read ? gnutls_x509_crt_get_expiration_time (certificate) : 0;
  gnutls_x509_crt_deinit (certificate);
  return end;
}

gint64
dial_files_get_expiry (DialFiles *files)
{
  gnutls_datum_t der;
  return gnutls_certificate_get_crt_raw (files->loaded, 0, 0, &der) == 0 ? expiry_of (&der) : 0;
}

/* Waits until the socket is ready for what GnuTLS wants; FALSE with error set if it is late. */
static gboolean
wait_ready (DialSession *line, GError **error)
{
  const GIOCondition wanted = gnutls_record_get_direction (line->session) == 1 ? G_IO_OUT : G_IO_IN;
  const gint64 left_us = line->deadline_us - g_get_monotonic_time ();

  if (left_us <= 0)
    {
      g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT, "no answer in time");
      return FALSE;
    }
  return g_socket_condition_timed_wait (line->socket, wanted, left_us, NULL, error);
}

static gboolean
is_again (gssize rc)
{
  return rc == GNUTLS_E_AGAIN || rc == GNUTLS_E_INTERRUPTED || rc == GNUTLS_E_WARNING_ALERT_RECEIVED
         || rc == GNUTLS_E_REHANDSHAKE;
}

/* Returns 0, or less with error set. */
static gssize
fail (DialSession *line, gssize rc, GError **error)
{
  const char *why = rc == GNUTLS_E_FATAL_ALERT_RECEIVED
                        ? gnutls_alert_get_name (gnutls_alert_get (line->session))
                        : gnutls_strerror ((int) rc);
  unsigned n = 0;
  /* A server that has shown its certificate wants ours. */
  const gboolean is_ours = gnutls_certificate_get_peers (line->session, &n) != NULL;

  g_set_error (error, CURATOR_CONNECT_ERROR,
               is_ours ? CURATOR_CONNECT_ERROR_CLIENT_CERTIFICATE : CURATOR_CONNECT_ERROR_TLS,
               "TLS: %s", why);
  return -1;
}

static gboolean
shake (DialSession *line, GError **error)
{
  int rc;

  while ((rc = gnutls_handshake (line->session)) < 0)
    {
      if (gnutls_error_is_fatal (rc))
        {
          fail (line, rc, error);
          return FALSE;
        }
      if (!wait_ready (line, error))
        {
          return FALSE;
        }
    }
  return TRUE;
}

DialSession *
dial_session_new (DialFiles *files, GSocket *socket, const char *host, gint64 timeout_ms,
                  GError **error)
{
  DialSession *line = g_new0 (DialSession, 1);

  line->socket = g_object_ref (socket);
  line->host = g_strdup (host);
  line->deadline_us = g_get_monotonic_time () + timeout_ms * 1000;
  gnutls_init (&line->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
  gnutls_set_default_priority_append (line->session, NO_OLD_VERSIONS, NULL, 0);
  gnutls_credentials_set (line->session, GNUTLS_CRD_CERTIFICATE, files->loaded);
  if (!g_hostname_is_ip_address (host))
    {
      gnutls_server_name_set (line->session, GNUTLS_NAME_DNS, host, strlen (host));
    }
  gnutls_transport_set_int (line->session, g_socket_get_fd (socket));
  if (!shake (line, error))
    {
      g_clear_pointer (&line, dial_session_free);
    }
  return line;
}

void
dial_session_free (DialSession *line)
{
  gnutls_deinit (line->session);
  g_object_unref (line->socket);
  g_free (line->host);
  g_free (line);
}

void
dial_session_inspect (DialSession *line, DialCertificate *certificate)
{
  unsigned n = 0;
  unsigned status = 0;
  gnutls_datum_t text = { 0 };
  gnutls_typed_vdata_st wanted[] = {
    { GNUTLS_DT_DNS_HOSTNAME, (unsigned char *) line->host, 0 },
    { GNUTLS_DT_KEY_PURPOSE_OID, (unsigned char *) GNUTLS_KP_TLS_WWW_SERVER, 0 },
  };
  const gnutls_datum_t *shown = gnutls_certificate_get_peers (line->session, &n);

  *certificate = (DialCertificate){ .expires_at = n > 0 ? expiry_of (shown) : 0 };
  const int rc =
      gnutls_certificate_verify_peers (line->session, wanted, G_N_ELEMENTS (wanted), &status);
  if (rc == 0 && status == 0)
    {
      return;
    }
  gnutls_certificate_verification_status_print (status, GNUTLS_CRT_X509, &text, 0);
  g_autofree char *host = curator_escape_name (line->host, -1);
  certificate->refusal =
      g_strdup_printf ("the certificate of the server is not valid for \"%s\": %s", host,
                       rc < 0              ? gnutls_strerror (rc)
                       : text.data != NULL ? g_strstrip ((char *) text.data)
                                           : "no reason given");
  gnutls_free (text.data);
}

gssize
dial_session_write (DialSession *line, const char *bytes, gsize n, GError **error)
{
  gssize rc = gnutls_record_send (line->session, bytes, n);

  while (is_again (rc))
    {
      if (!wait_ready (line, error))
        {
          return -1;
        }
      rc = gnutls_record_send (line->session, NULL, 0);
    }
  return rc < 0 ? fail (line, rc, error) : rc;
}

gssize
dial_session_read (DialSession *line, char *bytes, gsize n, GError **error)
{
  gssize rc;

  while (is_again (rc = gnutls_record_recv (line->session, bytes, n)))
    {
      if (!wait_ready (line, error))
        {
          return -1;
        }
    }
  return rc < 0 ? fail (line, rc, error) : rc;
}

#else

DialFiles *
dial_files_new (const Secure *secure, GError **error)
{
  g_set_error_literal (error, CURATOR_ERROR, CURATOR_ERROR_UNSUPPORTED, "built without TLS");
  return NULL;
}

void
dial_files_free (DialFiles *files)
{
}

gint64
dial_files_get_expiry (DialFiles *files)
{
  return 0;
}

DialSession *
dial_session_new (DialFiles *files, GSocket *socket, const char *host, gint64 timeout_ms,
                  GError **error)
{
  return NULL;
}

void
dial_session_free (DialSession *session)
{
}

void
dial_session_inspect (DialSession *session, DialCertificate *certificate)
{
}

gssize
dial_session_write (DialSession *session, const char *bytes, gsize n, GError **error)
{
  return -1;
}

gssize
dial_session_read (DialSession *session, char *bytes, gsize n, GError **error)
{
  return -1;
}

#endif
