/* TLS and SASL, as the options and the environment set them up. */
#include "base/secure.h"

#include "base/secret.h"

#include <string.h>

#define TLS_PREFIX "tls://"

GOptionEntry *
secure_new_entries (Secure *secure)
{
  const GOptionEntry entries[] = {
    { "tls-ca", 0, 0, G_OPTION_ARG_FILENAME, &secure->tls_ca,
      "TLS: the CAs to trust instead of the system's", "FILE" },
    { "tls-crl", 0, 0, G_OPTION_ARG_FILENAME, &secure->tls_crl,
      "TLS: the CAs' list of revoked certificates; none is looked up without", "FILE" },
    { "tls-cert", 0, 0, G_OPTION_ARG_FILENAME, &secure->tls_cert, "TLS: our certificate", "FILE" },
    { "tls-key", 0, 0, G_OPTION_ARG_FILENAME, &secure->tls_key,
      "TLS: its key, if not in the same file", "FILE" },
    { "tls-key-password-file", 0, 0, G_OPTION_ARG_FILENAME, &secure->tls_key_password_file,
      "TLS: the password of the key; mode 0600", "FILE" },
    { "tls-server-name", 0, 0, G_OPTION_ARG_FILENAME, &secure->tls_server_name,
      "TLS: the name in the servers' certificates, if not the host's", "NAME" },
    { "sasl", 0, 0, G_OPTION_ARG_FILENAME, &secure->sasl_mechanism,
      "Authenticate by SASL: digest or gssapi", "WHAT" },
    { "sasl-user", 0, 0, G_OPTION_ARG_FILENAME, &secure->sasl_user, "SASL digest: the user",
      "NAME" },
    { "sasl-password-file", 0, 0, G_OPTION_ARG_FILENAME, &secure->sasl_password_file,
      "SASL digest: the password; mode 0600", "FILE" },
    { "sasl-server-principal", 0, 0, G_OPTION_ARG_FILENAME, &secure->sasl_server_principal,
      "SASL gssapi: the servers' principal (zookeeper/HOST)", "SERVICE[/NAME]" },
    { NULL },
  };
  return g_memdup (entries, sizeof entries);
}

/* Fills in the value of the environment where there is none. */
static void
fill_in (char **value, const char *name)
{
  const char *text = g_getenv (name);

  if (*value == NULL && text != NULL && *text != '\0')
    *value = g_strdup (text);
}

static void
fill_in_all (Secure *secure)
{
  /* A key of the environment belongs to the certificate of the environment. */
  if (secure->tls_cert == NULL)
    {
      fill_in (&secure->tls_cert, "ZKFLOCK_TLS_CERT");
      fill_in (&secure->tls_key, "ZKFLOCK_TLS_KEY");
      fill_in (&secure->tls_key_password_file, "ZKFLOCK_TLS_KEY_PASSWORD_FILE");
    }
  fill_in (&secure->tls_ca, "ZKFLOCK_TLS_CA");
  fill_in (&secure->tls_crl, "ZKFLOCK_TLS_CRL");
  fill_in (&secure->tls_server_name, "ZKFLOCK_TLS_SERVER_NAME");
  fill_in (&secure->sasl_mechanism, "ZKFLOCK_SASL");
  /* What is set for the other mechanism does no harm. */
  if (g_strcmp0 (secure->sasl_mechanism, "gssapi") != 0)
    {
      fill_in (&secure->sasl_user, "ZKFLOCK_SASL_USER");
      fill_in (&secure->sasl_password_file, "ZKFLOCK_SASL_PASSWORD_FILE");
    }
  if (g_strcmp0 (secure->sasl_mechanism, "digest") != 0)
    fill_in (&secure->sasl_server_principal, "ZKFLOCK_SASL_SERVER_PRINCIPAL");
}

static void
take_default (char **value, char **from)
{
  if (*value == NULL)
    *value = g_steal_pointer (from);
}

/* By the same rules as the environment. */
static void
take_defaults (Secure *secure, Secure *from)
{
  if (secure->tls_cert == NULL)
    {
      take_default (&secure->tls_cert, &from->tls_cert);
      take_default (&secure->tls_key, &from->tls_key);
      take_default (&secure->tls_key_password_file, &from->tls_key_password_file);
    }
  take_default (&secure->tls_ca, &from->tls_ca);
  take_default (&secure->tls_crl, &from->tls_crl);
  take_default (&secure->tls_server_name, &from->tls_server_name);
  take_default (&secure->sasl_mechanism, &from->sasl_mechanism);
  if (g_strcmp0 (secure->sasl_mechanism, "gssapi") != 0)
    {
      take_default (&secure->sasl_user, &from->sasl_user);
      take_default (&secure->sasl_password_file, &from->sasl_password_file);
    }
  if (g_strcmp0 (secure->sasl_mechanism, "digest") != 0)
    take_default (&secure->sasl_server_principal, &from->sasl_server_principal);
}

static const char *
check_tls (const Secure *secure)
{
  if (secure->tls_cert != NULL)
    return NULL;
  return secure->tls_key != NULL                 ? "--tls-key needs --tls-cert"
         : secure->tls_key_password_file != NULL ? "--tls-key-password-file needs --tls-cert"
                                                 : NULL;
}

