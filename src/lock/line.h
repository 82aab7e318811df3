/* A session's own part of one queue: who of ours stands right behind whom, and the listing we share.
 *
 * No counterpart in Curator, whose waiters know nothing of each other. Nodes are numbered one after
 * the other: between two with consecutive numbers nobody can ever stand, so of two waiters of one
 * session the second needs neither a list nor a watch; the end of the first is its turn. Everything
 * is guarded by the client's mutex.
 */
#ifndef CURATOR_LINE_H
#define CURATOR_LINE_H

#include "client/session.h"
#include "guards.h"
#include "lock/lock_internals-private.h"
#include "lock/queue.h"

typedef struct _CuratorLine CuratorLine;
typedef struct _CuratorPlace CuratorPlace;

/* One node of ours, waiting or held. All zero while it is in no line. */
struct _CuratorPlace
{
  CuratorLine *line CURATOR_GUARDED;
  CuratorPlace *ahead CURATOR_GUARDED; /* ours, with the number right in front */
  CuratorPlace *behind CURATOR_GUARDED;
  const char *kind CURATOR_GUARDED; /* the lock name: nodes of other kinds are no neighbours */
  gint64 number CURATOR_GUARDED;
  gboolean number_is_shared
      CURATOR_GUARDED; /* a node of the same number may stand right behind this one */
  /* @locks client mutex held. The one ahead is gone: clean if it had the lock and gave it back, and
   * then this one has it; otherwise leaf is the name that may still be there. */
  void (*ahead_left) (CuratorPlace *place, gboolean released, const char *leaf);
};

/* The session's line below base; one more user of it. */
CuratorLine *curator_line_join (CuratorSession *session, const char *base) CURATOR_LOCKED;
void curator_line_leave (CuratorLine *line) CURATOR_LOCKED;
/* Nobody else of ours waits, holds or comes here. */
gboolean curator_line_is_alone (const CuratorLine *line) CURATOR_LOCKED;
/* A create is about to be sent; answered by listings sent after it. Never 0. */
guint64 curator_line_note_create (CuratorLine *line) CURATOR_LOCKED;

/* number: the node's. Behind the last that came, if that has the number before. */
void curator_place_take (CuratorPlace *place, CuratorLine *line, const char *kind,
                         gint64 number) CURATOR_LOCKED;
/* Its node has become a hold: whoever is behind stays behind. */
void curator_place_move (CuratorPlace *from, CuratorPlace *to) CURATOR_LOCKED;
/* Harmless when in no line. clean: the node had the lock and nothing of its number is left. */
void curator_place_leave (CuratorPlace *place, gboolean released, const char *leaf) CURATOR_LOCKED;

/* The order of the children in one answer, made once for all who sort alike. */
typedef struct
{
  CuratorQueue queue;
  const CuratorLockInternals *sorted_for;
} CuratorOrder;

const CuratorQueue *curator_order_get (CuratorOrder *order, const struct String_vector *children,
                                       CuratorLockInternals *internals);

typedef struct _CuratorListing CuratorListing;

/* Somebody of ours who wants to see the children now. All zero while it does not. */
typedef struct
{
  GList link;
  CuratorListing *listing;
  /* @locks client mutex held. The listing has left already. */
  void (*listed) (int rc, const CuratorZkReply *reply, CuratorOrder *order, gpointer data);
  gpointer data;
} CuratorListingUser;

/* create: what note_create() gave. Joins the listing under way if that was sent after the create, or
 * sends one. */
void curator_listing_join (CuratorListingUser *user, CuratorLine *line,
                           guint64 create) CURATOR_LOCKED;
/* Harmless when it wants none. */
void curator_listing_leave (CuratorListingUser *user) CURATOR_LOCKED;

#endif
