/* Loads certificates and keys with GnuTLS; see tls_credentials.h. Threads: one at a time; no lock. */
#include "channel/tls_credentials.h"

#include "channel/channel_error.h"

#ifdef CURATOR_HAVE_TLS

#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <sys/stat.h>
#include <time.h>

#define N_FILES 3

/* Identifies one state of a file. */
typedef struct
{
  dev_t device;
  ino_t inode;
  off_t size;
  struct timespec changed;
} Stamp;

struct _CuratorTlsCredentials
{
  const CuratorTls *tls;
  gnutls_certificate_credentials_t loaded;
  Stamp stamps[N_FILES];
};

static gboolean
refuse (GError **error, const char *file, const char *why)
{
  g_set_error (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT, "%s: %s", file, why);
  return FALSE;
}

gboolean
curator_tls_is_built_in (void)
{
  return TRUE;
}

static gboolean
check_file (const char *path, gboolean is_secret, GError **error)
{
  struct stat found;

  if (stat (path, &found) != 0)
    {
      return refuse (error, path, g_strerror (errno));
    }
  if (is_secret && (found.st_mode & S_IROTH) != 0)
    {
      return refuse (error, path, "it holds a private key and all users can read it");
    }
  return TRUE;
}

static gboolean
load_ca (gnutls_certificate_credentials_t into, const char *path, GError **error)
{
  if (path == NULL)
    {
      const int n = gnutls_certificate_set_x509_system_trust (into);
      return n >= 0 || refuse (error, "the CAs of the system", gnutls_strerror (n));
    }
  const int n = gnutls_certificate_set_x509_trust_file (into, path, GNUTLS_X509_FMT_PEM);
  return n > 0 || refuse (error, path, n == 0 ? "no certificate in it" : gnutls_strerror (n));
}

gboolean
curator_tls_check_ca (const char *path, GError **error)
{
  gnutls_certificate_credentials_t probe;

  gnutls_certificate_allocate_credentials (&probe);
  const gboolean good = load_ca (probe, path, error);
  gnutls_certificate_free_credentials (probe);
  return good;
}

/* The name to show: a URI may have the PIN. */
static const char *
shown (const CuratorTls *tls)
{
  return tls->is_token ? "the certificate of the PKCS#11 token" : tls->certificate;
}

static gboolean
check_expiry (gnutls_certificate_credentials_t loaded, const CuratorTls *tls, GError **error)
{
  gnutls_datum_t der;
  gnutls_x509_crt_t certificate;

  if (gnutls_certificate_get_crt_raw (loaded, 0, 0, &der) < 0)
    {
      return refuse (error, shown (tls), "no certificate in it");
    }
  gnutls_x509_crt_init (&certificate);
  const int read = gnutls_x509_crt_import (certificate, &der, GNUTLS_X509_FMT_DER);
  const time_t end = read < 0 ? 0 : gnutls_x509_crt_get_expiration_time (certificate);
  gnutls_x509_crt_deinit (certificate);
  return end > time (NULL) || refuse (error, shown (tls), "the certificate has expired");
}

static int
load_pair (gnutls_certificate_credentials_t into, const CuratorTls *tls)
{
  if (tls->key == NULL)
    {
      return gnutls_certificate_set_x509_simple_pkcs12_file (
          into, tls->certificate, GNUTLS_X509_FMT_DER, tls->password != NULL ? tls->password : "");
    }
  return gnutls_certificate_set_x509_key_file2 (into, tls->certificate, tls->key,
                                                GNUTLS_X509_FMT_PEM, tls->password, 0);
}

