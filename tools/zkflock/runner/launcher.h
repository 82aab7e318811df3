#pragma once

#include "runner/cgroup.h"

#include <glib.h>
#include <sys/types.h>

typedef struct
{
  pid_t pid; /* also the id of its process group */
  gboolean is_in_cgroup;
  int grant_fd;
  int error_fd;
} Launcher;

/* Only from the main thread: PDEATHSIG fires when the thread that forked ends. Begins in the
 * control group if there is one and the kernel can do that. FALSE with errno. */
gboolean launcher_start (Launcher *launcher, char *const *argv, const Cgroup *cgroup);
/* Lets it run the command, without waiting for that: it may be stopped. environment: "NAME=value"
 * to set, "NAME" to unset. */
void launcher_go (Launcher *launcher, const char *const *environment);
/* When the process has ended: 0, or the errno of the exec. */
int launcher_close (Launcher *launcher);
/* Ends and reaps the process without running the command. */
void launcher_dismiss (Launcher *launcher);
