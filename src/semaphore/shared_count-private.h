/* Following a shared count from inside the library. */
#ifndef CURATOR_SHARED_COUNT_PRIVATE_H
#define CURATOR_SHARED_COUNT_PRIVATE_H

#include "client/client-private.h"
#include "curator/shared_count.h"

typedef struct _CuratorCountHook CuratorCountHook;

struct _CuratorCountHook
{
  GList link;
  /* @locks the count's client's mutex held. */
  void (*changed) (CuratorCountHook *hook, gint32 value);
};

CuratorClient *curator_shared_count_get_client (CuratorSharedCount *count);
/* @locks client mutex NOT held. changed runs for every value seen from now on; returns the present
 * one. */
gint32 curator_shared_count_add_hook (CuratorSharedCount *count,
                                      CuratorCountHook *hook) CURATOR_UNLOCKED;
void curator_shared_count_remove_hook (CuratorSharedCount *count,
                                       CuratorCountHook *hook) CURATOR_UNLOCKED;

#endif
