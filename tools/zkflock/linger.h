#pragma once

#include "base/options.h"

#include <curator/curator.h>

/* Iterates the default main context until that time of CLOCK_BOOTTIME, a signal that stops zkflock,
 * or the end of the hold. Returns FALSE in the last case. */
gboolean linger (const Options *options, CuratorLease *lease, gint64 until_us);
