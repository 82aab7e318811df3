/* What is in front of one node in its queue: the watches on it, and when all of it has gone. */
#pragma once

#include "base/guards.h"
#include "lock/own_node.h"
#include "session/watches.h"

typedef enum
{
  CURATOR_FRONT_NOTHING,   /* no watch tells of our turn; one may be left from before */
  CURATOR_FRONT_NEIGHBOUR, /* a node of this session is right in front, and tells when it leaves */
  CURATOR_FRONT_PARENT,    /* the parent's children are watched */
  CURATOR_FRONT_FAR,       /* the first watched node is in front, and others may be */
  CURATOR_FRONT_LAST       /* nothing is in front but the watched node */
} CuratorFrontState;

typedef struct _CuratorFront CuratorFront;

/* What a front tells its owner, with the client's mutex held. */
typedef struct
{
  /* All of it has gone. */
  void (*clear) (CuratorFront *front);
  /* Other nodes may be in front: a list shows them. children: the parent's, if they are known; or
   * NULL. */
  void (*list) (CuratorFront *front, const struct String_vector *children);
  /* The same while the first node is still in front: if this list fails, the end of that node asks
   * for another. */
  void (*list_early) (CuratorFront *front);
  /* The first watch has failed; nothing is watched any more. */
  void (*failed) (CuratorFront *front, int rc);
} CuratorFrontClass;

/* The owner sets the first two fields, the rest is front.c's. */
struct _CuratorFront
{
  const CuratorFrontClass *klass;
  CuratorOwnNode *own; /* the node behind it; the owner's */
  CuratorFrontState state CURATOR_GUARDED;
  CuratorWatch *first CURATOR_GUARDED;  /* on the node whose end is waited for, or on the parent */
  CuratorWatch *second CURATOR_GUARDED; /* on the node in front of it; or NULL */
};

/* What a list has shown. */
typedef struct
{
  const char *first;  /* leaf name of the node to watch; NULL: the parent's children are watched */
  const char *second; /* of the node in front of it, if its end matters, too; or NULL */
  gboolean is_last;   /* first is in front, and nothing else, now and later */
} CuratorFrontView;

/* Waits for what is in view. FALSE if the session cannot watch the first of it. */
gboolean curator_front_wait (CuratorFront *front, const CuratorFrontView *view,
                             CuratorWatchNeed need) CURATOR_LOCKED;
/* Waits for a node of this session: nothing has to be watched. */
void curator_front_wait_for_neighbour (CuratorFront *front) CURATOR_LOCKED;
/* Releases every watch, and tells nothing more. */
void curator_front_stop (CuratorFront *front) CURATOR_LOCKED;
