/* Missing ancestors, made as containers (ZKPaths.mkdirs), level by level from the leaf upward. */
#ifndef CURATOR_PARENTS_H
#define CURATOR_PARENTS_H

#include "client/request.h"

typedef struct _CuratorParents CuratorParents;
/* @locks client mutex held. rc: ZOK when path exists now, otherwise what stopped it. */
typedef void (*CuratorParentsDone) (int rc, gpointer data);

/* Makes path itself and whatever is missing above it. A server
 * without containers gets persistent nodes. */
CuratorParents *curator_parents_make (CuratorSession *session, const char *path,
                                      CuratorParentsDone done, gpointer data) CURATOR_LOCKED;
void curator_parents_forget (CuratorParents *parents) CURATOR_LOCKED;

#endif
