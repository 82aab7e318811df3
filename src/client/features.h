/* What a connection is asked to be and cannot be: encrypted, or authenticated by SASL.
 *
 * libzookeeper has either only if it was built for it, and this version uses neither. A request for one
 * must fail: a connection in clear text is not what was asked for. Pure but for a look at the symbols
 * of the library that is loaded; takes no lock, may be used on any thread.
 */
#ifndef CURATOR_FEATURES_H
#define CURATOR_FEATURES_H

#include <glib.h>

typedef enum
{
  CURATOR_FEATURE_TLS,
  CURATOR_FEATURE_SASL,
  CURATOR_N_FEATURES
} CuratorFeature;

/* Whether the libzookeeper that this process has loaded was built with it. */
gboolean curator_feature_is_built_in (CuratorFeature feature);

/* FALSE with UNSUPPORTED when a server of the connect string is written "tls://host", "ssl://host",
 * "sasl://host", or with one colon in front of more than a port. */
gboolean curator_features_check_connect_string (const char *connect_string, GError **error);

/* FALSE with UNSUPPORTED for schemes that exist only on such connections: "sasl", "x509", "ssl" and
 * "tls". */
gboolean curator_features_check_auth_scheme (const char *scheme, GError **error);

#endif
