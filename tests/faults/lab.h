/* Shared by the scenarios: holders as separate processes, duels between two of them, the common
 * history, and figures.
 *
 * A duel: A holds behind the part that will be faulty, B waits at a healthy one. A must know that
 * its hold is over before B is granted the lock. All times are of one clock, which does not stop
 * with a process.
 */
#pragma once

#include "figures.h"
#include "resource.h"
#include "security.h"
#include "support/recorder.h"
#include "support/suite.h"

#define LAB_PATIENCE_MS 120000 /* for events that must happen, without a promised bound */
#define LAB_TICK_MS     500
#define LAB_SESSION_MS  4000

typedef struct
{
  char *directory;
  GArray *pids; /* pid_t, 0 once it has ended; the n-th process has number n + 1 */
  Resource *resource;
  FILE *figures; /* for the table that scripts/test prints */
} Lab;

/* name: of the test, under which its figures are kept. */
Lab *lab_new (const char *name);
/* Ends all running holders, asserts that the whole history is good, and frees the lab. */
void lab_finish (Lab *lab);

/* A group's set-up and tear-down; the state is a server of one process, with TLS and SASL, too, if
 * the library has both (LAB_SECURED). */
int lab_start (void **state);
int lab_stop (void **state);

/* A process that holds the lock until it loses it or is ended. Returns its number. Its connect
 * string is one of security.h. recipe: "selector" or "latch" for a leader, or NULL for a mutex. */
int lab_start_holder (Lab *lab, const char *connect_string, guint lock, const char *recipe);
/* SIGTERM; asserts that it exits successfully. */
void lab_end_holder (Lab *lab, int process);
/* SIGSTOP, returns when it is stopped; and SIGCONT. */
void lab_stop_holder (Lab *lab, int process);
void lab_continue_holder (Lab *lab, int process);
/* Until it is granted; returns when. */
gint64 lab_wait_granted (Lab *lab, int process);
/* The first such event of that process since then. */
gboolean lab_find (Lab *lab, int process, RecordOp op, gint64 since_ns, RecordEvent *event);
/* The same; waits for it. */
RecordEvent lab_wait (Lab *lab, int process, RecordOp op, gint64 since_ns);
void lab_wait_queue (const char *server, guint lock, int n); /* until so many are in it */

typedef struct
{
  const char *name;
  const char *holder_at; /* connect strings */
  const char *waiter_at; /* its first server also answers for the queue */
  guint lock;
  const char *recipe;  /* NULL: a mutex; "selector", "latch" */
  Security security;   /* of both; SECURITY_NONE: the usual one */
  gboolean is_stopped; /* a leader may be told too late to stop */
  int a;               /* process numbers */
  int b;
  gint64 fault_ns; /* set by the test */

  gboolean lost; /* the results */
  gint64 suspect_ns;
  gint64 over_ns; /* the end of A's belief: LOST, its deadline, or its release */
  gint64 grant_ns;
} Duel;

/* A holds and B waits when it returns, unless A has lost its hold already. */
void duel_start (Lab *lab, Duel *duel);
/* Makes A release the lock if it still holds, waits for B's grant, ends both, asserts that A knew
 * before B's grant, and prints and records the figures. */
void duel_finish (Lab *lab, Duel *duel);
