/* Between the registrations that user_code_headers writes and the test that makes them and judges
 * where the functions of a program run. */
#pragma once

#include <curator/curator.h>
#include <curator/lock_internals.h>

#define USER_CODE_MAX 6 /* functions of one registration */

/* Where a function may run. A GDestroyNotify may run at all of them. */
typedef enum
{
  PLACE_CALLBACK, /* on a thread of callbacks, or in the program's context if it named one */
  PLACE_QUESTION, /* on the thread of questions, or inside a call of the program's */
  PLACE_SORTING,  /* there, or where a callback may be */
  PLACE_LEADER,   /* on the leader's own thread */
  PLACE_DESTROY
} Place;

typedef enum
{
  REGISTER_BEFORE_CLIENT,
  REGISTER_BEFORE_START,
  REGISTER_WITH_OBJECTS,
  REGISTER_WITH_LEASE,
  REGISTER_LAST, /* asynchronous calls: one callback, and no end */
  N_MOMENTS
} Moment;

typedef struct _World World;
typedef struct _Registration Registration;

typedef struct
{
  const char *function;
  Moment moment;
  void (*registers) (World *world, Registration *registration);
  void (*clear) (World *world, Registration *registration); /* or NULL */
  gboolean is_replaced;                                     /* by the next registration */
  const char *kinds[USER_CODE_MAX];                         /* of the functions, until NULL */
} UserCode;

/* The user data of one registration. It is freed with its world, so that a late call is seen. */
struct _Registration
{
  const UserCode *code;
  World *world;
  guint id;
  gint calls[USER_CODE_MAX]; /* atomic: by kind, before the function does anything */
  gint ended[USER_CODE_MAX]; /* atomic: the same, afterwards */
};

/* One client, and an object of each type. */
struct _World
{
  CuratorClient *client;
  CuratorClient *closed;
  GPtrArray *no_leases;
  CuratorLock *lock;
  CuratorLease *lease;
  CuratorSemaphore *semaphore;
  CuratorSharedCount *count;
  CuratorLeaderLatch *latch;
  CuratorLeaderSelector *selector;
  CuratorLockDriver *driver;
  CuratorRetryPolicy *policy;
};

extern const UserCode user_codes[];
extern const guint n_user_codes;

/* Notes the thread, and blocks it if that is this world's task. */
void user_code_arrive (gpointer registration, const char *kind, Place place);
void user_code_destroy (gpointer registration);

/* A path of this world's own. Valid as long as the world. */
const char *user_code_path (World *world, const char *name);
/* What the standard driver does. */
void user_code_standard_predicate (const char *const *children, gsize n_children, const char *own,
                                   guint max_leases, CuratorPredicateResults *results);
const char *user_code_standard_key (const char *name);
