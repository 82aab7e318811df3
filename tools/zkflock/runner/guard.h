/* A process that enforces the deadline when zkflock cannot.
 *
 * The supervisor ends the command by its own timer, but not while zkflock is stopped. After kill -9
 * of zkflock the kernel kills the command alone, not what the command started. So a small process,
 * forked before any thread exists, kills the whole group when zkflock has ended or when the last
 * deadline it was given passes.
 */
#ifndef ZKFLOCK_GUARD_H
#define ZKFLOCK_GUARD_H

#include "runner/cgroup.h"

#include <glib.h>
#include <sys/types.h>

typedef struct _GuardBoard GuardBoard;

typedef struct
{
  pid_t pid;
  int fd;
  GuardBoard *board; /* memory shared with the guard */
} Guard;

/* Forks the guard, so call it before any thread exists. It kills the control group together with the
 * process group, and removes it when it ends. */
gboolean guard_start (Guard *guard, const Cgroup *cgroup);
/* From now on the guard kills the group at the deadline, in microseconds of CLOCK_BOOTTIME. */
void guard_arm (Guard *guard, pid_t group, gint64 deadline_us);
/* Moves the deadline. */
void guard_set_deadline (Guard *guard, gint64 deadline_us);
/* Whether the deadline passed, so that the guard killed the group. */
gboolean guard_has_killed (Guard *guard);
/* Call it once the group is dead, or cannot be killed. Ends the guard and reaps it. */
void guard_dismiss (Guard *guard);

/* Microseconds of CLOCK_BOOTTIME. */
gint64 boottime_us (void);

#endif
