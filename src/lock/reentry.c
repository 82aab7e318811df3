/* The record of a thread's last hold; its functions are inline, in reentry.h.
 *
 * Mirrors LockData of InterProcessMutex. Threads: each has its own record, so no lock.
 */
#include "lock/reentry.h"

_Thread_local CuratorLastHold curator_last_hold;
