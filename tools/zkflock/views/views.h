/* The verbs other than lock. Each returns the exit code. */
#pragma once

#include "base/options.h"

#include <curator/curator.h>

/* How long a look at all locks of a tree may take; a lost connection ends it no sooner. */
#define WALK_MS (60 * 1000)

int who_run (const Options *options, CuratorClient *client);
int top_run (const Options *options, CuratorClient *client);
int tree_run (const Options *options, CuratorClient *client);
int revoke_run (const Options *options, CuratorClient *client);
int doctor_run (const Options *options, CuratorClient *client);
int reap_run (const Options *options, CuratorClient *client);
int wait_run (const Options *options, CuratorClient *client);
