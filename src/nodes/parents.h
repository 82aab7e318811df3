/* Creates missing ancestors as containers, one level at a time (ZKPaths.mkdirs). */
#pragma once

#include "session/request.h"

typedef struct _CuratorParents CuratorParents;
/* Called with the client's mutex held. rc: ZOK if path exists now, otherwise the error. */
typedef void (*CuratorParentsDone) (int rc, gpointer data);

/* Creates path and its missing ancestors: as persistent nodes if the server has no containers.
 * Never creates the chroot: ZNONODE if that is missing. */
CuratorParents *curator_parents_make (CuratorSession *session, const char *path,
                                      CuratorParentsDone done, gpointer data) CURATOR_LOCKED;
/* The error for an rc that says that the chroot is missing; NULL for any other rc. */
GError *curator_parents_chroot_error (CuratorClient *client, int rc);
void curator_parents_forget (CuratorParents *parents) CURATOR_LOCKED;
