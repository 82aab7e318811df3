/* The verb without a name: lock, run or hold, release. */
#ifndef ZKFLOCK_LOCK_H
#define ZKFLOCK_LOCK_H

#include "options.h"

/* Forks, so it has to be called before any thread exists. Returns the exit code. */
int lock_and_run (const Options *options);

#endif
