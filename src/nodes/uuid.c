/* Random UUIDs.
 *
 * Mirrors java.util.UUID.randomUUID. Threads: any; guarded by the client's mutex.
 *
 * NOTES: after a fork(), g_uuid_string_random () gives parent and child the same UUIDs. Their nodes
 * would have the same names, and each would delete the other's.
 */
#include "nodes/uuid.h"

#include "base/threads.h"
#include "core/monitor.h"

#include <string.h>

#define N_BYTES 16
#define N_READ  16 /* the random numbers of so many UUIDs are read at once */

/* Of a client. */
typedef struct
{
  guint fork_generation CURATOR_GUARDED;
  guint n_left CURATOR_GUARDED;
  guint8 bytes[N_READ][N_BYTES] CURATOR_GUARDED;
} Pool;

static CURATOR_LOCKED const guint8 *
take_random (CuratorClient *client)
{
  static const CuratorAttachmentType type = { sizeof (Pool), NULL };
  Pool *pool = curator_attached (&client->attached, &type);

  if (pool->n_left == 0 || pool->fork_generation != curator_fork_generation ()) {
    client->ops->random (client->ops, pool->bytes[0], sizeof pool->bytes);
    pool->fork_generation = curator_fork_generation ();
    pool->n_left = N_READ;
  }
  return pool->bytes[--pool->n_left];
}

void
curator_uuid_write (CuratorClient *client, char uuid[CURATOR_UUID_SIZE])
{
  static const char hex[] = "0123456789abcdef";
  guint8 bytes[N_BYTES];
  char *to = uuid;

  memcpy (bytes, take_random (client), sizeof bytes);
  bytes[6] = 0x40 | (bytes[6] & 0x0f);
  bytes[8] = 0x80 | (bytes[8] & 0x3f);
  for (gsize i = 0; i < sizeof bytes; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10)
      *to++ = '-';
    *to++ = hex[bytes[i] >> 4];
    *to++ = hex[bytes[i] & 0x0f];
  }
  *to = '\0';
}
