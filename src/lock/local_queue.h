/* The nodes of one session in one queue: which are neighbours, and the listing they share.
 *
 * Nodes are numbered in order, and none can come between two consecutive numbers. So of two such
 * waiters of one session the second needs neither a list nor a watch: the end of the first lets it
 * in.
 */
#pragma once

#include "base/guards.h"
#include "lock/lock_internals-private.h"
#include "lock/queue.h"
#include "session/session.h"

typedef struct _CuratorLocalQueue CuratorLocalQueue;
typedef struct _CuratorQueueSlot CuratorQueueSlot;

/* Called with the client's mutex held. */
typedef struct
{
  /* The slot ahead has left. released: that one held the lock and this one holds it now; otherwise
   * the node leaf may still exist. */
  void (*ahead_left) (CuratorQueueSlot *slot, gboolean released, const char *leaf);
  /* The slot ahead has become a hold. */
  void (*ahead_held) (CuratorQueueSlot *slot);
} CuratorQueueSlotClass;

/* One node of the session, waiting or held. All zero but klass while it is in no queue. */
struct _CuratorQueueSlot
{
  CuratorLocalQueue *local CURATOR_GUARDED;
  CuratorQueueSlot *ahead CURATOR_GUARDED; /* the session's, with the number before */
  CuratorQueueSlot *behind CURATOR_GUARDED;
  const char *kind CURATOR_GUARDED; /* the lock name: nodes of other kinds are no neighbours */
  gint64 number CURATOR_GUARDED;
  gboolean number_is_shared
      CURATOR_GUARDED; /* a node of the same number may stand right behind this one */
  gboolean is_held CURATOR_GUARDED;
  const CuratorQueueSlotClass *klass;
};

/* The session's part of the queue below base; adds a user. */
CuratorLocalQueue *curator_local_queue_join (CuratorSession *session,
                                             const char *base) CURATOR_LOCKED;
void curator_local_queue_leave (CuratorLocalQueue *local) CURATOR_LOCKED;
/* TRUE if a node of this kind, created in the session now, would certainly stand behind another one
 * of the session. FALSE proves nothing. */
gboolean curator_local_queue_is_occupied (CuratorSession *session, const char *base,
                                          const char *kind) CURATOR_LOCKED;
/* A server has shown a node in front of one of the session's. */
void curator_local_queue_note_contender (CuratorLocalQueue *local) CURATOR_LOCKED;
/* TRUE if a node created below base now would probably stand behind another: the session has one
 * here, or stood behind one within the last second. */
gboolean curator_local_queue_is_contended (CuratorSession *session,
                                           const char *base) CURATOR_LOCKED;
/* Counts a create that is about to be sent; later listings show it. number: its, never 0. TRUE if a
 * list has to follow: no node of this session is probably right in front, and no list is in flight,
 * after which the next one serves all whose nodes have been created by then. */
gboolean curator_local_queue_note_create (CuratorLocalQueue *local, gboolean has_neighbours,
                                          guint64 *number) CURATOR_LOCKED;

/* number: the node's. Right behind the last slot, if that has the number before. */
void curator_queue_slot_take (CuratorQueueSlot *slot, CuratorLocalQueue *local, const char *kind,
                              gint64 number) CURATOR_LOCKED;
/* The node has become a hold: the slot behind stays behind. */
void curator_queue_slot_move (CuratorQueueSlot *from, CuratorQueueSlot *to) CURATOR_LOCKED;
/* Harmless when in no queue. released: the node held the lock and no node has its number now. */
void curator_queue_slot_leave (CuratorQueueSlot *slot, gboolean released,
                               const char *leaf) CURATOR_LOCKED;

/* The sorted children of one answer, shared by all attempts that sort alike. */
typedef struct
{
  CuratorQueue queue;
  const CuratorLockInternals *sorted_for;
} CuratorSortedList;

CuratorQueue *curator_sorted_list_get (CuratorSortedList *list,
                                       const struct String_vector *children,
                                       CuratorLockInternals *internals);

typedef struct _CuratorListing CuratorListing;
typedef struct _CuratorListingUser CuratorListingUser;

/* An attempt that waits for a list of the children. All zero but listed while it does not. */
struct _CuratorListingUser
{
  GList link;
  CuratorListing *listing;
  /* Called with the client's mutex held. The user has left the listing. */
  void (*listed) (CuratorListingUser *user, int rc, const CuratorZkReply *reply,
                  CuratorSortedList *list);
};

/* create: the number from note_create(). Joins the listing in flight if that was sent after the
 * create, or sends one. */
void curator_listing_join (CuratorListingUser *user, CuratorLocalQueue *local,
                           guint64 create) CURATOR_LOCKED;
/* Harmless when it waits for none. */
void curator_listing_leave (CuratorListingUser *user) CURATOR_LOCKED;
