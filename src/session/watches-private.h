/* An entry of a session's table of watches, for watches.c and watch_table.c. Guarded by the
 * client's mutex. */
#pragma once

#include "base/guards.h"
#include "base/link.h"
#include "session/watches.h"

typedef enum
{
  ENTRY_WANTED, /* to be set when connected */
  ENTRY_ARMING, /* the read that sets it is in flight */
  ENTRY_ARMED,
  ENTRY_UNWANTED, /* to be removed when connected */
  ENTRY_REMOVING  /* the removal is in flight */
} CuratorWatchEntryState;

typedef struct
{
  char *path;
  ZooWatcherType type;
} CuratorWatchKey;

typedef struct
{
  CuratorWatchKey key; /* first: the entry is its own key */
  CuratorSession *session;
  CuratorWatchEntryState state CURATOR_GUARDED;
  gboolean is_own CURATOR_GUARDED;    /* this session owns the node, by the last read */
  gboolean by_exists CURATOR_GUARDED; /* getData got NOAUTH: use exists */
  gboolean is_absent CURATOR_GUARDED; /* exists awaits the node, for those that follow it */
  gboolean maybe_set CURATOR_GUARDED; /* WANTED or ARMING, but the library may have the watch */
  gboolean notifying CURATOR_GUARDED; /* callbacks are running: keep the entry */
  CuratorRequest *request CURATOR_GUARDED;
  GQueue users CURATOR_GUARDED;     /* CuratorWatch that get every event */
  GQueue newcomers CURATOR_GUARDED; /* CuratorWatch added while ARMED, to get that event */
  CuratorTimer *newcomers_timer CURATOR_GUARDED;
  CuratorTimer *retry_timer CURATOR_GUARDED;  /* after a retryable failure */
  CuratorTimer *reread_timer CURATOR_GUARDED; /* ARMED: in case an event was lost */
} CuratorWatchEntry;

struct _CuratorWatch
{
  CuratorWatchEntry *entry CURATOR_GUARDED; /* NULL once spent */
  CuratorLink place CURATOR_GUARDED;        /* in a queue of the entry, or of a notification */
  CuratorWatchFunc func;
  gpointer data;
  gboolean abandoned; /* by curator_watch_abandon() */
  gboolean follows;   /* by curator_watch_follow() */
};

static CURATOR_LOCKED inline gboolean
curator_watch_entry_is_connected (const CuratorWatchEntry *entry)
{
  return entry->session->state == CURATOR_SESSION_CONNECTED;
}

static CURATOR_LOCKED inline gboolean
curator_watch_entry_has_users (const CuratorWatchEntry *entry)
{
  return entry->users.length > 0 || entry->newcomers.length > 0;
}

static CURATOR_LOCKED inline void
curator_watch_place (CuratorWatch *watch, GQueue *queue)
{
  curator_link_place (&watch->place, queue, watch);
}

static CURATOR_LOCKED inline void
curator_watches_move (GQueue *from, GQueue *to, CuratorWatchEntry *entry)
{
  while (from->head != NULL) {
    CuratorWatch *watch = from->head->data;
    curator_watch_place (watch, to);
    watch->entry = entry;
  }
}

/* Sets the watch on the server, or sets it again. */
void curator_watch_entry_arm (CuratorWatchEntry *entry) CURATOR_LOCKED;
/* Removes the watch from the server. */
void curator_watch_entry_remove (CuratorWatchEntry *entry) CURATOR_LOCKED;
/* If the last user was released: removes the watch from the server too. */
void curator_watch_entry_end_unused (CuratorWatchEntry *entry) CURATOR_LOCKED;
/* Without a connection: the next one sets it anew. */
void curator_watch_entry_forget (CuratorWatchEntry *entry) CURATOR_LOCKED;
/* The watch is spent for all its users, or for those that do not follow a node that is GONE. Without
 * users the entry goes, or stays until the server's watch is removed, if that is_set. If a read is
 * in flight, it may set a watch on a new node of that name: the entry waits for it. */
void curator_watch_entry_end (CuratorWatchEntry *entry, gboolean is_set, CuratorWatchEvent event,
                              int rc) CURATOR_LOCKED;
/* An event: the node was made, or its data or children changed. It spent the server's watch, so sets
 * it again. */
void curator_watch_entry_changed (CuratorWatchEntry *entry) CURATOR_LOCKED;
/* Marks the watches of its users as spent. */
void curator_watch_entry_detach (CuratorWatchEntry *entry) CURATOR_LOCKED;
void curator_watch_entry_free (gpointer entry) CURATOR_LOCKED;
