#pragma once

#include "base/options.h"

#include <curator/curator.h>

typedef struct _Hold Hold;

/* options, path and lease are borrowed and must outlive the hold. ends_us: CLOCK_BOOTTIME, of
 * --max-hold; G_MAXINT64: never. */
Hold *hold_new (const Options *options, const char *path, CuratorLease *lease, gint64 ends_us);
/* Prints the token, then waits. Returns the exit code when stdin ends (not with --hold) or
 * hold_revoke() is called (0), a signal comes (128 + n) or the hold is lost or has lasted its
 * maximum (75). Iterates the default main context. lost (out): the hold ended first. */
int hold_run (Hold *hold, gboolean *lost);
/* Ends hold_run() because another client asks for the lock. Call it in that iteration. */
void hold_revoke (Hold *hold);
void hold_free (Hold *hold);
