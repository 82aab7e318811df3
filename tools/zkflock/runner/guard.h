/* A second pair of eyes on the deadline.
 *
 * The supervisor ends the command by its own timer, but cannot do so while it is stopped, and after
 * kill -9 the kernel ends the command alone and not what the command started. So a small process,
 * forked before any thread exists, kills the whole group when we are gone, or when the deadline that
 * we last told it is about to pass without a newer one.
 */
#ifndef ZKFLOCK_GUARD_H
#define ZKFLOCK_GUARD_H

#include <glib.h>
#include <sys/types.h>

typedef struct _GuardBoard GuardBoard;

typedef struct
{
  pid_t pid;
  int fd;
  GuardBoard *board; /* shared with it */
} Guard;

gboolean guard_start (Guard *guard);
/* From now on the group dies unless it hears of a later deadline, in microseconds of
 * CLOCK_BOOTTIME. */
void guard_arm (Guard *guard, pid_t group, gint64 deadline_us);
void guard_set_deadline (Guard *guard, gint64 deadline_us);
/* Whether it had to. */
gboolean guard_has_killed (Guard *guard);
/* The group is dead already. The guard ends and is reaped. */
void guard_dismiss (Guard *guard);

gint64 boottime_us (void);

#endif
