#pragma once

#include <glib.h>
#include <sys/types.h>

typedef struct
{
  int parent_fd;
  int fd; /* -1: there is none, and all calls do nothing */
  char name[32];
} Cgroup;

/* Creates a control group below that of this process, and ends what others of zkflock have left
 * there. Returns FALSE with errno if that is not possible. */
gboolean cgroup_create (Cgroup *cgroup);
/* Forks a child that begins in it; -1 where the kernel cannot do that, or there is no control
 * group. The kernel waits for all processors when it moves a process, and for none here. Only while
 * the process has one thread: the handlers of pthread_atfork() do not run, and the child must soon
 * call exec. */
pid_t cgroup_fork (const Cgroup *cgroup);
/* In a child: closes its descriptors, which keep the control group in use. */
void cgroup_forget (const Cgroup *cgroup);
/* Moves a process into it; on failure (errno) the control group is removed. */
gboolean cgroup_add (Cgroup *cgroup, pid_t pid);
/* Sends the signal to each process in it that is not in the process group. */
void cgroup_signal_others (const Cgroup *cgroup, pid_t group, int signal);
void cgroup_kill (const Cgroup *cgroup);
void cgroup_freeze (const Cgroup *cgroup, gboolean freeze);
/* Whether a process in it lives; a zombie does not count. */
gboolean cgroup_is_alive (const Cgroup *cgroup);
/* Waits up to a second for those that were killed; FALSE if a process in it lives. */
gboolean cgroup_remove (const Cgroup *cgroup);
void cgroup_close (Cgroup *cgroup);
