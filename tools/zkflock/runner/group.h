#pragma once

#include <glib.h>
#include <sys/types.h>

/* Zombies do not count as alive. leader_ended: the leader, a child of this process, has ended, and
 * may be reaped. */
gboolean group_is_alive (pid_t group, gboolean leader_ended);
/* Names a few of them, for example "4711 (sleep, user root), 4712 (sh, user root)". */
char *group_describe (pid_t group);
