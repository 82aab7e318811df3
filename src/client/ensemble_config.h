/* The configuration of an ensemble, as its servers keep it in /zookeeper/config.
 *
 * Mirrors EnsembleTracker.configToConnectionString. Pure; any thread.
 */
#pragma once

#include <glib.h>

/* Where clients connect to: "host:port,…", transfer full; NULL: nowhere. ignored: the lines of
 * servers that say nothing of it, one a line, or NULL.
 * secure_port: 0 for connections in clear text. Otherwise that of servers whose line has no port
 * for TLS; -1: these are ignored. */
char *curator_ensemble_config_parse (const char *text, gsize length, int secure_port,
                                     char **ignored);
