/* What a list of children means for one of them. */
#ifndef CURATOR_VERDICT_H
#define CURATOR_VERDICT_H

#include "lock/lock_internals-private.h"
#include "lock/queue.h"

typedef enum
{
  VERDICT_MISSING,   /* the node is not in the list */
  VERDICT_EXHAUSTED, /* the sequence numbers are at their end: nobody may be granted anything */
  VERDICT_GRANTED,
  VERDICT_WAIT
} CuratorVerdictKind;

typedef struct
{
  CuratorVerdictKind kind;
  const char
      *watch; /* leaf name to watch, as long as order is there; NULL: the parent's children */
  const char *second_watch; /* one more, whose end brings the head of the queue nearer; or NULL */
  gboolean is_next;         /* when the one to watch goes there is nobody in front, now or later */
  gsize n_foreign;          /* children that take no part */
} CuratorVerdict;

/* @locks client mutex held for a driver of ours, none for a user's. own: the node's leaf name. */
CuratorVerdict curator_judge (CuratorLockInternals *internals, int max_leases, const char *own,
                              const CuratorQueue *order, gboolean sequential);

#endif
