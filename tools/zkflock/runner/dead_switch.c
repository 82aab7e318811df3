/* The kernel kills a process group when this process ends.
 *
 * A process may be killed together with all those that watch it. So the process holds both ends of
 * a pipe, whose signal for "the writer has gone" is SIGKILL to the group: the kernel sends it while
 * it closes the descriptors of a process that has ended, whatever it was that ended it. The kernel
 * keeps the group itself, not its number, which may be reused. As with kill(), processes of another
 * user are not reached, nor is what has left the group.
 */
#include "runner/dead_switch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* The reader must still be open when the writer is closed. In which order the kernel closes them is
 * its own affair, so there are two pipes: in the second one the reader's number is the higher
 * one. */
static gboolean
set_one (pid_t group, gboolean reader_last)
{
  const struct f_owner_ex owner = { .type = F_OWNER_PGRP, .pid = group };
  int ends[2];

  if (pipe2 (ends, O_CLOEXEC) != 0)
    return FALSE;
  if (reader_last) {
    const int reader = fcntl (ends[0], F_DUPFD_CLOEXEC, ends[1] + 1);
    close (ends[0]);
    ends[0] = reader;
    if (reader < 0) {
      errno = EMFILE; /* also where the number alone is above the limit */
      return FALSE;
    }
  }
  return fcntl (ends[0], F_SETOWN_EX, &owner) == 0 && fcntl (ends[0], F_SETSIG, SIGKILL) == 0
         && fcntl (ends[0], F_SETFL, O_ASYNC) == 0;
}

gboolean
dead_switch_set (pid_t group)
{
  return set_one (group, FALSE) && set_one (group, TRUE);
}
