/* The state of one attempt, shared by the files that advance it.
 *
 * attempt.c makes the node, attempt_wait.c waits in the queue, attempt_find.c looks for a node whose
 * creation is in doubt, attempt_end.c grants, fails and cleans up. All of it is guarded by the
 * client's mutex.
 */
#ifndef CURATOR_ATTEMPT_PRIVATE_H
#define CURATOR_ATTEMPT_PRIVATE_H

#include "client/lease_clock.h"
#include "client/log.h"
#include "client/parents.h"
#include "client/reaper.h"
#include "client/request.h"
#include "client/retry_loop.h"
#include "client/watches.h"
#include "guards.h"
#include "lock/line.h"
#include "lock/lock_internals-private.h"
#include "lock/own_watch.h"
#include "lock/verdict.h"

typedef enum
{
  ATTEMPT_STARTING,   /* waiting for a connection, or sleeping between tries */
  ATTEMPT_CREATING,   /* create and list are under way */
  ATTEMPT_PARENTS,    /* making the containers above */
  ATTEMPT_FINDING,    /* the create's outcome is unknown: looking for the GUID */
  ATTEMPT_NAME_TAKEN, /* the name is taken: looking whose the node is */
  ATTEMPT_LISTING,
  ATTEMPT_DECIDING,   /* a user's driver has been asked */
  ATTEMPT_WAITING,    /* somebody in front is watched */
  ATTEMPT_CONFIRMING, /* ours, and a quorum is asked whether we are still there */
  ATTEMPT_DELETING,   /* failed; the node is being deleted */
  ATTEMPT_DONE
} AttemptState;

typedef struct
{
  CuratorOp op;
  CuratorLockInternals *internals;
  void (*granted) (CuratorLease *lease, gpointer data); /* takes the lease; or NULL */
  CuratorNodeRequest *request; /* its own, or the plain one, which is everybody's */
  AttemptState state CURATOR_GUARDED;
  /* Bits, because there may be thousands of attempts. */
  unsigned once : 1;
  unsigned linked : 1 CURATOR_GUARDED;
  unsigned restarting : 1 CURATOR_GUARDED;
  unsigned unknown : 1 CURATOR_GUARDED; /* a create of this session may have succeeded unseen */
  unsigned watches_parent : 1 CURATOR_GUARDED;
  unsigned is_next : 1 CURATOR_GUARDED; /* when the one watched goes, nobody is in front */
  unsigned has_waited : 1 CURATOR_GUARDED;
  GList link; /* in internals->attempts while it has a node */

  CuratorSession *session CURATOR_GUARDED; /* the one that the node belongs to */
  CuratorSessionHook hook CURATOR_GUARDED;
  CuratorRetryLoop tries CURATOR_GUARDED;    /* of the present step */
  CuratorRetryLoop restarts CURATOR_GUARDED; /* after the node or its session vanished */

  char *prefix
      CURATOR_GUARDED; /* "_c_<uuid>-", if protected; until there is a node, whose name begins so */
  GBytes *payload CURATOR_GUARDED;       /* what the node is created with */
  char *node CURATOR_GUARDED;            /* full path of our node */
  char *candidate CURATOR_GUARDED;       /* full path of a node that may be ours */
  GPtrArray *candidates CURATOR_GUARDED; /* full paths of further ones */
  gint64 czxid CURATOR_GUARDED;
  CuratorRequest *create CURATOR_GUARDED;
  CuratorRequest *read CURATOR_GUARDED; /* list, sync, get or check under way */
  CuratorRequest *list CURATOR_GUARDED; /* the one sent behind the create */
  CuratorParents *parents CURATOR_GUARDED;
  CuratorWatch *watch CURATOR_GUARDED;
  CuratorWatch *second_watch CURATOR_GUARDED; /* on the one in front of the one watched */
  CuratorLine *line CURATOR_GUARDED;
  CuratorPlace place CURATOR_GUARDED;
  CuratorListingUser listing CURATOR_GUARDED;
  guint64 create_number CURATOR_GUARDED; /* of the line */
  CuratorStake stake CURATOR_GUARDED;
  CuratorOwnWatch *own_watch CURATOR_GUARDED;
  guint64 question CURATOR_GUARDED; /* rises with each question to a user's driver */
  gint64 called_us;
  GError *failure CURATOR_GUARDED; /* what the operation ends with, while DELETING */
} Attempt;

