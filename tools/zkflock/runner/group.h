/* Whether a process group still runs. */
#ifndef ZKFLOCK_GROUP_H
#define ZKFLOCK_GROUP_H

#include <glib.h>
#include <sys/types.h>

/* Zombies do not count as alive. */
gboolean group_is_alive (pid_t group);

#endif