static gboolean
load_certificate (gnutls_certificate_credentials_t into, const CuratorTls *tls, GError **error)
{
  if (tls->certificate == NULL)
    {
      return TRUE;
    }
  if (tls->is_token
      && !(g_str_has_prefix (tls->certificate, "pkcs11:")
           && g_str_has_prefix (tls->key, "pkcs11:")))
    {
      return refuse (error, shown (tls), "a URI does not begin with \"pkcs11:\"");
    }
  if (!tls->is_token
      && (!check_file (tls->certificate, tls->key == NULL, error)
          || (tls->key != NULL && !check_file (tls->key, TRUE, error))))
    {
      return FALSE;
    }
  const int rc = load_pair (into, tls);
  if (rc < 0)
    {
      return refuse (error, shown (tls), gnutls_strerror (rc));
    }
  return check_expiry (into, tls, error);
}

gboolean
curator_tls_check_certificate (const CuratorTls *tls, GError **error)
{
  gnutls_certificate_credentials_t probe;

  gnutls_certificate_allocate_credentials (&probe);
  const gboolean good = load_certificate (probe, tls, error);
  gnutls_certificate_free_credentials (probe);
  return good;
}

static void
stamp_file (const char *path, gboolean is_file, Stamp *stamp)
{
  struct stat found;

  *stamp = (Stamp){ 0 };
  if (path != NULL && is_file && stat (path, &found) == 0)
    {
      stamp->device = found.st_dev;
      stamp->inode = found.st_ino;
      stamp->size = found.st_size;
      stamp->changed = found.st_mtim;
    }
}

static void
stamp_files (const CuratorTls *tls, Stamp stamps[N_FILES])
{
  stamp_file (tls->ca_file, TRUE, &stamps[0]);
  stamp_file (tls->certificate, !tls->is_token, &stamps[1]);
  stamp_file (tls->key, !tls->is_token, &stamps[2]);
}

CuratorTlsCredentials *
curator_tls_credentials_load (const CuratorTls *tls, GError **error)
{
  g_autoptr (CuratorTlsCredentials) credentials = g_new0 (CuratorTlsCredentials, 1);

  credentials->tls = tls;
  gnutls_certificate_allocate_credentials (&credentials->loaded);
  stamp_files (tls, credentials->stamps);
  /* Without verification no CA is needed. */
  if ((tls->verify && !load_ca (credentials->loaded, tls->ca_file, error))
      || !load_certificate (credentials->loaded, tls, error))
    {
      return NULL;
    }
  return g_steal_pointer (&credentials);
}

void
curator_tls_credentials_free (CuratorTlsCredentials *credentials)
{
  if (credentials != NULL)
    {
      gnutls_certificate_free_credentials (credentials->loaded);
      g_free (credentials);
    }
}

static gboolean
stamps_equal (const Stamp *a, const Stamp *b)
{
  return a->device == b->device && a->inode == b->inode && a->size == b->size
         && a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

gboolean
curator_tls_credentials_are_current (const CuratorTlsCredentials *credentials)
{
  Stamp now[N_FILES];
  gboolean equal = TRUE;

  stamp_files (credentials->tls, now);
  for (int i = 0; i < N_FILES; i++)
    {
      equal = equal && stamps_equal (&now[i], &credentials->stamps[i]);
    }
  return equal;
}

gpointer
curator_tls_credentials_get (const CuratorTlsCredentials *credentials)
{
  return credentials->loaded;
}

#else

gboolean
curator_tls_is_built_in (void)
{
  return FALSE;
}

gboolean
curator_tls_check_ca (const char *path, GError **error)
{
  return curator_channel_unsupported (error, "TLS");
}

gboolean
curator_tls_check_certificate (const CuratorTls *tls, GError **error)
{
  return curator_channel_unsupported (error, "TLS");
}

CuratorTlsCredentials *
curator_tls_credentials_load (const CuratorTls *tls, GError **error)
{
  curator_channel_unsupported (error, "TLS");
  return NULL;
}

void
curator_tls_credentials_free (CuratorTlsCredentials *credentials)
{
}

gboolean
curator_tls_credentials_are_current (const CuratorTlsCredentials *credentials)
{
  return TRUE;
}

gpointer
curator_tls_credentials_get (const CuratorTlsCredentials *credentials)
{
  return NULL;
}

#endif
