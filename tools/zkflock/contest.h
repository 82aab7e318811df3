/* Asking for the lock that the options describe, and waiting for it in the main loop. */
#ifndef ZKFLOCK_CONTEST_H
#define ZKFLOCK_CONTEST_H

#include "options.h"

#include <curator/curator.h>

typedef struct _Contest Contest;

/* lease: transfer full, NULL on error. In the main loop, once. */
typedef void (*ContestDone) (CuratorLease *lease, const GError *error, gpointer data);

/* The paths are taken in byte order, so that no two of us wait for each other. NULL with error. */
Contest *contest_start (const Options *options, CuratorClient *client, GCancellable *cancellable,
                        ContestDone done, gpointer data, GError **error);
/* After done. */
void contest_free (Contest *contest);

/* Of the lock to which node and token belong: the first in byte order. Owned by the contest. */
const char *contest_get_path (Contest *contest);

#endif
