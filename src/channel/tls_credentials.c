/* Loads certificates and keys with GnuTLS; see tls_credentials.h. Threads: one, without a lock. */
#include "channel/tls_credentials.h"

#include "channel/channel_error.h"

#ifdef CURATOR_HAVE_TLS

#include "channel/gnutls_library.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define N_FILES  4
#define MAX_SIZE (1 << 20) /* of a file with a key or a certificate */

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
  gnutls_x509_trust_list_t pinned; /* anchors that are no CAs */
  gnutls_x509_crl_t *lists;        /* of revoked certificates */
  unsigned n_lists;
  Stamp stamps[N_FILES];
};

static gboolean
refuse (GError **error, const char *file, const char *why)
{
  return CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT, "%s: %s", file, why);
}

gboolean
curator_tls_is_built_in (void)
{
  return TRUE;
}

gboolean
curator_tls_load (GError **error)
{
  return curator_gnutls_load (error);
}

/* A key is this user's alone, as for ssh. One of root may be shared with a group. */
static const char *
objection_to (const struct stat *found)
{
  if (found->st_uid != geteuid () && found->st_uid != 0)
    return "it holds a private key and belongs to another user";
  if ((found->st_mode & (found->st_uid == 0 ? S_IRWXO | S_IWGRP : S_IRWXO | S_IRWXG)) != 0)
    return "it holds a private key and other users can read or write it";
  return NULL;
}

/* The objection to it, or NULL. */
static const char *
read_all (int fd, gnutls_datum_t *into)
{
  gssize got = 1;

  into->data = g_malloc0 (MAX_SIZE);
  into->size = 0;
  while (got > 0 && into->size < MAX_SIZE) {
    got = read (fd, into->data + into->size, MAX_SIZE - into->size);
    into->size += (unsigned) MAX (got, 0);
    got = got < 0 && errno == EINTR ? 1 : got;
  }
  if (got < 0)
    return g_strerror (errno);
  return got > 0 ? "it is too large" : NULL;
}

static void
wipe (gnutls_datum_t *content)
{
  if (content->data != NULL)
    explicit_bzero (content->data, content->size);
  g_free (content->data);
}

/* What is checked is what is read. */
static gboolean
read_file (const char *path, gboolean is_secret, gnutls_datum_t *into, GError **error)
{
  struct stat found;
  const int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const char *objection = NULL;

  if (fd < 0 || fstat (fd, &found) != 0)
    objection = g_strerror (errno);
  else if (!S_ISREG (found.st_mode))
    objection = "it is not a file";
  else if (is_secret)
    objection = objection_to (&found);
  if (objection == NULL)
    objection = read_all (fd, into);
  if (fd >= 0)
    close (fd);
  return objection == NULL || refuse (error, path, objection);
}

/* NULL with an error: there is no GnuTLS. */
static CuratorTlsCredentials *
credentials_new (const CuratorTls *tls, GError **error)
{
  if (!curator_gnutls_load (error))
    return NULL;
  CuratorTlsCredentials *credentials = g_new0 (CuratorTlsCredentials, 1);
  credentials->tls = tls;
  gnutls.certificate_allocate_credentials (&credentials->loaded);
  gnutls.x509_trust_list_init (&credentials->pinned, 0);
  return credentials;
}

/* A GPtrArray of those that a function picks; they end with it. */
static GPtrArray *
pick (gnutls_x509_trust_list_t from,
      gboolean (*is_wanted) (gnutls_x509_crt_t certificate, gconstpointer data), gconstpointer data)
{
  GPtrArray *picked = g_ptr_array_new_with_free_func ((GDestroyNotify) gnutls.x509_crt_deinit);
  gnutls_x509_trust_list_iter_t at = NULL;
  gnutls_x509_crt_t certificate;

  while (gnutls.x509_trust_list_iter_get_ca (from, &at, &certificate) == 0)
    if (is_wanted (certificate, data))
      g_ptr_array_add (picked, certificate);
    else
      gnutls.x509_crt_deinit (certificate);
  return picked;
}

static gnutls_x509_trust_list_t
trusted_by (const CuratorTlsCredentials *credentials)
{
  gnutls_x509_trust_list_t trusted;
  gnutls.certificate_get_trust_list (credentials->loaded, &trusted);
  return trusted;
}

static void
distrust (const CuratorTlsCredentials *credentials, GPtrArray *cas)
{
  if (cas->len > 0)
    gnutls.x509_trust_list_remove_cas (trusted_by (credentials), (gnutls_x509_crt_t *) cas->pdata,
                                       (int) cas->len);
}

/* GnuTLS takes a certificate that has signed itself for a CA unless it says that it is none. Only
 * old ones, of version 1, cannot say so. */
