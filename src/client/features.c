/* Refuses connections with TLS or SASL; see features.h. Threads: any; no lock. */
#include "client/features.h"

#include "curator/error.h"

#include <dlfcn.h>
#include <string.h>

static const struct
{
  const char *name;
  const char *symbol; /* exported by a libzookeeper built with it */
} features[CURATOR_N_FEATURES] = {
  [CURATOR_FEATURE_TLS] = { "TLS", "zookeeper_init_ssl" },
  [CURATOR_FEATURE_SASL] = { "SASL", "zookeeper_init_sasl" },
};

static const struct
{
  const char *name;
  CuratorFeature feature;
} schemes[] = {
  { "ssl", CURATOR_FEATURE_TLS },
  { "tls", CURATOR_FEATURE_TLS },
  { "x509", CURATOR_FEATURE_TLS },
  { "sasl", CURATOR_FEATURE_SASL },
};

gboolean
curator_feature_is_built_in (CuratorFeature feature)
{
  return dlsym (RTLD_DEFAULT, features[feature].symbol) != NULL;
}

static gboolean
refuse (CuratorFeature feature, const char *what, GError **error)
{
  const gboolean built_in = curator_feature_is_built_in (feature);
  g_set_error (error, CURATOR_ERROR, CURATOR_ERROR_UNSUPPORTED, "%s asks for %s, %s", what,
               features[feature].name,
               built_in ? "which this version of curator does not support"
                        : "which this libzookeeper was built without");
  return FALSE;
}

/* A host may have that name: then only a port follows the colon. */
static gboolean
is_requested (const char *server, const char *name)
{
  const gsize length = strlen (name);
  if (g_ascii_strncasecmp (server, name, length) != 0 || server[length] != ':')
    {
      return FALSE;
    }
  const char *rest = server + length + 1;
  const gsize port = strspn (rest, "0123456789");
  return g_str_has_prefix (rest, "//") || strchr (",/ \t", rest[port]) == NULL;
}

gboolean
curator_features_check_connect_string (const char *connect_string, GError **error)
{
  const char *server = connect_string;

  while (server != NULL)
    {
      server += strspn (server, ", \t");
      for (gsize i = 0; i < G_N_ELEMENTS (schemes); i++)
        {
          if (is_requested (server, schemes[i].name))
            {
              return refuse (schemes[i].feature, "the connect string", error);
            }
        }
      server = strchr (server, ',');
    }
  return TRUE;
}

gboolean
curator_features_check_auth_scheme (const char *scheme, GError **error)
{
  for (gsize i = 0; i < G_N_ELEMENTS (schemes); i++)
    {
      if (g_ascii_strcasecmp (scheme, schemes[i].name) == 0)
        {
          return refuse (schemes[i].feature, "an authentication scheme", error);
        }
    }
  return TRUE;
}
