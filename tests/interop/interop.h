/* Runs C and Java workers on one path and hands back what all of them recorded. */
#ifndef CURATOR_TEST_INTEROP_H
#define CURATOR_TEST_INTEROP_H

#include <glib.h>

#define INTEROP_LOCK         1
#define INTEROP_JAVA_PROCESS 100 /* number of the JVM in the events; C processes are 1, 2, … */

typedef struct
{
  const char *connect_string;
  const char *path;
  const char *java_recipe; /* as the Java worker names it */
  int c_processes;
  int threads;      /* in each process, of either language */
  int acquisitions; /* of each thread */
  int hold_ms;
} InteropPlan;

/* Events (RecordEvent) by time, or NULL, after saying why on stderr. */
GArray *interop_run (const InteropPlan *plan, int timeout_ms);

#endif
