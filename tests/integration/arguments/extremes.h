/* Between the calls that extreme_headers writes and the test that makes and judges them. */
#pragma once

#include "integration/program.h"

#include <curator/lock_internals.h>

/* Which values a number gets. */
typedef enum
{
  VALUES_LONG,
  VALUES_INT,
  VALUES_UNSIGNED,
  VALUES_SIZE /* what is above G_MAXSSIZE is kept as a negative number */
} Values;

/* What a value from the first to the last one does; others are refused. */
typedef enum
{
  RULE_WAIT,      /* a timeout: long ones wait until they are cancelled, negative ones are 0 */
  RULE_RELEASE,   /* of a release: nothing is held any more, whether or not a server confirms */
  RULE_SETTING,   /* the client starts and can be used; others are refused by start */
  RULE_LIMITED,   /* succeeds, and what is made can be used */
  RULE_IN_MEMORY, /* a length: there is no memory to go with others, which are left out */
  RULE_NODE_DATA, /* others are refused by the next acquire */
  RULE_REQUEST,   /* the same, of a node request */
  RULE_MAX_HOLD,  /* a hold ends then */
  RULE_COUNT,     /* a shared count has this value */
  RULE_VERSION,   /* sets a shared count only if it is the present one; -1 is refused */
  RULE_INDEX,     /* others are beyond the end */
  RULE_MODE,      /* others are critical messages */
  RULE_NAME,      /* a text, or NULL */
  RULE_POLICY,    /* clamped: a policy with a defined answer to every question */
  RULE_SLEEP,     /* of a question to a policy */
  RULE_ANY        /* ignored, or a truth value */
} Rule;

/* What a call gets. Borrowed from the scene, or made for this call. */
typedef struct
{
  gint64 value; /* of the number */
  GCancellable *cancellable;
  CuratorClient *client;
  CuratorLock *lock;
  CuratorLock *locks[2];
  CuratorLease *lease;
  CuratorLease *held_lease; /* to be released; with the lock, and the leases of the semaphore */
  GPtrArray *held_leases;
  CuratorSemaphore *semaphore;
  CuratorSharedCount *count;
  CuratorLeaderLatch *latch;
  CuratorLeaderSelector *selector;
  CuratorRetryPolicy *policy;
  CuratorLockDriver *driver;
  CuratorInspection *inspection;
  CuratorTls *tls;
  CuratorNodeRequest *request;
  zhandle_t *zh;
  const char *node;
  gint32 version; /* of the count */
  char path[64];
} Stage;

typedef struct
{
  gboolean succeeded;
  gpointer result;
  GDestroyNotify drop; /* of the result; NULL: borrowed */
  GError *error;
  gint64 number;
  gboolean flag;
  gint answered; /* atomic */
} Outcome;

typedef struct
{
  const char *function;
  const char *parameter;
  void (*run) (Stage *stage, Outcome *outcome);
  Values values;
  Rule rule;
  gint64 first;
  gint64 last;
  gboolean is_then; /* answers by a callback */
} Extreme;

/* Written by extreme_headers. */
extern const Extreme extremes[];
extern const guint n_extremes;

extern gint extreme_n_criticals; /* atomic; since the call began */

/* Arguments. */
extern const char *extreme_base;         /* of new paths */
const char *extreme_path (Stage *stage); /* a new one */
const void *extreme_bytes (void);        /* "ab" and zeros, 4097 in all */
guint64 *extreme_counters (void);        /* 4097 */
/* By a callback. */
void extreme_answer (Outcome *outcome, gpointer result, GDestroyNotify drop, const GError *error);
/* Waits for the answer, unless the call was refused with a critical message. */
void extreme_await (const Extreme *extreme, Outcome *outcome);

/* What is in the way of what waits. */
typedef enum
{
  OBSTACLE_NONE,
  OBSTACLE_HOLDER, /* or, for what asks only the server, one that is silent */
  OBSTACLE_SILENT_SERVER,
  OBSTACLE_NO_SERVER
} Obstacle;

/* The objects of all calls. */
typedef struct _Scene Scene;
/* The connection timeout is also that of CURATOR_WAIT_DEFAULT. */
Scene *scene_new (Fixture *fixture, int connection_timeout_ms);
void scene_free (Scene *scene);
/* Whether a function with a timeout waits for no other participant. */
gboolean extreme_asks_only_server (const char *function);
void scene_enter (Scene *scene, Stage *stage, const Extreme *extreme, Obstacle obstacle);
void scene_leave (Scene *scene, Stage *stage, const Extreme *extreme);
