#include "shared.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

gpointer
shared_map (const char *directory, const char *name, gsize size)
{
  g_autofree char *path = g_build_filename (directory, name, NULL);
  const int fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void *memory = MAP_FAILED;
  if (fd >= 0 && ftruncate (fd, (off_t) size) == 0)
    memory = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd >= 0)
    close (fd);
  return memory != MAP_FAILED ? memory : NULL;
}
