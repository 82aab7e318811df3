/* Names to numbers: what libzookeeper is given instead of host names. */
#ifndef CURATOR_RESOLVE_H
#define CURATOR_RESOLVE_H

#include "client/connect_string.h"

#include <gio/gio.h>

/* @locality the session lane; blocks until cancelled. "address:port,…" with an odd number of
 * entries, shuffled by the library; NULL with an error when no host could be resolved. */
char *curator_resolve (const CuratorConnectString *servers, GCancellable *cancellable,
                       GError **error);

#endif
