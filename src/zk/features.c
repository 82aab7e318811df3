/* Refuses requests for TLS or SASL that are not fulfilled; see features.h. Threads: any; no
 * lock. */
#include "zk/features.h"

#include "channel/channel_sasl.h"
#include "channel/tls_credentials.h"
#include "curator/error.h"

#include <string.h>

static const struct
{
  const char *name;
  const char *feature;
  gboolean (*is_built_in) (void);
  const char *instead;
} schemes[] = {
  { "ssl", "TLS", curator_tls_is_built_in, "write tls://host:port" },
  { "tls", "TLS", curator_tls_is_built_in, "write tls://host:port" },
  { "x509", "TLS", curator_tls_is_built_in, "set a certificate with curator_client_set_tls()" },
  { "sasl", "SASL", curator_sasl_is_built_in,
    "call curator_client_set_sasl_digest() or curator_client_set_sasl_gssapi()" },
};

static gboolean
refuse (gsize scheme, const char *what, GError **error)
{
  const gboolean built_in = schemes[scheme].is_built_in ();
  g_set_error (error, CURATOR_ERROR, CURATOR_ERROR_UNSUPPORTED, "%s asks for %s%s%s", what,
               schemes[scheme].feature, built_in ? ": " : ", which curator was built without",
               built_in ? schemes[scheme].instead : "");
  return FALSE;
}

/* A host may have that name: then only a port follows the colon. "tls://" is how it is written. */
static gboolean
is_refused (gsize scheme, const char *server)
{
  const char *name = schemes[scheme].name;
  const gsize length = strlen (name);
  if (g_ascii_strncasecmp (server, name, length) != 0 || server[length] != ':')
    return FALSE;
  const char *rest = server + length + 1;
  if (g_str_has_prefix (rest, "//"))
    return strcmp (name, "tls") != 0 || !curator_tls_is_built_in ();
  return strchr (",/ \t", rest[strspn (rest, "0123456789")]) == NULL;
}

gboolean
curator_features_check_connect_string (const char *connect_string, GError **error)
{
  const char *server = connect_string;

  while (server != NULL) {
    server += strspn (server, ", \t");
    for (gsize i = 0; i < G_N_ELEMENTS (schemes); i++)
      if (is_refused (i, server))
        return refuse (i, "the connect string", error);
    server = strchr (server, ',');
  }
  return TRUE;
}

gboolean
curator_features_check_auth_scheme (const char *scheme, GError **error)
{
  for (gsize i = 0; i < G_N_ELEMENTS (schemes); i++)
    if (g_ascii_strcasecmp (scheme, schemes[i].name) == 0)
      return refuse (i, "an authentication scheme", error);
  return TRUE;
}
