#include "scratch.h"

#include <glib/gstdio.h>

#define IN_MEMORY "/dev/shm"

char *
scratch_new (const char *name)
{
  g_autofree char *file = g_strdup_printf ("curator-%s-XXXXXX", name);
  char *directory = g_build_filename (IN_MEMORY, file, NULL);
  if (g_mkdtemp (directory) == NULL) {
    g_free (directory);
    directory = g_dir_make_tmp (file, NULL);
  }
  return directory;
}

void
scratch_remove (char *directory)
{
  GDir *dir = g_dir_open (directory, 0, NULL);
  const char *name;
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL) {
    g_autofree char *path = g_build_filename (directory, name, NULL);
    g_unlink (path);
  }
  g_clear_pointer (&dir, g_dir_close);
  g_rmdir (directory);
  g_free (directory);
}
