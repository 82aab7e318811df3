/* See crashes.h. Threads: any; the handler calls only what is safe in one. */
#include "crashes.h"

#include <glib.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const int crashes[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM };
static const char *watched;

static void
name_the_call (int number)
{
  static const char text[] = "\ncrashed or hung: ";
  G_GNUC_UNUSED ssize_t n = write (STDERR_FILENO, text, sizeof text - 1);
  n = write (STDERR_FILENO, watched, strlen (watched));
  n = write (STDERR_FILENO, "\n", 1);
  signal (number, SIG_DFL);
  raise (number);
}

void
crashes_watch (const char *text)
{
  watched = text;
  for (gsize i = 0; i < G_N_ELEMENTS (crashes); i++)
    signal (crashes[i], name_the_call);
}
