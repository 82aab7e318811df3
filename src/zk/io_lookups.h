/* The look-ups of a handle's IO thread, for which fork() waits.
 *
 * libzookeeper looks its servers up in each turn without a socket, which is before each attempt to
 * connect. It does so in the other turns, too, until it is told not to, which is possible only when
 * its threads run. That a connection is there is told by an event, which another thread delivers:
 * when it arrives, that connection may have failed.
 */
#pragma once

#include "base/lookup.h"
#include "zk/zk_handle.h"

static inline gboolean
curator_io_is_connected (int state)
{
  return state == ZOO_CONNECTED_STATE || state == ZOO_READONLY_STATE;
}

/* By who opens the handle, then on the IO thread. */
static inline void
curator_io_lookups_begin (CuratorIoLookups *lookups)
{
  curator_lookup_enter (CURATOR_LOOKUP_BY_LIBRARY);
  atomic_store (&lookups->under_way, ++lookups->n_begun);
}

static inline void
curator_io_lookups_end (CuratorIoLookups *lookups)
{
  if (atomic_exchange (&lookups->under_way, 0) != 0)
    curator_lookup_leave (CURATOR_LOOKUP_BY_LIBRARY);
}

static inline void
curator_io_lookups_end_if_connected (CuratorIoLookups *lookups)
{
  guint begun = atomic_load (&lookups->under_way);

  if (begun != 0 && atomic_load (&lookups->was_told)
      && atomic_load (&lookups->n_connected) > atomic_load (&lookups->n_failed)
      && atomic_compare_exchange_strong (&lookups->under_way, &begun, 0))
    curator_lookup_leave (CURATOR_LOOKUP_BY_LIBRARY);
}

/* On the thread that delivers events. */
static inline void
curator_io_lookups_note_state (CuratorIoLookups *lookups, int state)
{
  if (curator_io_is_connected (state)) {
    atomic_fetch_add (&lookups->n_connected, 1);
    curator_io_lookups_end_if_connected (lookups);
  } else if (state < 0) {
    curator_io_lookups_end (lookups); /* it makes no more turns */
  }
}

/* On the IO thread, whose socket has failed. A fork() that waits is let through before the next
 * look-up. */
static inline void
curator_io_lookups_note_failure (CuratorIoLookups *lookups, zhandle_t *zh)
{
  atomic_fetch_add (&lookups->n_failed, curator_io_is_connected (zoo_state (zh)) ? 1 : 0);
  curator_io_lookups_end (lookups);
  curator_io_lookups_begin (lookups);
}
