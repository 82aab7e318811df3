/* One candidate in an election's queue: it attempts, holds, and may attempt again. Guarded by the
 * client's mutex. */
#pragma once

#include "lock/lease-private.h"
#include "lock/lock_internals-private.h"

/* When to queue again after a failure, such as a used-up retry policy. */
#define CURATOR_CANDIDATE_RETRY_US G_USEC_PER_SEC

/* What a recipe does with its candidate. ref and unref are called with any state of the mutex, the
 * others with the mutex held. */
typedef struct
{
  const char *name;             /* of the recipe, for messages */
  void (*ref) (gpointer owner); /* keeps the owner in memory */
  void (*unref) (gpointer owner);
  void (*granted) (gpointer owner); /* candidate->lease, which may be over already */
  void (*changed) (gpointer owner, CuratorLeaseState state); /* of the granted lease */
  gboolean (*leads) (gpointer owner);                        /* by the clock */
} CuratorCandidateClass;

typedef struct
{
  const CuratorCandidateClass *klass;
  gpointer owner;
  CuratorLockInternals *internals;
  CuratorLife life CURATOR_GUARDED;    /* of the owner */
  gboolean requeues CURATOR_GUARDED;   /* after a hold, and after a failure */
  GQueue waits CURATOR_GUARDED;        /* known to leader_await.c */
  GBytes *payload CURATOR_GUARDED;     /* the id; NULL: the client's default data */
  CuratorOp *op CURATOR_GUARDED;       /* the attempt in flight */
  CuratorTimer *timer CURATOR_GUARDED; /* starts the next attempt */
  GError *failure
      CURATOR_GUARDED; /* of the last attempt that failed since the last grant; or NULL */
  CuratorLease *lease CURATOR_GUARDED; /* what the last attempt was granted, LOST ones included */
  CuratorLeaseHook hook;
} CuratorCandidate;

/* path: the user's. */
void curator_candidate_init (CuratorCandidate *candidate, const CuratorCandidateClass *klass,
                             gpointer owner, CuratorClient *client, const char *path,
                             const char *lock_name);
/* Withdrawn before; no lease. */
void curator_candidate_clear (CuratorCandidate *candidate);
/* Starts the owner and queues. FALSE with ALREADY_STARTED, CLOSED, or INVALID_ARGUMENT for the
 * payload. */
gboolean curator_candidate_start (CuratorCandidate *candidate, GError **error) CURATOR_UNLOCKED;
GError *curator_candidate_closed_error (const CuratorCandidate *candidate);
/* Queues after delay_us. Not while queued or holding. */
void curator_candidate_queue (CuratorCandidate *candidate, gint64 delay_us) CURATOR_LOCKED;
/* The same, if it requeues and neither its owner nor the client is closed. */
void curator_candidate_queue_again (CuratorCandidate *candidate, gint64 delay_us) CURATOR_LOCKED;
gboolean curator_candidate_is_queued (const CuratorCandidate *candidate) CURATOR_LOCKED;
/* Leaves the queue: neither granted nor failed follows. */
void curator_candidate_withdraw (CuratorCandidate *candidate) CURATOR_LOCKED;
/* Ends the hold, if there is one, without waiting for the server. */
void curator_candidate_step_down (CuratorCandidate *candidate) CURATOR_LOCKED;
