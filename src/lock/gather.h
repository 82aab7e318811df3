/* Several releases, one result: reports every failure in one error
 * (InterProcessMultiLock.release). Any thread; it has a mutex of its own. */
#ifndef CURATOR_GATHER_H
#define CURATOR_GATHER_H

#include "nodes/reaper.h"

typedef struct _CuratorGather CuratorGather;

/* done (may be NULL) is called, without a lock, after n calls of curator_gather_one; at once for
 * 0. */
CuratorGather *curator_gather_new (guint n, CuratorReleaseDone done, gpointer data);
/* A CuratorReleaseDone, to be called without a lock. */
void curator_gather_one (const GError *error, gpointer gather);

#endif
