/* The record of a SharedCount, and how the library follows one. Any thread; guarded by the client's
 * mutex. */
#pragma once

#include "base/guards.h"
#include "base/refs.h"
#include "base/tag.h"
#include "core/client-record.h"
#include "curator/shared_count.h"
#include "session/request.h"
#include "session/session.h"
#include "session/watches.h"

struct _CuratorSharedCount
{
  CuratorTag tag;
  CuratorRefs refs;
  CuratorClient *client; /* a reference */
  char *given;           /* the user's path */
  char *path;            /* full */
  gint32 seed;

  gboolean started CURATOR_GUARDED;
  gboolean known CURATOR_GUARDED;    /* the node was read */
  gboolean is_stale CURATOR_GUARDED; /* the last read brought no value */
  gint32 value CURATOR_GUARDED;
  gint32 version CURATOR_GUARDED;
  gint64 mzxid CURATOR_GUARDED; /* of the value: an older read must not overwrite a newer one */
  CuratorWatch *watch CURATOR_GUARDED;
  CuratorTimer *retry_timer CURATOR_GUARDED; /* sets the watch again */
  CuratorRequest *reread CURATOR_GUARDED;    /* after a reconnect */
  gboolean notify_again CURATOR_GUARDED;     /* listeners have heard nothing since a reconnect */
  CuratorSessionHook session_hook CURATOR_GUARDED;
  GQueue hooks CURATOR_GUARDED; /* CuratorCountHook */
  CuratorListeners listeners CURATOR_GUARDED;
};

typedef struct _CuratorCountHook CuratorCountHook;

struct _CuratorCountHook
{
  GList link;
  /* Called with the client's mutex held. */
  void (*changed) (CuratorCountHook *hook, gint32 value);
};

/* changed runs for the current value, and for every later one. */
void curator_shared_count_add_hook (CuratorSharedCount *count,
                                    CuratorCountHook *hook) CURATOR_UNLOCKED;
void curator_shared_count_remove_hook (CuratorSharedCount *count,
                                       CuratorCountHook *hook) CURATOR_UNLOCKED;
