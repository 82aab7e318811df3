/* Watches, shared per path, and removed from the server when the last user is released.
 *
 * libzookeeper gets one function and one context for all watches. getData sets a data watch, so
 * that a missing node leaves no watch behind; on NOAUTH exists does, or repeated reads. Exists also
 * waits for a node that somebody follows.
 */
#pragma once

#include "session/session.h"

typedef enum
{
  /* The watch is set. reply is the read that set it, NULL if it was already set or the node may not
   * be read. Comes again after every reread that was answered. */
  CURATOR_WATCH_ARMED,
  CURATOR_WATCH_GONE, /* the node was deleted (ZOK) or is missing (ZNONODE); the watch is spent */
  CURATOR_WATCH_CHANGED, /* made, or data or children changed; ARMED follows */
  CURATOR_WATCH_FAILED,  /* rc says why; the watch is spent */
  CURATOR_WATCH_ABSENT   /* instead of GONE for who follows: the watch waits for the node */
} CuratorWatchEvent;

typedef struct _CuratorWatch CuratorWatch;
/* Called with the client's mutex held, never inside curator_watch_add(). */
typedef void (*CuratorWatchFunc) (CuratorWatch *watch, CuratorWatchEvent event, int rc,
                                  const CuratorZkReply *reply, gpointer data);

/* How important a watch is: less important ones get a lower limit of watched bytes. */
typedef enum
{
  CURATOR_WATCH_OPTIONAL, /* the caller works without it */
  CURATOR_WATCH_NEW,      /* of an attempt that can still fail */
  CURATOR_WATCH_NEEDED
} CuratorWatchNeed;

/* type: ZWATCHTYPE_DATA or ZWATCHTYPE_CHILD. NULL if the limit of watched bytes, which a reconnect
 * can restore, is reached. */
CuratorWatch *curator_watch_add (CuratorSession *session, const char *path, ZooWatcherType type,
                                 CuratorWatchNeed need, CuratorWatchFunc func,
                                 gpointer data) CURATOR_LOCKED;
/* The same of data. It goes on when the node is gone: ABSENT, and ARMED when there is one again. */
CuratorWatch *curator_watch_follow (CuratorSession *session, const char *path,
                                    CuratorWatchNeed need, CuratorWatchFunc func,
                                    gpointer data) CURATOR_LOCKED;
/* ARMED or ABSENT comes again as soon as the server has answered. */
void curator_watch_reread (CuratorWatch *watch) CURATOR_LOCKED;
/* Frees the watch; the last release removes it from the server. */
void curator_watch_release (CuratorWatch *watch) CURATOR_LOCKED;
/* Instead of a release if the node is about to be deleted: the deletion spends the watch, which
 * saves the request that removes it. */
void curator_watch_abandon (CuratorWatch *watch) CURATOR_LOCKED;

/* NULL once it is spent. */
const char *curator_watch_get_path (const CuratorWatch *watch) CURATOR_LOCKED;

/* Whether this session owns the node; known from ARMED on. */
gboolean curator_watch_is_own (const CuratorWatch *watch) CURATOR_LOCKED;
