/* The state of one attempt to acquire a lock path, which the attempt*.c files share. */
#pragma once

#include "base/guards.h"
#include "core/log.h"
#include "lock/front.h"
#include "lock/local_queue.h"
#include "lock/lock_internals-private.h"
#include "lock/own_node.h"
#include "lock/verdict.h"
#include "nodes/deletion.h"
#include "nodes/parents.h"
#include "session/lease_clock.h"
#include "session/request.h"
#include "session/retry_loop.h"
#include "session/watches.h"

typedef enum
{
  ATTEMPT_STARTING,   /* waiting for a connection, or sleeping between tries */
  ATTEMPT_CREATING,   /* create and list are in flight */
  ATTEMPT_PARENTS,    /* creating the parents */
  ATTEMPT_FINDING,    /* the create's outcome is unknown: looking for the GUID */
  ATTEMPT_NAME_TAKEN, /* the name exists: checking who owns it */
  ATTEMPT_LISTING,
  ATTEMPT_DECIDING,   /* a user's driver is deciding */
  ATTEMPT_WAITING,    /* a node in front is watched */
  ATTEMPT_CONFIRMING, /* first in the queue: a quorum confirms the session */
  ATTEMPT_DELETING,   /* failed; the node is being deleted */
  ATTEMPT_DONE
} AttemptState;

typedef struct
{
  CuratorOp op;
  CuratorLockInternals *internals;
  void (*granted) (CuratorLease *lease, gpointer data); /* takes the lease; or NULL */
  CuratorAttemptHook *batch_hook CURATOR_GUARDED; /* while it may be granted by its first list */
  /* Small, because there may be thousands of attempts. */
  guint32 question CURATOR_GUARDED; /* counts the questions to a user's driver */
  AttemptState state : 8 CURATOR_GUARDED;
  unsigned once : 1;
  unsigned linked : 1 CURATOR_GUARDED;
  unsigned counted_as_waiter : 1 CURATOR_GUARDED;      /* in the client's n_waiting */
  unsigned withdrawn : 1 CURATOR_GUARDED;              /* another attempt on the path will follow */
  unsigned contender_shown : 1 CURATOR_GUARDED;        /* in front, by a server, in this session */
  unsigned ahead_is_being_deleted : 1 CURATOR_GUARDED; /* and nothing else is in front */
  GList link; /* in internals->attempts while it has a node */

  CuratorSessionHook session_hook CURATOR_GUARDED;
  CuratorRetryLoop tries CURATOR_GUARDED;     /* of the current step */
  CuratorRetryLoop *restarts CURATOR_GUARDED; /* NULL until the node vanished in this session */

  CuratorOwnNode own CURATOR_GUARDED;
  CuratorFront front CURATOR_GUARDED;
  CuratorParents *parents CURATOR_GUARDED;
  CuratorLocalQueue *local_queue CURATOR_GUARDED;
  CuratorQueueSlot slot CURATOR_GUARDED;
  CuratorListingUser listing CURATOR_GUARDED;
  guint64 create_number CURATOR_GUARDED; /* counted by the local queue */
  gint64 called_us;
  GError *failure CURATOR_GUARDED; /* the operation's error, while DELETING */
} Attempt;

void curator_attempt_set_state (Attempt *attempt, AttemptState state) CURATOR_LOCKED;
/* Enters a state and runs its step now; the policy decides on retries. */
void curator_attempt_enter (Attempt *attempt, AttemptState state) CURATOR_LOCKED;
/* After a failed request: retries the step or fails the attempt. */
void curator_attempt_step_failed (Attempt *attempt, int rc, const char *what) CURATOR_LOCKED;

/* The step of LISTING. */
void curator_attempt_list (Attempt *attempt) CURATOR_LOCKED;
/* The answer to that of CONFIRMING. */
void curator_attempt_on_confirmed (CuratorOwnNode *node) CURATOR_LOCKED;

/* The answer to a listing, which several attempts may share. */
void curator_attempt_on_listed (CuratorListingUser *user, int rc, const CuratorZkReply *reply,
                                CuratorSortedList *list) CURATOR_LOCKED;
/* list: the children as another attempt has sorted them; or all zero. */
void curator_attempt_decide (Attempt *attempt, const struct String_vector *children,
                             CuratorSortedList *list) CURATOR_LOCKED;
void curator_attempt_apply_verdict (Attempt *attempt, const CuratorVerdict *verdict) CURATOR_LOCKED;
/* FALSE for a single try with a contender in front, which has then failed. */
gboolean curator_attempt_begin_to_wait (Attempt *attempt) CURATOR_LOCKED;
/* The same, and watches what is in front. */
void curator_attempt_wait (Attempt *attempt, const CuratorFrontView *view) CURATOR_LOCKED;

/* It is its turn. Without a recent proof of session and node, a quorum confirms them before.
 * must_confirm: a recent proof does not do. */
void curator_attempt_grant (Attempt *attempt, gboolean must_confirm) CURATOR_LOCKED;
/* TRUE if the hold that the node requires is lost; the attempt has then failed. */
gboolean curator_attempt_lost_required_hold (Attempt *attempt) CURATOR_LOCKED;
/* The node or its session is gone: starts over at the queue's tail. */
void curator_attempt_restart (Attempt *attempt, int rc) CURATOR_LOCKED;
/* data: Attempt. */
void curator_attempt_on_retries_exhausted (gpointer data, int rc) CURATOR_LOCKED;
/* path: the full one. */
void curator_attempt_note_outcome (Attempt *attempt, CuratorTraceKind kind,
                                   const char *path) CURATOR_LOCKED;
/* The operation's end. Takes lease or error. */
void curator_attempt_finish (Attempt *attempt, CuratorLease *lease, GError *error) CURATOR_LOCKED;
/* Takes error. */
void curator_attempt_fail (Attempt *attempt, GError *error) CURATOR_LOCKED;
/* For a single try: another contender is in front. */
void curator_attempt_refuse (Attempt *attempt) CURATOR_LOCKED;
/* Drops every request, watch and node of the attempt. */
void curator_attempt_reset (Attempt *attempt) CURATOR_LOCKED;
void curator_attempt_cancel (CuratorOp *op, GError *reason) CURATOR_LOCKED;
/* TIMED_OUT if a server has shown a contender in front, NO_ANSWER or CONNECTION_LOST if not. */
GError *curator_attempt_timed_out (CuratorOp *op) CURATOR_LOCKED;