static gboolean
is_no_ca (gnutls_x509_crt_t certificate, gconstpointer data)
{
  return gnutls.x509_crt_get_version (certificate) > 1
         && gnutls.x509_crt_get_ca_status (certificate, NULL) <= 0;
}

static gboolean
load_ca (CuratorTlsCredentials *into, GError **error)
{
  const char *path = into->tls->ca_file;
  const int n = path == NULL ? gnutls.certificate_set_x509_system_trust (into->loaded)
                             : gnutls.certificate_set_x509_trust_file (into->loaded, path,
                                                                       GNUTLS_X509_FMT_PEM);

  if (n < 0 || (n == 0 && path != NULL))
    return refuse (error, path != NULL ? path : "the CAs of the system",
                   n == 0 ? "no certificate in it" : gnutls.strerror (n));
  g_autoptr (GPtrArray) pinned = pick (trusted_by (into), is_no_ca, NULL);
  distrust (into, pinned);
  g_ptr_array_set_free_func (pinned, NULL); /* the list takes them */
  gnutls.x509_trust_list_add_cas (into->pinned, (gnutls_x509_crt_t *) pinned->pdata, pinned->len,
                                  0);
  return TRUE;
}

/* "FILE: the list of ISSUER WHAT", and a date unless it is -1. */
static char *
describe_list (const CuratorTlsCredentials *credentials, gnutls_x509_crl_t list, const char *what,
               time_t when)
{
  gnutls_datum_t issuer = { 0 };
  g_autoptr (GDateTime) date = when != -1 ? g_date_time_new_from_unix_utc (when) : NULL;
  g_autofree char *shown = date != NULL ? g_date_time_format (date, " %F %TZ") : NULL;

  gnutls.x509_crl_get_issuer_dn3 (list, &issuer, 0);
  char *text = g_strdup_printf ("%s: the list of \"%s\" %s%s", credentials->tls->crl_file,
                                issuer.data != NULL ? (char *) issuer.data : "?", what,
                                shown != NULL ? shown : "");
  (*gnutls.free) (issuer.data);
  return text;
}

/* A list without an end could never grow old. */
char *
curator_tls_credentials_dup_stale (const CuratorTlsCredentials *credentials)
{
  const time_t now = time (NULL);

  for (unsigned i = 0; i < credentials->n_lists; i++) {
    gnutls_x509_crl_t list = credentials->lists[i];
    const time_t begin = gnutls.x509_crl_get_this_update (list);
    const time_t end = gnutls.x509_crl_get_next_update (list);
    if (begin == -1 || end == -1)
      return describe_list (credentials, list, "has no date of its next update", -1);
    if (now < begin)
      return describe_list (credentials, list, "is not valid before", begin);
    if (now >= end)
      return describe_list (credentials, list, "was to be renewed by", end);
  }
  return NULL;
}

/* And checks their dates. */
static gboolean
import_lists (CuratorTlsCredentials *into, GError **error)
{
  gnutls_datum_t pem = { 0 };
  int rc = gnutls.load_file (into->tls->crl_file, &pem);

  if (rc >= 0)
    rc = gnutls.x509_crl_list_import2 (&into->lists, &into->n_lists, &pem, GNUTLS_X509_FMT_PEM, 0);
  (*gnutls.free) (pem.data);
  if (rc < 0)
    into->n_lists = 0;
  if (into->n_lists == 0)
    return refuse (error, into->tls->crl_file, rc < 0 ? gnutls.strerror (rc) : "no list in it");
  g_autofree char *why = curator_tls_credentials_dup_stale (into);
  return why == NULL || CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT, "%s", why);
}

static gboolean
has_signed (gnutls_x509_crt_t ca, gconstpointer list)
{
  unsigned status = 0;
  return gnutls.x509_crl_verify ((gnutls_x509_crl_t) list, &ca, 1, 0, &status) >= 0 && status == 0;
}

static gboolean
is_revoked (gnutls_x509_crt_t ca, gconstpointer credentials)
{
  return curator_tls_credentials_have_revoked (credentials, ca);
}

static gboolean
load_lists (CuratorTlsCredentials *into, GError **error)
{
  if (into->tls->crl_file == NULL)
    return TRUE;
  if (!import_lists (into, error))
    return FALSE;
  for (unsigned i = 0; i < into->n_lists; i++) {
    /* Several CAs may have the same name, while a key is replaced. */
    g_autoptr (GPtrArray) signers = pick (trusted_by (into), has_signed, into->lists[i]);
    if (signers->len == 0) {
      g_autofree char *why = describe_list (
          into, into->lists[i], "is not signed by one of the CAs that may sign lists", -1);
      return CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT, "%s", why);
    }
  }
  /* GnuTLS asks no list about a CA that it trusts. */
  g_autoptr (GPtrArray) revoked = pick (trusted_by (into), is_revoked, into);
  distrust (into, revoked);
  return TRUE;
}

