/* Watches, counted per path and really removed from the server when the last user leaves.
 *
 * Mirrors Curator's WatcherRemovalManager. libzookeeper gets one function and one context for all
 * of them; events are told apart by path. A data watch is set with getData, so that a node already
 * gone leaves nothing behind; on NOAUTH with exists. Guarded by the client's mutex.
 */
#ifndef CURATOR_WATCHES_H
#define CURATOR_WATCHES_H

#include "client/session.h"

typedef enum
{
  CURATOR_WATCH_ARMED, /* set; reply has what the read brought (NULL if it was set before); comes
                           * again whenever what is watched was read again */
  CURATOR_WATCH_GONE, /* the node was deleted (ZOK), or is not there (ZNONODE); the watch is spent */
  CURATOR_WATCH_CHANGED, /* data or children changed; it is being set again, ARMED follows */
  CURATOR_WATCH_FAILED   /* rc says why; the watch is spent */
} CuratorWatchEvent;

typedef struct _CuratorWatch CuratorWatch;
/* @locks client mutex held. Never runs inside curator_watch_add(). */
typedef void (*CuratorWatchFunc) (CuratorWatch *watch, CuratorWatchEvent event, int rc,
                                  const CuratorZkReply *reply, gpointer data);

/* The less it is needed, the earlier there is no room for it any more. */
typedef enum
{
  CURATOR_WATCH_OPTIONAL, /* one can do without it */
  CURATOR_WATCH_NEW,      /* whoever comes now can still be turned away */
  CURATOR_WATCH_NEEDED
} CuratorWatchNeed;

/* @locks client mutex required. type: ZWATCHTYPE_DATA or ZWATCHTYPE_CHILD. NULL when the session
 * already watches as many bytes of paths as can be restored after a reconnect. */
CuratorWatch *curator_watch_add (CuratorSession *session, const char *path, ZooWatcherType type,
                                 CuratorWatchNeed need, CuratorWatchFunc func,
                                 gpointer data) CURATOR_LOCKED;
/* The user leaves, or forgets a spent watch. */
void curator_watch_release (CuratorWatch *watch) CURATOR_LOCKED;
/* The user leaves because the node is about to be deleted: that spends the watch, and removing it
 * would be a request for nothing. */
void curator_watch_abandon (CuratorWatch *watch) CURATOR_LOCKED;

/* NULL once it is spent. */
const char *curator_watch_get_path (const CuratorWatch *watch) CURATOR_LOCKED;

/* The node is of this session; known from ARMED on. */
gboolean curator_watch_is_own (const CuratorWatch *watch) CURATOR_LOCKED;

#endif
