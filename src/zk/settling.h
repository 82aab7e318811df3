/* The first turns of a handle's IO thread, in which libzookeeper looks its servers up. Threads: any.
 *
 * It does until it is told not to, which is possible only when its threads run. The turn that has begun
 * by then ends with an event or a failure.
 */
#ifndef CURATOR_SETTLING_H
#define CURATOR_SETTLING_H

#include "base/lookup.h"
#include "zk/zk_handle.h"

typedef enum
{
  CURATOR_SETTLING_TOLD = 1 << 0,
  CURATOR_SETTLING_TURNED = 1 << 1,
  CURATOR_SETTLING_BOTH = (1 << 2) - 1,
  CURATOR_SETTLING_OVER = 1 << 2
} CuratorSettling;

static inline void
curator_settling_note (CuratorZkHandle *handle, CuratorSettling news)
{
  const guint all = atomic_fetch_or (&handle->settling, news) | (guint) news;

  if ((all & CURATOR_SETTLING_BOTH) == CURATOR_SETTLING_BOTH
      && (atomic_fetch_or (&handle->settling, CURATOR_SETTLING_OVER) & CURATOR_SETTLING_OVER) == 0)
    {
      curator_lookup_leave (CURATOR_LOOKUP_BY_LIBRARY);
    }
}

#endif
