/* What is in front of one node in its queue: the watches on it, and when all of it has gone. */
#pragma once

#include "base/guards.h"
#include "core/timers.h"
#include "lock/local_queue.h"
#include "lock/own_node.h"
#include "session/watches.h"

typedef enum
{
  CURATOR_FRONT_NOTHING,   /* no watch tells of our turn; one may be left from before */
  CURATOR_FRONT_NEIGHBOUR, /* a node of this session is right in front, and tells when it leaves */
  CURATOR_FRONT_PARENT,    /* the parent's children are watched */
  CURATOR_FRONT_FAR,       /* the first watched node is in front, and others may be */
  CURATOR_FRONT_FEW,       /* nothing is in front but the watched nodes and the rest */
  CURATOR_FRONT_LAST,      /* nothing is in front but the watched node */
  CURATOR_FRONT_UNSEEN, /* nothing is in front, and the answer about our own node is outstanding */
  CURATOR_FRONT_RETURN  /* a node that an earlier list has shown is read, and waited for */
} CuratorFrontState;

typedef struct _CuratorFront CuratorFront;

/* What a front tells its owner, with the client's mutex held. */
typedef struct
{
  /* All of it has gone. is_seen: FALSE if the last read of our own node has failed. */
  void (*clear) (CuratorFront *front, gboolean is_seen);
  /* Other nodes may be in front: a list shows them. children: the parent's, if they are known; or NULL. */
  void (*list) (CuratorFront *front, const struct String_vector *children);
  /* The same while the first node is still in front: if this list fails, the end of that node asks for another. */
  void (*list_early) (CuratorFront *front);
  /* A server has shown the node that it comes back behind. */
  void (*waits) (CuratorFront *front);
  void (*own_gone) (CuratorFront *front);
  /* The first watch has failed; nothing is watched any more. */
  void (*failed) (CuratorFront *front, int rc);
} CuratorFrontClass;

struct _CuratorFront
{
  const CuratorFrontClass *klass;
  CuratorOwnNode *own; /* the node behind it; the owner's */
  CuratorFrontState state CURATOR_GUARDED;
  unsigned has_looked : 1 CURATOR_GUARDED; /* our own node was read since one of FEW has ended */
  unsigned
      is_unseen : 1 CURATOR_GUARDED; /* the newest read of our own node has not shown it, or not yet */
  unsigned is_there : 1 CURATOR_GUARDED;  /* RETURN: the read has shown the known node */
  unsigned is_placed : 1 CURATOR_GUARDED; /* RETURN: our own node exists */
  CuratorWatch *first CURATOR_GUARDED;  /* on the node whose end is waited for, or on the parent */
  CuratorWatch *second CURATOR_GUARDED; /* on the node in front of it; or NULL */
  GPtrArray *rest
      CURATOR_GUARDED; /* FEW: leaf names, watched when one of the two has ended; or NULL */
  GPtrArray *rest_watches CURATOR_GUARDED; /* on them, when there is no second one; or NULL */
  CuratorKnownNode *known CURATOR_GUARDED; /* RETURN; or NULL */
};

/* What a list has shown. */
typedef struct
{
  const char *first;  /* leaf name of the node to watch; NULL: the parent's children are watched */
  const char *second; /* of the node in front of it, if its end matters, too; or NULL */
  GPtrArray *rest;    /* FEW: the leaf names of the others; transfer full; or NULL */
  gboolean is_all;    /* first, second and rest are in front, and nothing else, now and later */
  gboolean is_last;   /* first is, and nothing else, now and later */
  gboolean
      is_long; /* both of two nodes in front may end before any answer: our own one is read with them */
} CuratorFrontView;

static inline void
curator_front_init (CuratorFront *front, const CuratorFrontClass *klass, CuratorOwnNode *own)
{
  front->klass = klass;
  front->own = own;
}

/* Waits for what is in view. FALSE if the session cannot watch the first of it. */
gboolean curator_front_wait (CuratorFront *front, const CuratorFrontView *view,
                             CuratorWatchNeed need) CURATOR_LOCKED;
/* Waits for a node of this session: nothing has to be watched. */
void curator_front_wait_for_neighbour (CuratorFront *front) CURATOR_LOCKED;
/* Behind the create: reads a node that an earlier list has shown. known: transfer full. FALSE if the session
 * cannot watch it. */
gboolean curator_front_return (CuratorFront *front, CuratorKnownNode *known) CURATOR_LOCKED;
/* Our own node exists; number: its place in the queue, or -1. TRUE: it waits behind the known node as soon as that
 * is read. FALSE: a list is needed. */
gboolean curator_front_place (CuratorFront *front, gint64 number) CURATOR_LOCKED;
/* Releases every watch, and tells nothing more. */
void curator_front_stop (CuratorFront *front) CURATOR_LOCKED;
