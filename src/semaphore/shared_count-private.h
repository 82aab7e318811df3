/* How the library follows a SharedCount. Any thread; guarded by the client's mutex. */
#pragma once

#include "base/guards.h"
#include "base/link.h"
#include "curator/shared_count.h"

typedef struct _CuratorCountHook CuratorCountHook;

struct _CuratorCountHook
{
  CuratorLink place;
  /* Called with the client's mutex held. */
  void (*changed) (CuratorCountHook *hook, gint32 value);
};

/* changed runs for the current value, and for every later one. */
void curator_shared_count_add_hook (CuratorSharedCount *count,
                                    CuratorCountHook *hook) CURATOR_UNLOCKED;
void curator_shared_count_remove_hook (CuratorSharedCount *count,
                                       CuratorCountHook *hook) CURATOR_UNLOCKED;
