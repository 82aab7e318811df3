/* What a thread remembers of its own last hold. The functions are inline, in reentry.h.
 *
 * Threads: each has a copy of its own.
 */
#include "lock/reentry.h"

/* The compiler goes by this line, not by the declaration: with another model each look is a call. */
_Thread_local CuratorLastHold curator_last_hold __attribute__ ((tls_model ("initial-exec")));
