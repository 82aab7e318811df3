/* An entry of a session's table of watches, for watches.c and watch_table.c. */
#ifndef CURATOR_WATCHES_PRIVATE_H
#define CURATOR_WATCHES_PRIVATE_H

#include "client/watches.h"
#include "guards.h"

typedef enum
{
  ENTRY_WANTED, /* to be set when there is a connection */
  ENTRY_ARMING, /* the read is under way */
  ENTRY_ARMED,
  ENTRY_UNWANTED, /* to be removed when there is a connection */
  ENTRY_REMOVING  /* the removal is under way */
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
  gboolean is_own CURATOR_GUARDED;    /* the node is this session's, as the last read has it */
  gboolean by_exists CURATOR_GUARDED; /* getData was refused: watch with exists */
  gboolean maybe_set
      CURATOR_GUARDED; /* the library may still have the watch although it is WANTED */
  gboolean notifying
      CURATOR_GUARDED; /* users are being told: the entry stays whatever they release */
  CuratorRequest *request CURATOR_GUARDED;
  GQueue users CURATOR_GUARDED;     /* CuratorWatch that hear every piece of news */
  GQueue newcomers CURATOR_GUARDED; /* CuratorWatch to be told that the watch was armed already */
  CuratorTimer *newcomers_timer CURATOR_GUARDED;
  CuratorTimer *retry_timer CURATOR_GUARDED;  /* a request was refused for the moment */
  CuratorTimer *reread_timer CURATOR_GUARDED; /* ARMED: when to look whether an event was lost */
} CuratorWatchEntry;

struct _CuratorWatch
{
  CuratorWatchEntry *entry CURATOR_GUARDED; /* NULL once spent */
  GQueue *queue CURATOR_GUARDED; /* where link is: a queue of the entry, or of somebody telling */
  GList link;
  CuratorWatchFunc func;
  gpointer data;
  gboolean abandoned; /* its user has left without taking it away */
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
  if (watch->queue != NULL)
    {
      g_queue_unlink (watch->queue, &watch->link);
    }
  watch->queue = queue;
  if (queue != NULL)
    {
      g_queue_push_tail_link (queue, &watch->link);
    }
}

static CURATOR_LOCKED inline void
curator_watches_move (GQueue *from, GQueue *to, CuratorWatchEntry *entry)
{
  while (from->head != NULL)
    {
      CuratorWatch *watch = from->head->data;
      curator_watch_place (watch, to);
      watch->entry = entry;
    }
}

/* Sets the watch, or sets it again. */
void curator_watch_entry_arm (CuratorWatchEntry *entry) CURATOR_LOCKED;
/* Takes the watch from the server. */
void curator_watch_entry_remove (CuratorWatchEntry *entry) CURATOR_LOCKED;
/* The last user has left. */
void curator_watch_entry_unused (CuratorWatchEntry *entry) CURATOR_LOCKED;
/* An event: the node was deleted. */
void curator_watch_entry_gone (CuratorWatchEntry *entry) CURATOR_LOCKED;
/* An event: data or children changed. */
void curator_watch_entry_changed (CuratorWatchEntry *entry) CURATOR_LOCKED;
void curator_watch_entry_free (gpointer entry) CURATOR_LOCKED;

#endif
