/* The record of a thread's last hold; its functions are inline, in reentry.h.
 *
 * Mirrors LockData of InterProcessMutex. Threads: each has its own record, so no lock.
 */
#include "lock/reentry.h"

/* The compiler goes by this line, not by the declaration: other models make each access a call. */
_Thread_local CuratorLastHold curator_last_hold __attribute__ ((tls_model ("initial-exec")));
