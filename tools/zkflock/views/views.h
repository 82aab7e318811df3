/* The verbs other than lock. Each returns the exit code. */
#ifndef ZKFLOCK_VIEWS_H
#define ZKFLOCK_VIEWS_H

#include "base/options.h"

#include <curator/curator.h>

/* How long a look at all locks of a tree may take; a lost connection ends it no sooner. */
#define WALK_MS (60 * 1000)

int who_run (const Options *options);
int top_run (const Options *options);
int tree_run (const Options *options);
int revoke_run (const Options *options);
int doctor_run (const Options *options);
int reap_run (const Options *options);
int wait_run (const Options *options);

#endif
