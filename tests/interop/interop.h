/* Runs C and Java workers on one path and returns their recorded events. */
#ifndef CURATOR_TEST_INTEROP_H
#define CURATOR_TEST_INTEROP_H

#include <glib.h>

#define INTEROP_LOCK         1
#define INTEROP_JAVA_PROCESS 100 /* number of the JVM in the events; C processes are 1, 2, … */

typedef struct
{
  const char *connect_string;
  const char *path;
  const char *java_recipe; /* the Java worker's name for it */
  int c_processes;
  int threads;      /* in each process, of either language */
  int acquisitions; /* of each thread */
  int hold_ms;
} InteropPlan;

/* Events (RecordEvent) by time; NULL on failure, with a message on stderr. */
GArray *interop_run (const InteropPlan *plan, int timeout_ms);

#endif
