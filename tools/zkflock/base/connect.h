#pragma once

#include "base/options.h"
#include "base/probe.h"

#include <curator/curator.h>

/* Returns a started client, perhaps not connected yet; NULL with *exit_code after printing why. */
CuratorClient *connect_start (const Options *options, int *exit_code);
/* The same, but waits for the connection: for the verbs that only read. */
CuratorClient *connect_and_wait (const Options *options, int *exit_code);
/* Whether to wait for the first connection no longer. *probe: becomes one as soon as servers can
 * tell the cause; NULL before. */
gboolean connect_is_over (const Options *options, CuratorClient *client, Probe **probe);
/* FALSE: no server has answered in time. The library's threads still use the memory that a normal
 * exit would free. */
gboolean connect_close (const Options *options, CuratorClient *client);
/* Prints that no server could be reached, and why; returns the exit code. Asks the client about TLS
 * and SASL, and the servers if probe is NULL. */
int connect_report_failure (const Options *options, CuratorClient *client, Probe *probe);
