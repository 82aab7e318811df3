/* The client, as the options want it. */
#ifndef ZKFLOCK_CONNECT_H
#define ZKFLOCK_CONNECT_H

#include "options.h"

#include <curator/curator.h>

/* Started, perhaps not connected yet. NULL with *exit_code; what was wrong has been said. */
CuratorClient *connect_start (const Options *options, int *exit_code);
/* For those who only look: waits for the connection. */
CuratorClient *connect_and_wait (const Options *options, int *exit_code);

#endif
