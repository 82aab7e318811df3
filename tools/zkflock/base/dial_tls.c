/* The TLS of a dial, by GnuTLS. Without it in this build nothing can be created. */
#include "base/dial_tls.h"

#include "base/secret.h"
#include "channel/channel_tls.h"

#include <string.h>

struct _DialFiles
{
  CuratorTls tls;
  CuratorTlsCredentials *credentials;
};

struct _DialSession
{
  CuratorTlsSession *session;
  GSocket *socket;
  gint64 deadline_us;
};

static gboolean
set_files (CuratorTls *tls, const Secure *secure, GError **error)
{
  tls->verify = TRUE;
  tls->ca_file = g_strdup (secure->tls_ca);
  tls->crl_file = g_strdup (secure->tls_crl);
  tls->certificate = g_strdup (secure->tls_cert);
  tls->key = g_strdup (secure->tls_key != NULL ? secure->tls_key : secure->tls_cert);
  if (tls->certificate == NULL || secure->tls_key_password_file == NULL)
    return TRUE;
  tls->password = secret_read_password (secure->tls_key_password_file, "key password file ", error);
  return tls->password != NULL;
}

DialFiles *
dial_files_new (const Secure *secure, GError **error)
{
  DialFiles *files = g_new0 (DialFiles, 1);

  if (secure == NULL || set_files (&files->tls, secure, error))
    files->credentials = curator_tls_credentials_load (&files->tls, error);
  if (files->credentials == NULL)
    g_clear_pointer (&files, dial_files_free);
  return files;
}

void
dial_files_free (DialFiles *files)
{
  curator_tls_credentials_free (files->credentials);
  g_free (files->tls.ca_file);
  g_free (files->tls.crl_file);
  g_free (files->tls.certificate);
  g_free (files->tls.key);
  secret_free (files->tls.password);
  g_free (files);
}

gint64
dial_files_get_expiry (DialFiles *files)
{
  return curator_tls_credentials_get_expiry (files->credentials);
}

/* Waits until the socket is ready for what TLS wants; FALSE with error set if it is late. */
static gboolean
wait_ready (DialSession *line, GError **error)
{
  const GIOCondition wanted = curator_tls_session_wants_write (line->session) ? G_IO_OUT : G_IO_IN;
  const gint64 left_us = line->deadline_us - g_get_monotonic_time ();

  if (left_us <= 0)
    {
      g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT, "no answer in time");
      return FALSE;
    }
  return g_socket_condition_timed_wait (line->socket, wanted, left_us, NULL, error);
}

static gboolean
shake (DialSession *line, GError **error)
{
  int rc;

  while ((rc = curator_tls_session_shake (line->session, error)) == 0)
    {
      if (!wait_ready (line, error))
        return FALSE;
    }
  return rc > 0;
}

DialSession *
dial_session_new (DialFiles *files, GSocket *socket, const char *host, gint64 timeout_ms,
                  GError **error)
{
  DialSession *line = g_new0 (DialSession, 1);

  line->socket = g_object_ref (socket);
  line->deadline_us = g_get_monotonic_time () + timeout_ms * 1000;
  /* dial_session_inspect() verifies: who only looks at a certificate wants to see a bad one, too. */
  line->session =
      curator_tls_session_new (g_socket_get_fd (socket), host, files->credentials, FALSE, error);
  if (line->session == NULL || !shake (line, error))
    g_clear_pointer (&line, dial_session_free);
  return line;
}

void
dial_session_free (DialSession *line)
{
  curator_tls_session_free (line->session);
  g_object_unref (line->socket);
  g_free (line);
}

void
dial_session_inspect (DialSession *line, DialCertificate *certificate)
{
  g_autofree char *refusal = curator_tls_session_dup_refusal (line->session);

  certificate->expires_at = curator_tls_session_get_peer_expiry (line->session);
  certificate->refusal = refusal != NULL ? curator_escape_name (refusal, -1) : NULL;
}

gssize
dial_session_write (DialSession *line, const char *bytes, gsize n, GError **error)
{
  gssize rc;

  while ((rc = curator_tls_session_write (line->session, (const guint8 *) bytes, n, error)) == 0)
    {
      if (!wait_ready (line, error))
        return -1;
    }
  return rc;
}

gssize
dial_session_read (DialSession *line, char *bytes, gsize n, GError **error)
{
  gssize rc;

  while ((rc = curator_tls_session_read (line->session, (guint8 *) bytes, n, error)) == 0)
    {
      if (!wait_ready (line, error))
        return -1;
    }
  return rc;
}
