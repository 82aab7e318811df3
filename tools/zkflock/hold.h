/* Holds the lock without a command. */
#ifndef ZKFLOCK_HOLD_H
#define ZKFLOCK_HOLD_H

#include "base/options.h"

#include <curator/curator.h>

/* Prints the token, then waits. Returns the exit code when stdin ends (0), a signal comes (128 + n) or
 * the hold is lost (75). Iterates the default main context. lost (out): the hold ended first. */
int hold_run (const Options *options, const char *path, CuratorLease *lease, gboolean *lost);

#endif
