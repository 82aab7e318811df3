/* Which processes of a process group still run. */
#ifndef ZKFLOCK_GROUP_H
#define ZKFLOCK_GROUP_H

#include <glib.h>
#include <sys/types.h>

/* Zombies do not count as alive. */
gboolean group_is_alive (pid_t group);
/* Names a few of them, for example "4711 (sleep, user root), 4712 (sh, user root)". */
char *group_describe (pid_t group);

#endif
