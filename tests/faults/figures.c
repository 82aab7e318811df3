#include "figures.h"

FILE *
figures_open (const char *name)
{
  g_autofree char *usual = g_build_filename (CURATOR_BINARY_DIR, "figures", NULL);
  const char *wanted = g_getenv ("CURATOR_FIGURES");
  const char *folder = wanted != NULL ? wanted : usual;
  g_autofree char *path = g_strconcat (folder, "/", name, ".txt", NULL);
  g_mkdir_with_parents (folder, 0755);
  return fopen (path, "we");
}

void
figures_add (FILE *figures, const char *name, double value)
{
  fprintf (figures, "%s %.3f\n", name, value);
  fflush (figures);
}
