/* Errors of a secured connection, and of a machine that is short of processes and threads,
 * descriptors, memory, space or random numbers. Threads: any; no lock.
 */
#include "channel/channel_error.h"

#include "base/tag.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>

static const struct
{
  int error;
  __rlimit_resource_t resource;
  const char *what;
} limits[] = {
  { EAGAIN, RLIMIT_NPROC, "processes and threads of this user (ulimit -u; pids.max, TasksMax=)" },
  { EMFILE, RLIMIT_NOFILE, "descriptors (ulimit -n, LimitNOFILE=)" },
  { ENOMEM, RLIMIT_AS, "bytes of memory (ulimit -v; memory.max, MemoryMax=)" },
};

gboolean
curator_is_shortage (int error)
{
  return error == EAGAIN || error == EMFILE || error == ENFILE || error == ENOMEM
         || error == ENOBUFS || error == ENOSPC || error == EDQUOT;
}

char *
curator_shortage_describe (int error)
{
  for (gsize i = 0; i < G_N_ELEMENTS (limits); i++) {
    struct rlimit limit;
    if (limits[i].error != error || getrlimit (limits[i].resource, &limit) != 0)
      continue;
    if (limit.rlim_cur == RLIM_INFINITY)
      return g_strdup_printf ("%s: no more %s", g_strerror (error), limits[i].what);
    return g_strdup_printf ("%s: more than %" G_GUINT64_FORMAT " %s", g_strerror (error),
                            (guint64) limit.rlim_cur, limits[i].what);
  }
  return g_strdup (g_strerror (error));
}

gboolean
curator_check_random (GError **error)
{
  char byte;

  return getrandom (&byte, 1, GRND_NONBLOCK) == 1 || errno != EAGAIN
         || CURATOR_REFUSE (error, CURATOR_ERROR_RESOURCES,
                            "the system has no random numbers yet: it has just started");
}

void
curator_channel_set_errno (GError **error, const char *what, int number)
{
  g_autofree char *why = curator_shortage_describe (number);

  if (curator_is_shortage (number))
    g_set_error (error, CURATOR_ERROR, CURATOR_ERROR_RESOURCES, "%s: %s", what, why);
  else
    g_set_error (error, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_CONNECT, "%s: %s", what, why);
}

gboolean
curator_channel_unsupported (GError **error, const char *what)
{
  return CURATOR_REFUSE (error, CURATOR_ERROR_UNSUPPORTED, "curator was built without %s", what);
}
