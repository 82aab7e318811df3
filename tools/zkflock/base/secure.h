#pragma once

#include <curator/curator.h>

typedef enum
{
  SASL_NONE,
  SASL_DIGEST,
  SASL_GSSAPI
} Sasl;

/* The strings are as given, NULL where they are not. */
typedef struct
{
  char *tls_ca;
  char *tls_crl;
  char *tls_cert;
  char *tls_key;
  char *tls_key_password_file;
  char *tls_server_name;
  char *sasl_mechanism;
  char *sasl_user;
  char *sasl_password_file;
  char *sasl_server_principal; /* SERVICE or SERVICE/NAME */

  /* Of secure_settle(). */
  Sasl sasl;
  gboolean is_tls;
} Secure;

/* hosts: the connect string, or NULL for the default. FALSE: there is no such mechanism of SASL. */
gboolean secure_settle (Secure *secure, const char *hosts);

/* The library secures the connection, and knows why there is none. */
gboolean secure_is_used (const Secure *secure);
/* The connection has an identity that can own nodes. */
gboolean secure_has_identity (const Secure *secure);

/* Before the client is started. FALSE with error set: G_IO_ERROR for a file with a password, else
 * as in <curator/tls.h>. */
gboolean secure_set_tls (const Secure *secure, CuratorClient *client, GError **error);
gboolean secure_set_sasl (const Secure *secure, CuratorClient *client, GError **error);
