#pragma once

#include "runner/cgroup.h"

#include <glib.h>
#include <sys/types.h>

typedef struct _GuardBoard GuardBoard;

typedef struct
{
  pid_t pid;
  int fd;
  GuardBoard *board;    /* memory shared with the guard */
  const Cgroup *cgroup; /* borrowed */
} Guard;

/* Forks the guard of that process group, so call it before any thread exists. It kills the control
 * group together with the process group, and removes it when it ends. FALSE with errno, and no
 * guard is left. */
gboolean guard_start (Guard *guard, pid_t group, const Cgroup *cgroup);
/* From now on the guard kills the group at the deadline, in microseconds of CLOCK_BOOTTIME. Returns
 * when the guard knows it, at the deadline at the latest. slack_us: how much later a guard that is
 * stopped may end. */
void guard_arm (Guard *guard, gint64 deadline_us, gint64 slack_us);
/* Moves the deadline. */
void guard_set_deadline (Guard *guard, gint64 deadline_us);
/* Whether the deadline passed, so that the guard killed the group. */
gboolean guard_has_killed (Guard *guard);
/* The guard kills nothing any more, and ends; nobody waits for it yet. */
void guard_dismiss (Guard *guard);
/* Waits for the end of a guard that was dismissed, if there is one. TRUE if it was killed before. */
gboolean guard_wait (Guard *guard);

/* Whether that child has ended; it can still be waited for. */
gboolean child_has_ended (pid_t pid);
/* Microseconds of CLOCK_BOOTTIME. */
gint64 boottime_us (void);
