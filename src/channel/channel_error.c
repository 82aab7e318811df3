/* Errors of a secured connection, and of a machine that is short of processes and threads,
 * descriptors, memory, space or random numbers. Threads: any; no lock.
 */
#include "channel/channel_error.h"

#include "base/tag.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>

gboolean
curator_is_shortage (int error)
{
  return error == EAGAIN || error == EMFILE || error == ENFILE || error == ENOMEM
         || error == ENOBUFS || error == ENOSPC || error == EDQUOT;
}

/* Only descriptors have a single limit. Which of the others was reached, nobody can tell. */
char *
curator_shortage_describe (int error)
{
  const char *text = g_strerror (error);
  struct rlimit limit;

  if (error == EMFILE && getrlimit (RLIMIT_NOFILE, &limit) == 0)
    return g_strdup_printf ("%s: more than %" G_GUINT64_FORMAT
                            " descriptors (ulimit -n, LimitNOFILE=)",
                            text, (guint64) limit.rlim_cur);
  if (error == EAGAIN)
    return g_strdup_printf ("%s: no more processes, threads or timers (one of ulimit -u and -i, "
                            "pids.max, TasksMax=)",
                            text);
  if (error == ENOMEM)
    return g_strdup_printf ("%s: no more memory (one of ulimit -v and -d, memory.max, MemoryMax=)",
                            text);
  return g_strdup (text);
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
