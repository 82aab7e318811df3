/* Several releases, one result: reports every failure in one error
 * (InterProcessMultiLock.release). Any thread; it has a mutex of its own. */
#pragma once

#include "nodes/reaper.h"

typedef struct _CuratorBatchReport CuratorBatchReport;

/* done (may be NULL) is called, without a lock, after n calls of curator_batch_report_one; at once for
 * 0. */
CuratorBatchReport *curator_batch_report_new (guint n, CuratorReleaseDone done, gpointer data);
/* A CuratorReleaseDone, to be called without a lock. */
void curator_batch_report_one (const GError *error, gpointer report);
