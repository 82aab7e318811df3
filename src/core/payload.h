/* Payloads of lock nodes: their size, and their form on the wire. Threads: any; no lock. */
#pragma once

#include "curator/client.h"

/* A copy. Of a payload that is too long, only as much as curator_check_payload() needs to see. */
GBytes *curator_payload_new (const void *data, gsize length);
/* Whether a lock node may have a payload of that length: LIMIT_EXCEEDED if not. */
gboolean curator_check_payload (gsize length, GError **error);

/* What the client writes for a payload, and the payload that it has read. With
 * curator_client_set_compression() both are in gzip. Without it both are the argument; so is what
 * does not decompress to a payload of a permitted size. NULL gives NULL. */
GBytes *curator_payload_pack (const CuratorClient *client, GBytes *plain);
GBytes *curator_payload_unpack (const CuratorClient *client, GBytes *read);
