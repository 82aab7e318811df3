/* Acquires the lock, runs the command or just holds, and releases. */
#pragma once

#include "base/options.h"

/* Forks, so call it before any thread exists. Returns the exit code. */
int lock_and_run (const Options *options);
