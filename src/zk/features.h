/* Refuses requests for TLS or SASL that this build does not fulfil.
 *
 * Mirrors nothing. Such a request must fail: the user must not get a connection in clear text
 * instead. Threads: any; no lock.
 */
#pragma once

#include <glib.h>

/* FALSE with UNSUPPORTED if a server of the connect string is written "tls:host", "ssl://host" or
 * "ssl:host"; "x509" and "sasl" likewise; and "tls://host" if TLS was not built. "tls:2181" is a
 * host of that name. */
gboolean curator_features_check_connect_string (const char *connect_string, GError **error);

/* FALSE with UNSUPPORTED for the schemes that are properties of a connection: "sasl", "x509",
 * "ssl", "tls". */
gboolean curator_features_check_auth_scheme (const char *scheme, GError **error);
