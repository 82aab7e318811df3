#pragma once

#include "base/options.h"
#include "base/probe.h"

#include <curator/curator.h>

/* Returns a started client, perhaps not connected yet; NULL with *exit_code after printing why. */
CuratorClient *connect_start (const Options *options, int *exit_code);
/* The same, but waits for the connection: for the verbs that only read. */
CuratorClient *connect_and_wait (const Options *options, int *exit_code);
/* The newest attempt to connect has ended otherwise than without an answer. */
gboolean connect_has_failed (CuratorClient *client);
/* FALSE while TLS or SASL may still turn out to be the cause of a missing connection. */
gboolean connect_knows_cause (const Options *options, CuratorClient *client);
/* No wait will help: every server has refused TLS, or has a certificate that was refused; or this
 * machine is short of something. probe may be NULL. */
gboolean connect_is_refused (const Options *options, CuratorClient *client, Probe *probe);
/* Prints that no server could be reached, and why; returns the exit code. Asks the client about TLS
 * and SASL, and the servers if probe is NULL. */
int connect_report_failure (const Options *options, CuratorClient *client, Probe *probe);
