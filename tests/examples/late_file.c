#define main example_main
int example_main (int argc, char **argv);
#include "examples/fencing_token.c"

#include "late_writer.h"

const gboolean late_resource_stops = FALSE;
static const char *directory;

void
late_open (const char *resource, gboolean stops)
{
  directory = resource;
}

void
late_close (void)
{
}

gboolean
late_write_guarded (const char *name, guint64 token, const char *body)
{
  g_autofree char *path = g_build_filename (directory, name, NULL);
  return write_fenced (path, token, body);
}

gboolean
late_write_plain (const char *name, guint64 token, const char *body)
{
  g_autofree char *path = g_build_filename (directory, name, NULL);
  g_autofree char *text = g_strdup_printf ("%" G_GUINT64_FORMAT " %s\n", token, body);
  return g_file_set_contents (path, text, -1, NULL);
}
