/* What a list of children means for one of them (LockInternals). Pure but for a user's driver;
 * any thread. */
#pragma once

#include "lock/lock_internals-private.h"
#include "lock/queue.h"

typedef enum
{
  VERDICT_MISSING,    /* the node is not in the list */
  VERDICT_UNNUMBERED, /* a sequential node, but the driver finds no number in its name */
  VERDICT_EXHAUSTED,  /* its number is of a counter that is at its end */
  VERDICT_TIED,       /* watch has the same number, so they have no order */
  VERDICT_GRANTED,
  VERDICT_WAIT
} CuratorVerdictKind;

typedef struct
{
  CuratorVerdictKind kind;
  const char *watch;        /* leaf name, valid as long as the queue; NULL: the parent's children */
  const char *second_watch; /* the leaf name in front of watch, if its end matters, too; or NULL */
  gboolean is_next;         /* the node to watch is the last one in front, now and later */
  gboolean is_near;         /* the node to watch holds the lock: its end may be the grant */
  gsize n_foreign;          /* children that are no lock nodes */
} CuratorVerdict;

/* The verdict on a node with a number. own: its leaf name. */
CuratorVerdict curator_judge (CuratorLockInternals *internals, int max_leases, const char *own,
                              CuratorQueue *queue);
/* Of a verdict to wait: without the nodes that this client has given up and is about to delete, the
 * lock would be granted now. */
gboolean curator_verdict_is_for_litter (const CuratorVerdict *verdict,
                                        CuratorLockInternals *internals, const char *own,
                                        const CuratorQueue *queue) CURATOR_LOCKED;
/* The verdict of a user's driver on any node, without the client's mutex. Fills queue from
 * children, which must outlive it. */
CuratorVerdict curator_judge_by_user (CuratorLockInternals *internals, int max_leases,
                                      const char *own, gboolean sequential,
                                      const GPtrArray *children, CuratorQueue *queue);
