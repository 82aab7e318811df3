/* Resolves the host names of a connect string for libzookeeper (HostProvider). */
#ifndef CURATOR_RESOLVE_H
#define CURATOR_RESOLVE_H

#include "client/connect_string.h"

#include <gio/gio.h>

/* Runs on the session lane; blocks until resolved or cancelled. Returns "address:port,…" with an
 * odd number of entries, or NULL with an error if no host could be resolved. */
char *curator_resolve (const CuratorConnectString *servers, GCancellable *cancellable,
                       GError **error);

#endif
