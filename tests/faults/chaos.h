/* Chaos: processes with threads that take turns with locks of every recipe, while servers, paths
 * and the processes themselves fail at random.
 *
 * Shared by the driver and its workers: the locks, and a few cells in a mapped file through which
 * the driver controls the phases of an epoch.
 */
#ifndef CURATOR_TEST_CHAOS_H
#define CURATOR_TEST_CHAOS_H

#include "support/recorder.h"

#include <glib.h>

#define CHAOS_WORKERS   6
#define CHAOS_THREADS   4
#define CHAOS_PROCESSES 256 /* numbers of processes in one epoch, restarts included */
#define CHAOS_ROOT      "/chaos"

typedef enum
{
  CHAOS_MUTEX,
  CHAOS_SEMAPHORE_MUTEX,
  CHAOS_SEMAPHORE,
  CHAOS_RW_LOCK,
  CHAOS_FIXED, /* a node without a queue, in the lock's path */
  CHAOS_MULTI  /* of the mutex "first" and the semaphore mutex CHAOS_SECOND */
} ChaosRecipe;

typedef struct
{
  ChaosRecipe recipe;
  int limit; /* of a semaphore */
  guint first;
} ChaosLock;

/* All but the multi-locks, 16 and 17, have paths of their own; the last two are
 * fixed nodes. The second member of the multi-locks is recorded as a
 * semaphore of one permit: its lease does not have that member's token. */
#define CHAOS_LOCKS  20
#define CHAOS_SECOND 15
extern const ChaosLock chaos_locks[CHAOS_LOCKS];

char *chaos_path (guint lock);
char *chaos_fixed_path (guint lock); /* of the node of a CHAOS_FIXED */

typedef enum
{
  CHAOS_CONNECT, /* workers connect */
  CHAOS_RUN,
  CHAOS_QUIET, /* turns end, no new one begins */
  CHAOS_END
} ChaosPhase;

typedef struct
{
  guint32 phase;
  guint32 ready[CHAOS_PROCESSES]; /* connected */
  guint32 idle[CHAOS_PROCESSES];  /* threads that are quiet */
  guint32 unexpected;             /* errors without a fault that explains them */
  guint32 in_namespace;           /* processes with another boot time than the driver */
  guint32 dead_reentries;         /* acquires that re-entered a lost hold */
} ChaosCells;

ChaosCells *chaos_cells_open (const char *directory);
void chaos_cells_close (ChaosCells *cells);
guint32 chaos_cell (const guint32 *cell);
void chaos_cell_set (guint32 *cell, guint32 value);
void chaos_cell_add (guint32 *cell, int value);

/* For how long the machine of a process has slept in all, in ns; NULL if the file cannot be mapped. */
gint64 *chaos_slept_open (const char *path);
void chaos_slept_close (gint64 *slept_ns); /* NULL is allowed */

#endif
