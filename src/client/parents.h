/* Creates missing ancestors as containers, one level at a time (ZKPaths.mkdirs). */
#ifndef CURATOR_PARENTS_H
#define CURATOR_PARENTS_H

#include "client/request.h"

typedef struct _CuratorParents CuratorParents;
/* Called with the client's mutex held. rc: ZOK if path exists now, otherwise the error. */
typedef void (*CuratorParentsDone) (int rc, gpointer data);

/* Creates path and its missing ancestors: as persistent nodes if the server has no containers. */
CuratorParents *curator_parents_make (CuratorSession *session, const char *path,
                                      CuratorParentsDone done, gpointer data) CURATOR_LOCKED;
void curator_parents_forget (CuratorParents *parents) CURATOR_LOCKED;

#endif
