/* The process that becomes the command.
 *
 * It is forked before any thread exists, so that nothing of ours can be in an undefined state in
 * it, and sits on a pipe until the lock is granted. Then it gets its environment and execs. It is
 * killed by the kernel when we die (PDEATHSIG), whether it is waiting or the command by then.
 */
#ifndef ZKFLOCK_LAUNCHER_H
#define ZKFLOCK_LAUNCHER_H

#include <glib.h>
#include <sys/types.h>

typedef struct
{
  pid_t pid; /* also the id of its process group */
  int grant_fd;
  int error_fd;
} Launcher;

/* Only from the main thread: PDEATHSIG fires when the thread that forked ends. */
gboolean launcher_start (Launcher *launcher, char *const *argv);
/* Runs the command. environment: "NAME=value" to set, "NAME" to unset. Returns 0, or the errno of
 * the exec; the process has ended then. */
int launcher_go (Launcher *launcher, const char *const *environment);
/* The lock was not granted: it goes, and is reaped. */
void launcher_dismiss (Launcher *launcher);

#endif
