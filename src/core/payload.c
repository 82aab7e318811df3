/* Payloads of lock nodes; see payload.h.
 *
 * Mirrors CreateBuilderImpl.compressed. Threads: any; no lock.
 */
#include "core/payload.h"

#include "base/gzip.h"
#include "core/client-record.h"

GBytes *
curator_payload_new (const void *data, gsize length)
{
  return g_bytes_new (data, data != NULL ? MIN (length, CURATOR_MAX_PAYLOAD + 1) : 0);
}

gboolean
curator_check_payload (gsize length, GError **error)
{
  return length <= CURATOR_MAX_PAYLOAD
         || CURATOR_REFUSE (error, CURATOR_ERROR_LIMIT_EXCEEDED,
                            "the payload of a lock node has at most %d bytes", CURATOR_MAX_PAYLOAD);
}

GBytes *
curator_payload_pack (const CuratorClient *client, GBytes *plain)
{
  if (plain == NULL)
    return NULL;
  return client->settings.compression ? curator_gzip (plain) : g_bytes_ref (plain);
}

GBytes *
curator_payload_unpack (const CuratorClient *client, GBytes *read)
{
  if (read == NULL)
    return NULL;
  gsize length;
  const void *data = g_bytes_get_data (read, &length);
  GBytes *plain =
      client->settings.compression ? curator_gunzip (data, length, CURATOR_MAX_PAYLOAD) : NULL;
  return plain != NULL ? plain : g_bytes_ref (read);
}
