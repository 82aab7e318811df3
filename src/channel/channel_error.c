/* Errors of a secured connection. Threads: any; no lock. */
#include "channel/channel_error.h"

#include <errno.h>
#include <string.h>

void
curator_channel_set_errno (GError **error, const char *what, int number)
{
  g_set_error (error, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_CONNECT, "%s: %s", what,
               g_strerror (number));
}

gboolean
curator_channel_unsupported (GError **error, const char *what)
{
  g_set_error (error, CURATOR_ERROR, CURATOR_ERROR_UNSUPPORTED, "curator was built without %s",
               what);
  return FALSE;
}
