/* The first message on an election connection (QuorumCnxManager.InitialMessage): protocol version
 * and server id, eight bytes each, then a string, the address for calling back. */
#include "proxy-private.h"

#include "net.h"

#include <string.h>

#define HEAD 20

guint
proxy_greeting_length (const GByteArray *in)
{
  const gint64 text = in->len >= HEAD ? net_get_int32 (in->data + HEAD - 4) : 0;
  return in->len >= HEAD && in->len >= HEAD + text ? (guint) (HEAD + text) : 0;
}

GByteArray *
proxy_greeting_with (const guint8 *greeting, const char *address)
{
  GByteArray *bytes = g_byte_array_new ();
  g_byte_array_append (bytes, greeting, HEAD - 4);
  net_put_buffer (bytes, address, (gint32) strlen (address));
  return bytes;
}
