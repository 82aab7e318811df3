/* Random UUIDs.
 *
 * Mirrors java.util.UUID.randomUUID. Threads: any; nothing is shared, no lock.
 *
 * NOTES: after a fork(), g_uuid_string_random () gives parent and child the same UUIDs. Their nodes
 * would have the same names, and each would delete the other's.
 */
#include "nodes/uuid.h"

char *
curator_uuid_new (CuratorZkOps *ops)
{
  static const char hex[] = "0123456789abcdef";
  guint8 bytes[16];
  char *uuid = g_malloc (2 * sizeof bytes + 4 + 1);
  char *to = uuid;

  ops->random (ops, bytes, sizeof bytes);
  bytes[6] = 0x40 | (bytes[6] & 0x0f);
  bytes[8] = 0x80 | (bytes[8] & 0x3f);
  for (gsize i = 0; i < sizeof bytes; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10)
      *to++ = '-';
    *to++ = hex[bytes[i] >> 4];
    *to++ = hex[bytes[i] & 0x0f];
  }
  *to = '\0';
  return uuid;
}
