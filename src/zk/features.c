/* Refuses requests for TLS or SASL that are not fulfilled; see features.h. Threads: any; no
 * lock. */
#include "zk/features.h"

#include "channel/channel_sasl.h"
#include "channel/tls_credentials.h"
#include "curator/error.h"

#include <string.h>

static const char *const features[CURATOR_N_FEATURES] = {
  [CURATOR_FEATURE_TLS] = "TLS",
  [CURATOR_FEATURE_SASL] = "SASL",
};

static const struct
{
  const char *name;
  CuratorFeature feature;
  const char *instead;
} schemes[] = {
  { "ssl", CURATOR_FEATURE_TLS, "write tls://host:port" },
  { "tls", CURATOR_FEATURE_TLS, "write tls://host:port" },
  { "x509", CURATOR_FEATURE_TLS, "set a certificate with curator_client_set_tls()" },
  { "sasl", CURATOR_FEATURE_SASL,
    "call curator_client_set_sasl_digest() or curator_client_set_sasl_gssapi()" },
};

gboolean
curator_feature_is_built_in (CuratorFeature feature)
{
  return feature == CURATOR_FEATURE_TLS ? curator_tls_is_built_in () : curator_sasl_is_built_in ();
}

static gboolean
refuse (gsize scheme, const char *what, GError **error)
{
  const CuratorFeature feature = schemes[scheme].feature;
  const gboolean built_in = curator_feature_is_built_in (feature);
  g_set_error (error, CURATOR_ERROR, CURATOR_ERROR_UNSUPPORTED, "%s asks for %s%s%s", what,
               features[feature], built_in ? ": " : ", which curator was built without",
               built_in ? schemes[scheme].instead : "");
  return FALSE;
}

/* "tls://" is how it is written. */
static gboolean
is_supported (gsize scheme, const char *server)
{
  return strcmp (schemes[scheme].name, "tls") == 0 && g_str_has_prefix (server + 3, "://")
         && curator_feature_is_built_in (CURATOR_FEATURE_TLS);
}

/* A host may have that name: then only a port follows the colon. */
static gboolean
is_requested (const char *server, const char *name)
{
  const gsize length = strlen (name);
  if (g_ascii_strncasecmp (server, name, length) != 0 || server[length] != ':')
    return FALSE;
  const char *rest = server + length + 1;
  const gsize port = strspn (rest, "0123456789");
  return g_str_has_prefix (rest, "//") || strchr (",/ \t", rest[port]) == NULL;
}

gboolean
curator_features_check_connect_string (const char *connect_string, GError **error)
{
  const char *server = connect_string;

  while (server != NULL) {
    server += strspn (server, ", \t");
    for (gsize i = 0; i < G_N_ELEMENTS (schemes); i++)
      if (is_requested (server, schemes[i].name) && !is_supported (i, server))
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