gboolean curator_attempt_is_sequential (const Attempt *attempt);
gboolean curator_attempt_is_ephemeral (const Attempt *attempt);
gboolean curator_attempt_has_queue (const Attempt *attempt);
/* Waiters of one session with consecutive numbers pass the lock on among themselves. */
gboolean curator_attempt_has_neighbours (const Attempt *attempt) CURATOR_LOCKED;
/* Of its node, without prefix and number. */
const char *curator_attempt_name (const Attempt *attempt);

void curator_attempt_set_state (Attempt *attempt, AttemptState state) CURATOR_LOCKED;
void curator_attempt_forget_request (CuratorRequest **request) CURATOR_LOCKED;
/* The read or listing under way, if there is one. */
void curator_attempt_forget_read (Attempt *attempt) CURATOR_LOCKED;
/* Enters a state whose step is tried now, and again as the policy says. */
void curator_attempt_enter (Attempt *attempt, AttemptState state) CURATOR_LOCKED;
/* After a failed request: another try, or the end. */
void curator_attempt_step_failed (Attempt *attempt, int rc, const char *what) CURATOR_LOCKED;

/* The steps of the states; which is whose, the table in attempt.c says. */
void curator_attempt_create (gpointer attempt) CURATOR_LOCKED;
void curator_attempt_list (gpointer attempt) CURATOR_LOCKED;
void curator_attempt_find (gpointer attempt) CURATOR_LOCKED;
void curator_attempt_check_owner (gpointer attempt) CURATOR_LOCKED;
void curator_attempt_confirm (gpointer attempt) CURATOR_LOCKED;

/* The answer to a listing that others of ours may have asked for too. */
void curator_attempt_on_listed (int rc, const CuratorZkReply *reply, CuratorOrder *order,
                                gpointer attempt) CURATOR_LOCKED;
/* The answer to the list that was sent behind the create. */
void curator_attempt_on_first_list (int rc, const CuratorZkReply *reply, gint64 sent_us,
                                    gpointer attempt) CURATOR_LOCKED;
/* path is our node's, made in the present session. */
void curator_attempt_adopt_node (Attempt *attempt, const char *path, gint64 czxid) CURATOR_LOCKED;
void curator_attempt_apply (Attempt *attempt, const CuratorVerdict *verdict) CURATOR_LOCKED;
/* leaf NULL: the parent's children. further may be NULL. */
void curator_attempt_wait_for (Attempt *attempt, const char *leaf,
                               const char *second) CURATOR_LOCKED;
/* For place.turn. */
void curator_attempt_on_ahead_left (CuratorPlace *place, gboolean released,
                                    const char *leaf) CURATOR_LOCKED;
void curator_attempt_wait_behind (Attempt *attempt) CURATOR_LOCKED;
void curator_attempt_stop_watching (Attempt *attempt) CURATOR_LOCKED;

/* The predicate says ours. */
void curator_attempt_grant (Attempt *attempt) CURATOR_LOCKED;
/* What the node is to be made under is not held any more; the attempt has then failed. */
gboolean curator_attempt_lost_required_hold (Attempt *attempt) CURATOR_LOCKED;
/* The node or its session is gone: to the tail of the queue. */
void curator_attempt_restart (Attempt *attempt, int rc) CURATOR_LOCKED;
/* Takes error. */
void curator_attempt_fail (Attempt *attempt, GError *error) CURATOR_LOCKED;
void curator_attempt_fail_zk (Attempt *attempt, int rc, const char *what) CURATOR_LOCKED;
/* Back to where nothing is under way, watched or on the server. */
void curator_attempt_reset (Attempt *attempt) CURATOR_LOCKED;
void curator_attempt_cancel (CuratorOp *op, GError *reason) CURATOR_LOCKED;

#endif
