/* Contests of any recipe: processes in C and JVMs compete on one path and record their events. */
#pragma once

#include "support/checker.h"
#include "support/recorder.h"

#include <glib.h>

#define CONTEST_LOCK 1

/* The class path of the peers in Java, if not this build's. */
#define CONTEST_CLASSPATH_VARIABLE "CURATOR_TEST_PEER_CLASSPATH"
/* Anything: the processes in C compress. */
#define CONTEST_COMPRESSION "CURATOR_TEST_COMPRESSION"

/* C:    mutex, semmutex, semaphore:N[:Q], counted:PATH, read, write, rw (each fifth turn writes),
 *       downgrade (threads acquire as writers and downgrade, or write, alternately), multi (a mutex
 *       and more), paths:N (a multi-lock of the mutexes PATH/0, PATH/1, ...), paths:N:sorted (by the
 *       sorting constructor, from another order in each process), paths:N:apart (one mutex after
 *       another)
 * Java: mutex, semmutex, semaphore:N, counted:PATH, read, write, rw (threads are
 *       readers and writers alternately), paths:N */
typedef struct
{
  const char *connect_string;      /* perhaps one of faults/security.h */
  const char *java_connect_string; /* NULL: the same */
  const char *const *java_options; /* of the JVM; NULL: none */
  const char *java_class;          /* NULL: LockWorker */
  const char *path;
  const char *c_recipe;
  const char *java_recipe; /* NULL: the same */
  int n_c;                 /* processes in C, numbered from 1 in the events; 0: two. The next one is
                            * Java */
  int threads;             /* of each process */
  int acquisitions;        /* of each thread */
  int hold_ms;
  int limit; /* permits of a semaphore; 0: one */
  /* Called on the test's thread when all have started, may be NULL. */
  void (*meanwhile) (gpointer data);
  gpointer data;
} ContestPlan;

/* What is wrong: a process failed, or did not get all its acquisitions; a violation, or a node that
 * was not deleted within a second of its release. NULL: nothing is. events (RecordEvent) by time,
 * to be freed. */
char *contest_run (const ContestPlan *plan, GArray **events);

/* "java OPTIONS -cp CLASS-PATH CLASS", for more arguments and a NULL. */
GPtrArray *contest_java (const char *const *options, const char *java_class);
/* Adds a formatted argument. */
void contest_add (GPtrArray *argv, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* While all of these processes competed. */
void contest_common_time (const GArray *events, int first, int last, gint64 *from_ns,
                          gint64 *to_ns);
/* The number of acquires granted between two times (nanoseconds); process 0: to all. */
int contest_grants (const GArray *events, int process, gint64 from_ns, gint64 to_ns);
/* The maximum of simultaneous holds of that kind between two times. */
int contest_peak (const GArray *events, RecordKind kind, gint64 from_ns, gint64 to_ns);
