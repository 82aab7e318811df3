#pragma once

#include "base/options.h"

#include <curator/curator.h>

/* After a conflict or a timeout: names the holder for --verbose, --status-fd and --syslog. Reads
 * from the servers, and only if there is one of these. Without them a conflict is silent, as in
 * flock(1). */
void conflict_report (const Options *options, CuratorClient *client);
