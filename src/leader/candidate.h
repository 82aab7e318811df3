/* One candidate in an election's queue: it attempts, holds, and may attempt again. It is the start of
 * its recipe's object. Guarded by the client's mutex. */
#pragma once

#include "lock/lease-private.h"
#include "lock/lock_internals-private.h"

/* When to queue again after a failure, such as a used-up retry policy. */
#define CURATOR_CANDIDATE_RETRY_US G_USEC_PER_SEC

/* What a recipe does with its candidate: object is the recipe's. Called with the mutex held, but for
 * finalize. */
typedef struct
{
  CuratorTag tag;                    /* of its objects */
  const char *name;                  /* of the recipe, for messages */
  void (*granted) (gpointer object); /* candidate->lease, which may be over already */
  void (*changed) (gpointer object, CuratorLeaseState state); /* of the granted lease */
  gboolean (*leads) (gpointer object);                        /* by the clock */
  void (*finalize) (gpointer object); /* frees what the recipe has added, not the object itself */
} CuratorCandidateClass;

/* The first member of its recipe's struct. */
typedef struct
{
  CuratorTag tag;
  CuratorRefs refs;   /* the user's; at zero the object closes itself */
  CuratorRefs memory; /* one for each of refs, for the attempt, and for what else runs for it */
  const CuratorCandidateClass *klass;
  CuratorLockInternals *internals;
  char *id;
  CuratorLife life CURATOR_GUARDED;
  gboolean requeues CURATOR_GUARDED;   /* after a hold, and after a failure */
  GQueue waits CURATOR_GUARDED;        /* Wait, of curator_candidate_await() */
  GBytes *payload CURATOR_GUARDED;     /* the id; NULL: the client's default data */
  CuratorOp *op CURATOR_GUARDED;       /* the attempt in flight */
  CuratorTimer *timer CURATOR_GUARDED; /* starts the next attempt */
  GError *failure
      CURATOR_GUARDED; /* of the last attempt that failed since the last grant; or NULL */
  CuratorLease *lease CURATOR_GUARDED; /* what the last attempt was granted, LOST ones included */
  CuratorLeaseHook hook;
} CuratorCandidate;

/* path: the user's. Of the two counts, one reference each is the user's. */
void curator_candidate_init (CuratorCandidate *candidate, const CuratorCandidateClass *klass,
                             CuratorClient *client, const char *path, const char *lock_name,
                             const char *id);
/* Of memory, with any state of the mutex. A reference does not keep the object open. Returns it. */
gpointer curator_candidate_ref (gpointer candidate);
void curator_candidate_unref (gpointer candidate);
/* Starts the object and queues. FALSE with ALREADY_STARTED, CLOSED, or INVALID_ARGUMENT for the
 * payload. */
gboolean curator_candidate_start (CuratorCandidate *candidate, GError **error) CURATOR_UNLOCKED;
/* Queues after delay_us. Not while queued or holding. */
void curator_candidate_queue (CuratorCandidate *candidate, gint64 delay_us) CURATOR_LOCKED;
/* The same, if it requeues and neither it nor the client is closed. */
void curator_candidate_queue_again (CuratorCandidate *candidate, gint64 delay_us) CURATOR_LOCKED;
gboolean curator_candidate_is_queued (const CuratorCandidate *candidate) CURATOR_LOCKED;
/* Leaves the queue: neither granted nor failed follows. */
void curator_candidate_withdraw (CuratorCandidate *candidate) CURATOR_LOCKED;
/* Ends the hold, if there is one, without waiting for the server. */
void curator_candidate_step_down (CuratorCandidate *candidate) CURATOR_LOCKED;
/* LeaderLatch.await(). FALSE with TIMED_OUT, NOT_STARTED, CLOSED or G_IO_ERROR_CANCELLED. */
gboolean curator_candidate_await (CuratorCandidate *candidate, gint64 timeout_ms,
                                  GCancellable *cancellable, GError **error) CURATOR_UNLOCKED;
/* Ends what waits: it leads, or never will because it is closed. */
void curator_candidate_end_waits (CuratorCandidate *candidate) CURATOR_LOCKED;
