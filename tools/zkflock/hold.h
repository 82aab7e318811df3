#pragma once

#include "base/options.h"

#include <curator/curator.h>

typedef struct _Hold Hold;

/* For the token. Before outlets_start (). */
void hold_open (const Options *options);
/* Without a command: prints the token, then waits. Returns the exit code when stdin ends (not with
 * --hold) or hold_revoke() is called (0), a signal comes (128 + n) or the hold is lost or has lasted
 * its maximum (75). Iterates the default main context. ends_us: CLOCK_BOOTTIME, of --max-hold;
 * G_MAXINT64: never. hold (out): for hold_revoke(), NULL at the end. lost (out): the hold ended
 * first. */
int hold_run (const Options *options, CuratorLease *lease, gint64 ends_us, Hold **hold,
              gboolean *lost);
/* The exit code, or that of a token that has not left. */
int hold_check_token (int code);
/* Ends hold_run() because another client asks for the lock. Call it in that iteration. */
void hold_revoke (Hold *hold);

/* After a command: iterates the default main context until that time of CLOCK_BOOTTIME, a signal
 * that stops zkflock, or the end of the hold. Returns FALSE in the last case. */
gboolean linger (const Options *options, CuratorLease *lease, gint64 until_us);
