/* TLS and SASL, as the options and the environment set them up. */
#include "base/secure.h"

#include "base/secret.h"

#include <string.h>
#include <unistd.h>

#define TLS_PREFIX "tls://"

gboolean
secure_settle (Secure *secure, const char *hosts)
{
  const char *mechanism = secure->sasl_mechanism;
  const char *start = hosts != NULL ? hosts + strspn (hosts, " \t") : "";

  /* An option about TLS asks for TLS: it is never ignored for a connection in clear text. */
  secure->is_tls = secure->tls_ca != NULL || secure->tls_crl != NULL || secure->tls_cert != NULL
                   || secure->tls_server_name != NULL
                   || g_ascii_strncasecmp (start, TLS_PREFIX, strlen (TLS_PREFIX)) == 0;
  secure->sasl = g_strcmp0 (mechanism, "digest") == 0   ? SASL_DIGEST
                 : g_strcmp0 (mechanism, "gssapi") == 0 ? SASL_GSSAPI
                                                        : SASL_NONE;
  return mechanism == NULL || secure->sasl != SASL_NONE;
}

gboolean
secure_is_used (const Secure *secure)
{
  return secure->is_tls || secure->sasl != SASL_NONE;
}

gboolean
secure_has_identity (const Secure *secure)
{
  return secure->tls_cert != NULL || secure->sasl != SASL_NONE;
}

static gboolean
set_certificate (const Secure *secure, CuratorTls *tls, GError **error)
{
  char *password = NULL;

  if (secure->tls_key_password_file != NULL) {
    password = secret_read_password (secure->tls_key_password_file, "key password file ", error);
    if (password == NULL)
      return FALSE;
  }
  const gboolean set = curator_tls_set_certificate_files (
      tls, secure->tls_cert, secure->tls_key != NULL ? secure->tls_key : secure->tls_cert, password,
      error);
  secret_free (password);
  return set;
}

/* Whoever can write it can have any server trusted. What cannot be read the library refuses. */
static gboolean
check_anchors (const char *file, GError **error)
{
  g_autoptr (GError) failure = NULL;

  if (file == NULL || access (file, R_OK) != 0 || own_file_check (file, &failure))
    return TRUE;
  g_set_error_literal (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT, failure->message);
  return FALSE;
}

gboolean
secure_set_tls (const Secure *secure, CuratorClient *client, GError **error)
{
  g_autoptr (CuratorTls) tls = curator_tls_new ();

  if (!check_anchors (secure->tls_ca, error)
      || (secure->tls_ca != NULL && !curator_tls_set_ca_file (tls, secure->tls_ca, error))
      || !curator_tls_set_crl_file (tls, secure->tls_crl, error)
      || (secure->tls_cert != NULL && !set_certificate (secure, tls, error)))
    return FALSE;
  curator_tls_set_server_name (tls, secure->tls_server_name);
  return curator_client_set_tls (client, tls, error);
}

gboolean
secure_set_sasl (const Secure *secure, CuratorClient *client, GError **error)
{
  const char *principal = secure->sasl_server_principal;

  if (secure->sasl == SASL_NONE)
    return TRUE;
  if (secure->sasl == SASL_GSSAPI) {
    g_auto (GStrv) parts = g_strsplit (principal != NULL ? principal : "", "/", 2);
    return curator_client_set_sasl_gssapi (client, parts[0], parts[0] != NULL ? parts[1] : NULL,
                                           error);
  }
  char *password = secret_read_password (secure->sasl_password_file, "SASL password file ", error);
  const gboolean set =
      password != NULL
      && curator_client_set_sasl_digest (client, secure->sasl_user, password, error);
  secret_free (password);
  return set;
}
