/* Loopback addresses for the servers and proxies of a test. */
#pragma once

#include <glib.h>

/* A free port of that address right now, or 0. */
int zk_server_free_port (const char *host);

/* A new loopback address of this process. */
char *zk_server_new_host (void);
