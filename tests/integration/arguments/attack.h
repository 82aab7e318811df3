/* Between the calls that attack_headers writes and the test that makes and judges them. */
#pragma once

#include "integration/fixture.h"

#include <curator/lock_internals.h>
#include <curator/zookeeper.h>

/* The state of the objects that a call gets. */
typedef enum
{
  STATE_LIVE,
  STATE_LATENT,    /* the client was not started */
  STATE_UNSTARTED, /* the object itself was not started, but the client */
  STATE_ENDED,     /* released or closed, the client lives */
  STATE_CLOSED,    /* the client is closed */
  STATE_FORKED,    /* in a child process */
  N_STATES
} AttackState;

/* One object of each type, of one client, and locks of one kind. */
typedef struct
{
  AttackState state;
  guint lock_kind;
  const char *address;
  gboolean is_over; /* nothing can be created any more */
  CuratorClient *client;
  CuratorLock *plain_lock;
  CuratorLease *lease;
  CuratorNodeRequest *request;
  const CuratorTraceEvent *event; /* while a trace function runs */
  CuratorLeaderLatch *led;
  CuratorLeaderParticipant *leader;
  CuratorInspection *inspection;
  guint other; /* which object attack_other () gives */
  gpointer objects[30];
} World;

/* Makes one call. FALSE if the world lacks an object for it. */
typedef struct
{
  gboolean (*run) (World *world);
  const char *function;
  AttackState state;
  gboolean on_locks;  /* worth repeating for each kind of lock */
  gboolean in_driver; /* needs a node request */
  gboolean of_other;  /* with an object of another kind: for each that there is */
} Attack;

typedef enum
{
  EXPECT_CRITICAL, /* one critical message, nothing returned, no error */
  EXPECT_STALE,    /* the same, and the error that was set is unchanged */
  EXPECT_REFUSED,  /* the same as CRITICAL, or an error for an invalid argument */
  EXPECT_FAILS,    /* with one of the given codes */
  EXPECT_LATER,    /* the same as REFUSED, or accepted, and refused on first use */
  EXPECT_ALLOWED,  /* the argument is valid by its documentation */
  EXPECT_STRANGE,  /* ignored or clamped */
  EXPECT_NULLISH,  /* nothing returned */
  EXPECT_HARMLESS  /* whatever it returns */
} Expectation;

/* Masks of codes. */
#define CODE(name)            (G_GUINT64_CONSTANT (1) << CURATOR_ERROR_##name)
#define CODE_INVALID_ARGUMENT CODE (INVALID_ARGUMENT)
#define CODE_NOT_STARTED      CODE (NOT_STARTED)
#define CODE_CLOSED           CODE (CLOSED)
#define CODE_TIMED_OUT        CODE (TIMED_OUT)
#define CODE_NOT_OWNER        CODE (NOT_OWNER)
#define CODE_LOCK_LOST        CODE (LOCK_LOST)
#define CODE_UNSUPPORTED      CODE (UNSUPPORTED)
#define CODE_FORKED           CODE (FORKED)
#define CODE_LIMIT_EXCEEDED   CODE (LIMIT_EXCEEDED)
#define CODE_ALREADY_STARTED  CODE (ALREADY_STARTED)
#define CODE_CANCELLED        (G_GUINT64_CONSTANT (1) << 63)

/* An object of one type. NULL if the world lacks it. */
typedef struct
{
  const char *kind;
  gpointer (*obtain) (World *world);
} AttackObject;

/* The kind of curator_mutex_new () */
#define ATTACK_PLAIN_KIND 3

/* Written by attack_headers. */
extern const AttackObject attack_objects[];
extern const guint n_attack_objects;
extern const Attack attacks[];
extern const guint n_attacks;
extern const guint n_attacked_functions;
extern const guint attack_n_lock_kinds;
CuratorLock *obtain_CuratorLock (World *world);
void attack_obtain_all (World *world);
void attack_end_all (World *world);
void attack_drop_all (World *world);

/* Values. */
CuratorClient *obtain_CuratorClient (World *world);
CuratorLease *obtain_CuratorLease (World *world);
CuratorNodeRequest *obtain_CuratorNodeRequest (World *world);
CuratorLock *attack_plain_lock (World *world);
CuratorClient *attack_fresh_CuratorClient (World *world);
CuratorSemaphore *attack_fresh_CuratorSemaphore (World *world);
const char *attack_long_path (void);
const void *attack_bytes (void);
GCancellable *attack_cancelled (void);
GError *attack_stale_error (void);
GPtrArray *attack_no_leases (void);
GPtrArray *attack_null_leases (void);
zhandle_t *attack_foreign_handle (void);
const CuratorTraceEvent *attack_borrow_CuratorTraceEvent (World *world);
const CuratorParticipant *attack_borrow_CuratorParticipant (World *world);
const CuratorLeaderParticipant *attack_borrow_CuratorLeaderParticipant (World *world);
/* The object whose turn it is; NULL if it is of this kind. */
gpointer attack_other (World *world, const char *kind);
/* An array of one kind with the object whose turn it is as the last one. */
GPtrArray *attack_array_of_other (World *world, const char *kind);

/* Around each call. */
void attack_begin (World *world, const char *function, const char *argument, const char *value);
void attack_end (World *world, Expectation expectation, guint64 codes, gboolean is_null,
                 GError **error);
/* The same for a call that answers through a callback. */
void attack_answered (World *world, Expectation expectation, guint64 codes, gboolean is_null,
                      GError **error);
void attack_answer (const GError *error, gboolean is_null);
/* What was accepted must be refused by the first use. */
void attack_later_CuratorClient (CuratorClient *client);
void attack_later_CuratorSemaphore (CuratorSemaphore *semaphore);
void attack_later_CuratorNodeRequest (CuratorNodeRequest *request);

/* For the tests. A new world holds a lease, unless its state does not allow it. */
extern guint attack_n_failures;
extern guint attack_n_calls;
extern gboolean attack_is_cancellable; /* the calling thread, during the calls */
extern const guint attack_n_others;    /* objects that are not the library's */
World *attack_world_new (Fixture *fixture, AttackState state, guint lock_kind);
void attack_world_free (World *world);
/* Makes all calls of the world's state. Returns how many lacked an object. */
guint attack_all (World *world);
/* The same in a child process, which may not lock the client's mutex: the parent can hold it. Fails
 * if the child did, if it did not come to its end, or if the parent is affected. */
void attack_in_child (World *world, gboolean hold_mutex);
/* Each object of another kind, from the first on, in each place of an object. */
void attack_with_others (World *world, guint first, guint n);
gboolean attack_must_fail_later (void);
const char *attack_now (void); /* the newest call */
void attack_complain (const char *what, const GError *error);
void attack_watch_for_crashes (void);
/* A GLogWriterFunc. */
GLogWriterOutput attack_count_criticals (GLogLevelFlags level, const GLogField *fields,
                                         gsize n_fields, gpointer data);
