/* Follows a SharedCount inside the library. Any thread; guarded by the client's mutex. */
#ifndef CURATOR_SHARED_COUNT_PRIVATE_H
#define CURATOR_SHARED_COUNT_PRIVATE_H

#include "client/client-private.h"
#include "curator/shared_count.h"

typedef struct _CuratorCountHook CuratorCountHook;

struct _CuratorCountHook
{
  GList link;
  /* Called with the client's mutex held. */
  void (*changed) (CuratorCountHook *hook, gint32 value);
};

CuratorClient *curator_shared_count_get_client (CuratorSharedCount *count);
/* changed runs for the current value, and for every later one. */
void curator_shared_count_add_hook (CuratorSharedCount *count,
                                    CuratorCountHook *hook) CURATOR_UNLOCKED;
void curator_shared_count_remove_hook (CuratorSharedCount *count,
                                       CuratorCountHook *hook) CURATOR_UNLOCKED;

#endif