/* The name to show: a URI may have the PIN. */
static const char *
shown (const CuratorTls *tls)
{
  return tls->is_token ? "the certificate of the PKCS#11 token" : tls->certificate;
}

gint64
curator_tls_expiry_of (gconstpointer der)
{
  gnutls_x509_crt_t certificate;

  gnutls.x509_crt_init (&certificate);
  const int read = gnutls.x509_crt_import (certificate, der, GNUTLS_X509_FMT_DER);
  const time_t end = read < 0 ? 0 : gnutls.x509_crt_get_expiration_time (certificate);
  gnutls.x509_crt_deinit (certificate);
  return end;
}

gint64
curator_tls_credentials_get_expiry (const CuratorTlsCredentials *credentials)
{
  gnutls_datum_t der;
  const int rc = gnutls.certificate_get_crt_raw (credentials->loaded, 0, 0, &der);
  return rc < 0 ? 0 : curator_tls_expiry_of (&der);
}

static int
load_pair (CuratorTlsCredentials *into, const gnutls_datum_t *certificate,
           const gnutls_datum_t *key)
{
  const CuratorTls *tls = into->tls;

  if (tls->is_token)
    return gnutls.certificate_set_x509_key_file2 (into->loaded, tls->certificate, tls->key,
                                                  GNUTLS_X509_FMT_PEM, tls->password, 0);
  if (tls->key != NULL)
    return gnutls.certificate_set_x509_key_mem2 (into->loaded, certificate, key,
                                                 GNUTLS_X509_FMT_PEM, tls->password, 0);
  return gnutls.certificate_set_x509_simple_pkcs12_mem (
      into->loaded, certificate, GNUTLS_X509_FMT_DER, tls->password != NULL ? tls->password : "");
}

static gboolean
refuse_pair (const CuratorTls *tls, int rc, const gnutls_datum_t *pem, GError **error)
{
  const gboolean has_key = !tls->is_token && tls->key != NULL;
  if (has_key && g_strstr_len ((const char *) pem->data, pem->size, "-----BEGIN") == NULL)
    return refuse (error, tls->certificate, "it is no PEM file; PKCS#12 and DER must be converted");
  if (!has_key || rc != GNUTLS_E_DECRYPTION_FAILED)
    return refuse (error, shown (tls), gnutls.strerror (rc));
  return refuse (error, tls->key,
                 tls->password != NULL ? "the key cannot be read with its password"
                                       : "the key cannot be read; it may need a password");
}

static gboolean
load_certificate (CuratorTlsCredentials *into, GError **error)
{
  const CuratorTls *tls = into->tls;

  if (tls->certificate == NULL)
    return TRUE;
  if (tls->is_token
      && !(g_str_has_prefix (tls->certificate, "pkcs11:")
           && g_str_has_prefix (tls->key, "pkcs11:")))
    return refuse (error, shown (tls), "a URI does not begin with \"pkcs11:\"");
  gnutls_datum_t certificate = { 0 };
  gnutls_datum_t key = { 0 };
  gboolean good = tls->is_token
                  || (read_file (tls->certificate, tls->key == NULL, &certificate, error)
                      && (tls->key == NULL || read_file (tls->key, TRUE, &key, error)));
  const int rc = good ? load_pair (into, &certificate, &key) : 0;
  good = good && (rc >= 0 || refuse_pair (tls, rc, &certificate, error));
  wipe (&certificate);
  wipe (&key);
  return good
         && (curator_tls_credentials_get_expiry (into) > time (NULL)
             || refuse (error, shown (tls), "the certificate has expired"));
}

gboolean
curator_tls_check (const CuratorTls *tls, GError **error)
{
  g_autoptr (CuratorTlsCredentials) probe = credentials_new (tls, error);
  return probe != NULL && (tls->ca_file == NULL || load_ca (probe, error))
         && (tls->crl_file == NULL || import_lists (probe, error))
         && load_certificate (probe, error);
}

static void
stamp_files (const CuratorTls *tls, Stamp stamps[N_FILES])
{
  const char *paths[N_FILES] = { tls->ca_file, tls->crl_file, tls->certificate, tls->key };
  struct stat found;

  memset (stamps, 0, N_FILES * sizeof *stamps); /* they are compared as bytes */
  for (int i = 0; i < (tls->is_token ? 2 : N_FILES); i++) {
    if (paths[i] != NULL && stat (paths[i], &found) == 0) {
      stamps[i].device = found.st_dev;
      stamps[i].inode = found.st_ino;
      stamps[i].size = found.st_size;
      stamps[i].changed = found.st_mtim;
    }
  }
}

