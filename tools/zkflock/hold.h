/* Holding without a command. */
#ifndef ZKFLOCK_HOLD_H
#define ZKFLOCK_HOLD_H

#include "options.h"

#include <curator/curator.h>

/* Prints the token, and returns the exit code when stdin has ended (0), a signal came (128 + n), the
 * hold was lost (75) or somebody asked for it (0). Iterates the default main context. */
int hold_run (const Options *options, const char *path, CuratorLease *lease, gboolean *lost);

#endif
