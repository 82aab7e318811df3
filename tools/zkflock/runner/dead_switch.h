#pragma once

#include <glib.h>
#include <sys/types.h>

/* The descriptors stay open until this process ends. Call it after the last fork, since a child
 * would hold them too. */
gboolean dead_switch_set (pid_t group);