static const char *
check_sasl (const Secure *secure)
{
  const gboolean has_login = secure->sasl_user != NULL || secure->sasl_password_file != NULL;

  switch (secure->sasl)
    {
    case SASL_DIGEST:
      return secure->sasl_user == NULL || secure->sasl_password_file == NULL
                 ? "--sasl=digest needs --sasl-user and --sasl-password-file"
             : secure->sasl_server_principal != NULL
                 ? "--sasl-server-principal applies to --sasl=gssapi only"
                 : NULL;
    case SASL_GSSAPI:
      return has_login ? "--sasl-user and --sasl-password-file apply to --sasl=digest only: gssapi "
                         "uses the tickets of kinit"
                       : NULL;
    case SASL_NONE:
    default:
      return has_login || secure->sasl_server_principal != NULL
                 ? "--sasl-user, --sasl-password-file and --sasl-server-principal need --sasl"
                 : NULL;
    }
}

/* "SERVICE" or "SERVICE/NAME". */
static const char *
check_principal (const char *principal)
{
  const char *slash = principal != NULL ? strchr (principal, '/') : NULL;

  return principal != NULL
                 && (*principal == '\0' || *principal == '/' || strchr (principal, '@') != NULL
                     || (slash != NULL && (slash[1] == '\0' || strchr (slash + 1, '/') != NULL)))
             ? "--sasl-server-principal takes SERVICE or SERVICE/NAME, without a realm"
             : NULL;
}

static gboolean
has_tls_prefix (const char *hosts)
{
  return hosts != NULL
         && g_ascii_strncasecmp (hosts + strspn (hosts, " \t"), TLS_PREFIX, strlen (TLS_PREFIX))
                == 0;
}

char *
secure_settle (Secure *secure, Secure *defaults, const char *hosts)
{
  fill_in_all (secure);
  take_defaults (secure, defaults);
  /* An option about TLS asks for TLS: it is never ignored for a connection in clear text. */
  secure->is_tls = secure->tls_ca != NULL || secure->tls_crl != NULL || secure->tls_cert != NULL
                   || secure->tls_server_name != NULL || has_tls_prefix (hosts);
  const char *mechanism = secure->sasl_mechanism;
  secure->sasl = g_strcmp0 (mechanism, "digest") == 0   ? SASL_DIGEST
                 : g_strcmp0 (mechanism, "gssapi") == 0 ? SASL_GSSAPI
                                                        : SASL_NONE;
  if (mechanism != NULL && secure->sasl == SASL_NONE)
    {
      g_autofree char *shown = curator_escape_name (mechanism, -1);
      return g_strdup_printf ("--sasl is one of digest, gssapi, not \"%s\"", shown);
    }
  const char *mistake = check_tls (secure);
  mistake = mistake != NULL ? mistake : check_sasl (secure);
  mistake = mistake != NULL ? mistake : check_principal (secure->sasl_server_principal);
  return g_strdup (mistake);
}

void
secure_clear (Secure *secure)
{
  char **const strings[] = { &secure->tls_ca,
                             &secure->tls_crl,
                             &secure->tls_cert,
                             &secure->tls_key,
                             &secure->tls_key_password_file,
                             &secure->tls_server_name,
                             &secure->sasl_mechanism,
                             &secure->sasl_user,
                             &secure->sasl_password_file,
                             &secure->sasl_server_principal };
  for (gsize i = 0; i < G_N_ELEMENTS (strings); i++)
    g_clear_pointer (strings[i], g_free);
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

  if (secure->tls_key_password_file != NULL)
    {
      password = secret_read_password (secure->tls_key_password_file, "key password file", error);
      if (password == NULL)
        return FALSE;
    }
  const gboolean set = curator_tls_set_certificate_files (
      tls, secure->tls_cert, secure->tls_key != NULL ? secure->tls_key : secure->tls_cert, password,
      error);
  secret_free (password);
  return set;
}

gboolean
secure_set_tls (const Secure *secure, CuratorClient *client, GError **error)
{
  g_autoptr (CuratorTls) tls = curator_tls_new ();

  if ((secure->tls_ca != NULL && !curator_tls_set_ca_file (tls, secure->tls_ca, error))
      || !curator_tls_set_crl_file (tls, secure->tls_crl, error)
      || (secure->tls_cert != NULL && !set_certificate (secure, tls, error)))
    {
      return FALSE;
    }
  curator_tls_set_server_name (tls, secure->tls_server_name);
  return curator_client_set_tls (client, tls, error);
}

static gboolean
set_digest (const Secure *secure, CuratorClient *client, GError **error)
{
  char *password = secret_read_password (secure->sasl_password_file, "SASL password file", error);
  const gboolean set =
      password != NULL
      && curator_client_set_sasl_digest (client, secure->sasl_user, password, error);
  secret_free (password);
  return set;
}

static gboolean
set_gssapi (const Secure *secure, CuratorClient *client, GError **error)
{
  g_auto (GStrv) parts = secure->sasl_server_principal != NULL
                             ? g_strsplit (secure->sasl_server_principal, "/", 2)
                             : g_new0 (char *, 2);
  return curator_client_set_sasl_gssapi (client, parts[0], parts[0] != NULL ? parts[1] : NULL,
                                         error);
}

gboolean
secure_set_sasl (const Secure *secure, CuratorClient *client, GError **error)
{
  return (secure->sasl != SASL_DIGEST || set_digest (secure, client, error))
         && (secure->sasl != SASL_GSSAPI || set_gssapi (secure, client, error));
}