CuratorTlsCredentials *
curator_tls_credentials_load (const CuratorTls *tls, GError **error)
{
  g_autoptr (CuratorTlsCredentials) credentials = credentials_new (tls, error);

  if (credentials == NULL)
    return NULL;
  stamp_files (tls, credentials->stamps);
  /* Without verification no CA is needed. */
  if ((tls->verify && (!load_ca (credentials, error) || !load_lists (credentials, error)))
      || !load_certificate (credentials, error))
    return NULL;
  return g_steal_pointer (&credentials);
}

void
curator_tls_credentials_free (CuratorTlsCredentials *credentials)
{
  gnutls.certificate_free_credentials (credentials->loaded);
  gnutls.x509_trust_list_deinit (credentials->pinned, 1);
  for (unsigned i = 0; i < credentials->n_lists; i++)
    gnutls.x509_crl_deinit (credentials->lists[i]);
  (*gnutls.free) (credentials->lists);
  g_free (credentials);
}

gboolean
curator_tls_credentials_refresh (CuratorTlsCredentials **credentials, const CuratorTls *tls,
                                 GError **error)
{
  if (*credentials != NULL) {
    Stamp now[N_FILES];
    stamp_files (tls, now);
    if (memcmp (now, (*credentials)->stamps, sizeof now) == 0)
      return TRUE;
  }
  CuratorTlsCredentials *fresh = curator_tls_credentials_load (tls, error);
  if (fresh != NULL) {
    g_clear_pointer (credentials, curator_tls_credentials_free);
    *credentials = fresh;
  }
  return fresh != NULL;
}

gboolean
curator_tls_credentials_have_revoked (const CuratorTlsCredentials *credentials,
                                      gpointer certificate)
{
  return credentials->n_lists > 0
         && gnutls.x509_crt_check_revocation (certificate, credentials->lists, credentials->n_lists)
                != 0;
}

static gboolean
is_shown (gnutls_x509_crt_t certificate, gconstpointer der)
{
  return gnutls.x509_crt_equals2 (certificate, der) != 0;
}

int
curator_tls_credentials_verify (const CuratorTlsCredentials *credentials, gpointer session,
                                gpointer wanted, guint n_wanted, guint *status)
{
  const gnutls_datum_t *certificate = gnutls.certificate_get_peers (session, NULL);
  g_autoptr (GPtrArray) pinned = pick (credentials->pinned, is_shown, certificate);

  return pinned->len == 0
             ? gnutls.certificate_verify_peers (session, wanted, n_wanted, status)
             : gnutls.x509_trust_list_verify_crt2 (credentials->pinned,
                                                   (gnutls_x509_crt_t *) pinned->pdata, 1, wanted,
                                                   n_wanted, 0, status, NULL);
}

gpointer
curator_tls_credentials_get (const CuratorTlsCredentials *credentials)
{
  return credentials->loaded;
}

#else

CURATOR_STUB (gboolean, curator_tls_is_built_in, (void), FALSE)
CURATOR_STUB (gboolean, curator_tls_load, (GError * *error),
              curator_channel_unsupported (error, "TLS"))
CURATOR_STUB (gboolean, curator_tls_check, (const CuratorTls *tls, GError **error),
              curator_channel_unsupported (error, "TLS"))

CuratorTlsCredentials *
curator_tls_credentials_load (const CuratorTls *tls, GError **error)
{
  curator_channel_unsupported (error, "TLS");
  return NULL;
}

CURATOR_STUB (void, curator_tls_credentials_free, (CuratorTlsCredentials * credentials), )
CURATOR_STUB (gboolean, curator_tls_credentials_refresh,
              (CuratorTlsCredentials * *credentials, const CuratorTls *tls, GError **error),
              curator_channel_unsupported (error, "TLS"))
CURATOR_STUB (gint64, curator_tls_expiry_of, (gconstpointer der), 0)
CURATOR_STUB (gint64, curator_tls_credentials_get_expiry,
              (const CuratorTlsCredentials *credentials), 0)
CURATOR_STUB (char *, curator_tls_credentials_dup_stale, (const CuratorTlsCredentials *credentials),
              NULL)
CURATOR_STUB (gboolean, curator_tls_credentials_have_revoked,
              (const CuratorTlsCredentials *credentials, gpointer certificate), TRUE)
CURATOR_STUB (int, curator_tls_credentials_verify,
              (const CuratorTlsCredentials *credentials, gpointer session, gpointer wanted,
               guint n_wanted, guint *status),
              -1)
CURATOR_STUB (gpointer, curator_tls_credentials_get, (const CuratorTlsCredentials *credentials),
              NULL)

#endif
