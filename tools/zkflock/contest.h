#pragma once

#include "base/options.h"

#include <curator/curator.h>

typedef struct _Contest Contest;

/* The result: runs once, in the main loop. lease: transfer full; NULL on error. */
typedef void (*ContestDone) (CuratorLease *lease, const GError *error, gpointer data);
/* Another client asks for the lock back (--revocable). Runs in the main loop, also during the
 * wait. */
typedef void (*ContestRevoked) (gpointer data);

/* Acquires the paths in byte order, so that two commands cannot deadlock. Returns NULL with error
 * set. */
Contest *contest_start (const Options *options, CuratorClient *client, gint64 wait_ms,
                        GCancellable *cancellable, ContestDone done, ContestRevoked revoked,
                        gpointer data, GError **error);
/* Only after done has run. */
void contest_free (Contest *contest);

/* The path that node and token belong to: the first in byte order. Owned by the contest. */
const char *contest_get_path (Contest *contest);
