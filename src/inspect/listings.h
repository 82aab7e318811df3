/* The children of nodes that are looked at again and again, known without a request. Guarded by the
 * client's mutex. */
#pragma once

#include "core/client-record.h"

/* The children of the node as the server we are connected to has told them, or NULL: list it. */
GPtrArray *curator_listing_dup (CuratorClient *client, const char *path) CURATOR_LOCKED;

/* Call it before a request that lists the node, and curator_listing_end() with its result. */
void curator_listing_begin (CuratorClient *client, const char *path) CURATOR_LOCKED;
void curator_listing_end (CuratorClient *client, const char *path,
                          GPtrArray *children) CURATOR_LOCKED;
