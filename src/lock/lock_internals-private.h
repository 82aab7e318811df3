/* The engine's inside: what a lock path needs, drivers, node requests, attempts (LockInternals).
 *
 * Everything is guarded by the client's mutex unless a line says otherwise.
 */
#ifndef CURATOR_LOCK_INTERNALS_PRIVATE_H
#define CURATOR_LOCK_INTERNALS_PRIVATE_H

#include "client/op.h"
#include "client/session.h"
#include "curator/lock_internals.h"
#include "guards.h"

struct _CuratorNodeRequest
{
  char *name; /* NULL: the lock's */
  CuratorCreateMode mode;
  GBytes *data; /* NULL: the lock's, or the client's default */
  gboolean protected_;
  CuratorLease
      *required_hold; /* a hold, referenced, without which the node must not be made; or NULL */
};

struct _CuratorLockDriver
{
  CuratorRefs refs;
  CuratorLockDriverFuncs funcs;
  gpointer user_data;
  GDestroyNotify destroy;
  gboolean is_builtin; /* its functions are the library's own and run under our mutex */
  gboolean nothing_overtakes;
  gboolean neighbours_succeed; /* of two with consecutive numbers the second is next, see line.h */
};

/* A driver of the library's: never calls the user. */
CuratorLockDriver *curator_lock_driver_new_builtin (const CuratorLockDriverFuncs *funcs,
                                                    gpointer user_data);
/* Queues in which nothing but the order counts; the one for all of them. Borrowed. */
CuratorLockDriver *curator_lock_driver_standard (void);
/* The standard driver's decisions, for drivers that refine them. */
const char *curator_standard_fix_for_sorting (CuratorLockDriver *driver, const char *name,
                                              const char *lock_name, gpointer user_data);
void curator_standard_gets_the_lock (CuratorLockDriver *driver, const char *const *children,
                                     gsize n_children, const char *sequence_node_name,
                                     int max_leases, CuratorPredicateResults *results,
                                     gpointer user_data);
const char *curator_lock_driver_key (CuratorLockDriver *driver, const char *name,
                                     const char *lock_name);

typedef struct _CuratorRevocable CuratorRevocable;

/* One lock path as a recipe uses it; shared by the recipe's object and its attempts and leases. */
typedef struct
{
  CuratorRefs refs;
  CuratorClient *client; /* a memory reference */
  char *base;            /* full path of the parent of the lock nodes */
  char *lock_name;
  CuratorLockDriver *driver;
  GBytes *data;                   /* payload; NULL: the client's default */
  int max_leases CURATOR_GUARDED; /* guarded by the client's mutex, like all below */
  GQueue attempts;                /* those waiting, for curator_lock_internals_recheck() */
  CuratorRevocable *revocable CURATOR_GUARDED;
} CuratorLockInternals;

/* base: the user's path. The driver is referenced. data may be NULL. */
CuratorLockInternals *curator_lock_internals_new (CuratorClient *client, const char *path,
                                                  const char *lock_name, int max_leases,
                                                  CuratorLockDriver *driver, GBytes *data);
CuratorLockInternals *curator_lock_internals_ref (CuratorLockInternals *internals);
void curator_lock_internals_unref (CuratorLockInternals *internals);

/* fixForSorting with the path's driver: a CuratorQueueKeyFunc over a CuratorLockInternals. */
const char *curator_lock_internals_key (const char *name, gpointer internals);

/* What an attempt is to do, and who hears of its end. */
typedef struct
{
  CuratorNodeRequest *request; /* transfer full; NULL: what the driver describes */
  gint64 deadline_us;
  gboolean once; /* does not wait for anybody in front: ends with TIMED_OUT */
  /* @locks client mutex held. May be NULL: then the op's result is the CuratorLease. Otherwise it
   * takes the lease at the moment of the grant, and the op has no result. */
  void (*granted) (CuratorLease *lease, gpointer data);
  CuratorOpDone done;
  gpointer data; /* for both */
} CuratorAttemptSpec;

/* One attempt to be granted the path. */
CuratorOp *curator_lock_internals_attempt (CuratorLockInternals *internals,
                                           const CuratorAttemptSpec *spec) CURATOR_UNLOCKED;
/* The same; the driver is not asked, and no request is the plain one. */
CuratorOp *curator_lock_internals_attempt_locked (CuratorLockInternals *internals,
                                                  const CuratorAttemptSpec *spec) CURATOR_LOCKED;
/* What may be granted has changed: every waiter looks again. */
void curator_lock_internals_recheck (CuratorLockInternals *internals) CURATOR_LOCKED;
/* Full wire names in order, as user paths, holder first; foreign
 * children are left out. accept (may be NULL) filters by leaf name. */
char **curator_lock_internals_participants (CuratorLockInternals *internals,
                                            gboolean (*accept) (const char *name),
                                            GError **error) CURATOR_UNLOCKED;

/* For a lock without a queue: its node, if there is one. */
char **curator_lock_internals_one_participant (CuratorLockInternals *internals,
                                               GError **error) CURATOR_UNLOCKED;

/* What most attempts want: a protected ephemeral of the lock's name. Everybody's, not to be freed. */
CuratorNodeRequest *curator_node_request_default (void);
CuratorNodeRequest *curator_node_request_new (const char *name);
void curator_node_request_free (CuratorNodeRequest *request);

#endif
