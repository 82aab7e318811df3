/* The settings of TLS, checked when they are set.
 *
 * Mirrors the zookeeper.ssl.* properties of ZKClientConfig. Threads: one; no lock.
 */
#include "channel/tls_settings.h"

#include "base/fork_gate.h"
#include "base/tag.h"
#include "channel/tls_credentials.h"

#include <string.h>

CuratorTls *
curator_tls_new (void)
{
  CuratorTls *tls = g_new0 (CuratorTls, 1);
  tls->tag = CURATOR_TAG_TLS;
  curator_refs_init (&tls->refs);
  tls->verify = TRUE;
  return tls;
}

CuratorTls *
curator_tls_copy (const CuratorTls *tls)
{
  CuratorTls *copy = curator_tls_new ();

  copy->ca_file = g_strdup (tls->ca_file);
  copy->crl_file = g_strdup (tls->crl_file);
  copy->certificate = g_strdup (tls->certificate);
  copy->key = g_strdup (tls->key);
  copy->password = g_strdup (tls->password);
  copy->is_token = tls->is_token;
  copy->server_name = g_strdup (tls->server_name);
  copy->verify = tls->verify;
  return copy;
}

CURATOR_REF_FUNC (curator_tls_ref, CuratorTls, TLS)

void
curator_wipe_string (char **secret)
{
  if (*secret != NULL)
    explicit_bzero (*secret, strlen (*secret));
  g_clear_pointer (secret, g_free);
}

void
curator_tls_unref (CuratorTls *tls)
{
  g_return_if_fail (CURATOR_IS_TLS (tls));
  if (curator_refs_dec (&tls->refs)) {
    g_free (tls->certificate);
    curator_wipe_string (&tls->key); /* a URI may have the PIN */
    curator_wipe_string (&tls->password);
    g_free (tls->ca_file);
    g_free (tls->crl_file);
    g_free (tls->server_name);
    curator_tag_clear (tls);
    g_free (tls);
  }
}

/* The file is read again when it has changed; by then the program may be in another folder. */
static char *
absolute (const char *file)
{
  g_autofree char *here = g_get_current_dir ();
  return g_path_is_absolute (file) ? g_strdup (file) : g_build_filename (here, file, NULL);
}

/* Each setter checks a candidate that has only what is new. What the candidate gets in its place
 * ends with it. */
static void
swap (char **string, char **of_candidate)
{
  char *old = *string;
  *string = *of_candidate;
  *of_candidate = old;
}

gboolean
curator_tls_set_ca_file (CuratorTls *tls, const char *pem, GError **error)
{
  CURATOR_CHECK_CALL (CURATOR_IS_TLS (tls) && pem != NULL, error, FALSE);
  CURATOR_INSIDE_GATE;
  g_autoptr (CuratorTls) candidate = curator_tls_new ();

  candidate->ca_file = absolute (pem);
  if (!curator_tls_check (candidate, error))
    return FALSE;
  swap (&tls->ca_file, &candidate->ca_file);
  return TRUE;
}

gboolean
curator_tls_set_crl_file (CuratorTls *tls, const char *pem, GError **error)
{
  CURATOR_CHECK_CALL (CURATOR_IS_TLS (tls), error, FALSE);
  CURATOR_INSIDE_GATE;
  g_autoptr (CuratorTls) candidate = curator_tls_new ();

  candidate->crl_file = pem != NULL ? absolute (pem) : NULL;
  if (pem != NULL && !curator_tls_check (candidate, error))
    return FALSE;
  swap (&tls->crl_file, &candidate->crl_file);
  return TRUE;
}

/* Takes certificate and key. */
static gboolean
set_certificate (CuratorTls *tls, char *certificate, char *key, const char *password,
                 gboolean is_token, GError **error)
{
  CURATOR_INSIDE_GATE;
  g_autoptr (CuratorTls) candidate = curator_tls_new ();

  candidate->certificate = certificate;
  candidate->key = key;
  candidate->password = g_strdup (password);
  candidate->is_token = is_token;
  if (!curator_tls_check (candidate, error))
    return FALSE;
  swap (&tls->certificate, &candidate->certificate);
  swap (&tls->key, &candidate->key);
  swap (&tls->password, &candidate->password);
  tls->is_token = is_token;
  return TRUE;
}

gboolean
curator_tls_set_certificate_files (CuratorTls *tls, const char *cert_pem, const char *key_pem,
                                   const char *password, GError **error)
{
  CURATOR_CHECK_CALL (CURATOR_IS_TLS (tls) && cert_pem != NULL && key_pem != NULL, error, FALSE);
  return set_certificate (tls, absolute (cert_pem), absolute (key_pem), password, FALSE, error);
}

gboolean
curator_tls_set_pkcs12 (CuratorTls *tls, const char *file, const char *password, GError **error)
{
  CURATOR_CHECK_CALL (CURATOR_IS_TLS (tls) && file != NULL, error, FALSE);
  return set_certificate (tls, absolute (file), NULL, password, FALSE, error);
}

gboolean
curator_tls_set_pkcs11 (CuratorTls *tls, const char *cert_uri, const char *key_uri, GError **error)
{
  CURATOR_CHECK_CALL (CURATOR_IS_TLS (tls) && cert_uri != NULL && key_uri != NULL, error, FALSE);
  return set_certificate (tls, g_strdup (cert_uri), g_strdup (key_uri), NULL, TRUE, error);
}

void
curator_tls_set_server_name (CuratorTls *tls, const char *name)
{
  g_return_if_fail (CURATOR_IS_TLS (tls));
  g_free (tls->server_name);
  tls->server_name = g_strdup (name);
}

void
curator_tls_set_verify (CuratorTls *tls, gboolean verify)
{
  g_return_if_fail (CURATOR_IS_TLS (tls));
  tls->verify = verify;
}
