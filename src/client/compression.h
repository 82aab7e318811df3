/* Payloads in gzip (GzipCompressionProvider); curator_client_set_compression() switches it on.
 *
 * Threads: any; no lock.
 */
#ifndef CURATOR_COMPRESSION_H
#define CURATOR_COMPRESSION_H

#include "client/client-private.h"

/* Whether it begins as a gzip stream. */
gboolean curator_is_gzip (const void *data, gsize length);
GBytes *curator_gzip (GBytes *plain);
/* NULL unless data is one whole gzip stream of at most limit bytes of contents. It never writes more
 * than that, however much the stream would expand to. */
GBytes *curator_gunzip (const void *data, gsize length, gsize limit);

/* What the client writes for a payload, and the payload that it has read. Without compression both are
 * the argument; so is what does not decompress to a payload of a permitted size. NULL gives NULL. */
GBytes *curator_payload_pack (const CuratorClient *client, GBytes *plain);
GBytes *curator_payload_unpack (const CuratorClient *client, GBytes *read);

#endif
