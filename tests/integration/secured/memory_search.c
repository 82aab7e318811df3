#include "memory_search.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CHUNK   (1 << 20)
#define LARGEST ((gsize) 64 * CHUNK)

/* Room for a match across the border of two chunks. */
static guint8 chunk[CHUNK + 64];

guint
memory_count_between (gsize from, gsize to, const void *needle, gsize length)
{
  const int memory = open ("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  guint found = 0;

  g_assert (memory >= 0 && length <= sizeof chunk - CHUNK);
  for (gsize at = from; at < to; at += CHUNK) {
    const gssize got = pread (memory, chunk, MIN (to - at, CHUNK + length - 1), (off_t) at);
    for (const guint8 *p = chunk;
         got > 0 && (p = memmem (p, (gsize) (chunk + got - p), needle, length)) != NULL; p++)
      found++;
  }
  close (memory);
  explicit_bzero (chunk, sizeof chunk);
  return found;
}

guint
memory_count (const void *needle, gsize length)
{
  g_autofree char *maps = NULL;
  guint found = 0;

  g_assert (g_file_get_contents ("/proc/self/maps", &maps, NULL, NULL));
  g_auto (GStrv) lines = g_strsplit (maps, "\n", -1);
  for (char **line = lines; *line != NULL; line++) {
    gsize from;
    gsize to;
    char rights[5];
    if (sscanf (*line, "%zx-%zx %4s", &from, &to, rights) != 3 || to - from > LARGEST
        || !g_str_has_prefix (rights, "rw"))
      continue;
    /* The chunk would be found in itself. */
    const gsize begin = (gsize) chunk;
    if (begin < to && begin + sizeof chunk > from) {
      found += memory_count_between (from, MAX (from, begin), needle, length);
      from = MIN (to, begin + sizeof chunk);
    }
    found += memory_count_between (from, to, needle, length);
  }
  return found;
}
