/* Contests of any recipe: processes in C and JVMs compete on one path, and all of them record. */
#ifndef CURATOR_TEST_CONTEST_H
#define CURATOR_TEST_CONTEST_H

#include "support/checker.h"
#include "support/recorder.h"

#include <glib.h>

#define CONTEST_LOCK 1

/* C:    mutex, semmutex, semaphore:N[:Q], counted:PATH, read, write, rw (each fifth turn writes),
 *       downgrade (holds as a writer, then goes on as a reader), multi (a mutex and more)
 * Java: mutex, semmutex, semaphore:N, counted:PATH, read, write, rw (threads take turns in being
 *       readers and writers) */
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
  const char *path;
  const ContestProcess *processes; /* numbered from 1 in the events */
  int hold_ms;
  int limit; /* permits of a semaphore */
  /* Called on the test's thread when all have started, may be NULL. */
  void (*meanwhile) (gpointer data);
  gpointer data;
} ContestPlan;

/* Events (RecordEvent) by time, or NULL, after saying why on stderr: somebody failed. */
GArray *contest_run (const ContestPlan *plan, int timeout_ms);

/* How many acquires were granted; process 0: all. */
int contest_grants (const GArray *events, int process);
/* The most holds of that kind at a time, between two times (nanoseconds). */
int contest_peak (const GArray *events, RecordKind kind, gint64 from_ns, gint64 to_ns);

#endif
