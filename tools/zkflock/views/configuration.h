#pragma once

#include "base/dial.h"

/* What a server has in /zookeeper/config: the members of its ensemble, one a line. NULL: it does
 * not say. */
char *configuration_read (Dial *dial, const char *address, gint64 timeout_ms);
