/* Contests of any recipe: processes in C and JVMs compete on one path and record their events. */
#ifndef CURATOR_TEST_CONTEST_H
#define CURATOR_TEST_CONTEST_H

#include "support/checker.h"
#include "support/recorder.h"

#include <glib.h>

#define CONTEST_LOCK 1

/* The class path of the peers in Java, if not this build's. */
#define CONTEST_CLASSPATH_VARIABLE "CURATOR_TEST_PEER_CLASSPATH"
/* Settings of the processes in C, from the environment: a folder with ca.pem, client.pem and
 * client.key, for TLS; "user:password", for SASL; anything, for compression. */
#define CONTEST_TLS         "CURATOR_TEST_TLS"
#define CONTEST_SASL        "CURATOR_TEST_SASL"
#define CONTEST_COMPRESSION "CURATOR_TEST_COMPRESSION"

/* C:    mutex, semmutex, semaphore:N[:Q], counted:PATH, read, write, rw (each fifth turn writes),
 *       downgrade (acquires as a writer, then downgrades), multi (a mutex and more),
 *       paths:N (a multi-lock of the mutexes PATH/0, PATH/1, ...), paths:N:sorted (by the sorting
 *       constructor, from another order in each process), paths:N:apart (one mutex after another)
 * Java: mutex, semmutex, semaphore:N, counted:PATH, read, write, rw (threads are
 *       readers and writers alternately), paths:N */
typedef struct
{
  const char *recipe; /* NULL ends the list */
  gboolean is_java;
  int threads;
  int acquisitions; /* of each thread */
} ContestProcess;

typedef struct
{
  const char *connect_string;
  const char *java_connect_string; /* NULL: the same */
  const char *const *java_options; /* of the JVM; NULL: none */
  const char *java_class;          /* NULL: LockWorker */
  const char *path;
  const ContestProcess *processes; /* numbered from 1 in the events */
  int hold_ms;
  int limit; /* permits of a semaphore */
  /* Called on the test's thread when all have started, may be NULL. */
  void (*meanwhile) (gpointer data);
  gpointer data;
} ContestPlan;

/* Events (RecordEvent) by time; NULL if a process failed, with a message on stderr. */
GArray *contest_run (const ContestPlan *plan, int timeout_ms);

const char *contest_classpath (void);

/* The number of acquires granted; process 0: all. */
int contest_grants (const GArray *events, int process);
/* The maximum of simultaneous holds of that kind, between two times (nanoseconds). */
int contest_peak (const GArray *events, RecordKind kind, gint64 from_ns, gint64 to_ns);

#endif
