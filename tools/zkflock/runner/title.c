/* The name under which tools such as ps and pkill know a process. Helpers do not share zkflock's:
 * who kills zkflock by name must not kill those who clean up after it. */
#include "runner/title.h"

#include <glib.h>
#include <string.h>
#include <sys/prctl.h>

static char *arguments;
static gsize arguments_length;

void
title_init (int argc, char **argv)
{
  if (argc > 0) {
    arguments = argv[0];
    arguments_length = (gsize) (argv[argc - 1] - argv[0]) + strlen (argv[argc - 1]) + 1;
  }
}

void
title_set (const char *name)
{
  prctl (PR_SET_NAME, name);
  if (arguments_length > 0) {
    memset (arguments, 0, arguments_length);
    g_strlcpy (arguments, name, arguments_length);
  }
}
