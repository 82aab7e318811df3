/* The kernel kills a process group when this process ends.
 *
 * A process may be killed together with all those that watch it. So the process holds both ends of a
 * pipe, whose signal for "the writer has gone" is SIGKILL to the group: the kernel sends it while it
 * closes the descriptors of a process that has ended, whatever it was that ended it. The kernel keeps
 * the group itself, not its number, which may be reused. As with kill(), processes of another user
 * are not reached, nor is what has left the group.
 */
#ifndef ZKFLOCK_DEAD_SWITCH_H
#define ZKFLOCK_DEAD_SWITCH_H

#include <glib.h>
#include <sys/types.h>

/* The descriptors stay open until this process ends. Call it after the last fork, since a child would
 * hold them too. */
gboolean dead_switch_set (pid_t group);

#endif
