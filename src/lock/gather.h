/* Many releases, one answer: every failure is told in one error. */
#ifndef CURATOR_GATHER_H
#define CURATOR_GATHER_H

#include "client/reaper.h"

typedef struct _CuratorGather CuratorGather;

/* done is called, without a lock, after n calls of curator_gather_one; at once for 0. It may be
 * NULL. */
CuratorGather *curator_gather_new (guint n, CuratorReleaseDone done, gpointer data);
/* @locks none; any thread. A CuratorReleaseDone. */
void curator_gather_one (const GError *error, gpointer gather);

#endif
