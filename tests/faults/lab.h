/* Shared by the scenarios: holders as separate processes, duels between two of them, the common
 * history, figures, and Java Curator as a peer that believes by its connection state.
 *
 * A duel: A holds behind the part that will be faulty, B waits at a healthy one. A must know that
 * its hold is over before B is granted the lock. All times are of one clock, which does not stop
 * with a process.
 */
#ifndef CURATOR_TEST_LAB_H
#define CURATOR_TEST_LAB_H

#include "resource.h"
#include "security.h"
#include "support/recorder.h"
#include "support/suite.h"

#include <sys/types.h>

#define LAB_PATIENCE_MS 60000 /* for events that must happen, without a promised bound */
#define LAB_TICK_MS     500
#define LAB_SESSION_MS  4000

typedef struct _Lab Lab;

/* name: of the test, under which its figures are kept. */
Lab *lab_new (const char *name);
/* Ends all running holders, judges the whole history, and frees the lab. TRUE if the history is
 * good. */
gboolean lab_conclude (Lab *lab);
/* The same, and asserts that it is. */
void lab_finish (Lab *lab);

/* A group's set-up and tear-down; the state is a server of one process, with the usual security or
 * with TLS and SASL. */
int lab_start (void **state);
int lab_start_secured (void **state);
int lab_stop (void **state);

/* A process that holds the lock until it loses it or is ended. Returns its number. Its connect
 * string is one of security.h. */
int lab_start_holder (Lab *lab, const char *connect_string, guint lock);
/* The same for a leader; recipe: "selector" or "latch", or NULL for a mutex. */
int lab_start_leader (Lab *lab, const char *connect_string, guint lock, const char *recipe);
/* When a leader was told to stop; 0: it was not. */
gint64 lab_told_ns (Lab *lab, int process);
pid_t lab_pid (Lab *lab, int process);
/* SIGTERM; asserts that it exits successfully. */
void lab_end_holder (Lab *lab, int process);
/* SIGSTOP, returns when it is stopped; and SIGCONT. */
void lab_stop_holder (Lab *lab, int process);
void lab_continue_holder (Lab *lab, int process);
/* The first such event of that process. */
gboolean lab_find (Lab *lab, int process, RecordOp op, RecordEvent *event);
gboolean lab_wait (Lab *lab, int process, RecordOp op, int timeout_ms, RecordEvent *event);
/* All events of that process so far, to be freed. */
GArray *lab_events (Lab *lab, int process);
Resource *lab_resource (Lab *lab);
const char *lab_directory (Lab *lab);

/* One value of a figure, for the table that scripts/test prints. */
void lab_figure (Lab *lab, const char *name, double value);

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
  gint64 fault_ns;

  gboolean lost; /* the results */
  gint64 suspect_ns;
  gint64 over_ns; /* the end of A's belief: LOST, its deadline, or its release */
  gint64 grant_ns;
} Duel;

/* A holds and B waits when it returns. */
void duel_start (Lab *lab, Duel *duel);
/* The fault begins now. */
void duel_note_fault (Duel *duel);
/* Whether B is granted within that time. */
gboolean duel_wait_grant (Lab *lab, Duel *duel, int timeout_ms);
/* Makes A release the lock if it still holds, waits for B's grant, ends both, asserts that A knew
 * before B's grant, and prints and records the figures. */
void duel_finish (Lab *lab, Duel *duel);

/* Java Curator: one lock, held until it is killed. */
typedef struct _Control Control;
Control *control_start (Lab *lab, const char *connect_string, guint lock);
/* When it first printed that word (GRANTED, SUSPENDED, LOST), on the recorder's clock; 0 if it
 * never did. */
gint64 control_wait (Control *control, const char *word, int timeout_ms);
void control_stop (Control *control); /* NULL is allowed */

#endif
