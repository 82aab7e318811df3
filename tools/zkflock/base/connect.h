/* The client that the options describe. */
#ifndef ZKFLOCK_CONNECT_H
#define ZKFLOCK_CONNECT_H

#include "base/options.h"
#include "base/probe.h"

#include <curator/curator.h>

/* Returns a started client, perhaps not connected yet; NULL with *exit_code after printing why. */
CuratorClient *connect_start (const Options *options, int *exit_code);
/* The same, but waits for the connection: for the verbs that only read. */
CuratorClient *connect_and_wait (const Options *options, int *exit_code);
/* Prints that no server could be reached, and why; returns the exit code. Asks the servers if probe
 * is NULL, or the client where no probe is possible. */
int connect_report_failure (const Options *options, CuratorClient *client, Probe *probe);

#endif
