/* Chaos: processes with threads that take turns with locks of every recipe, while servers, paths
 * and the processes themselves fail at random.
 *
 * Shared by the driver and its workers: the locks, and a few cells in a mapped file through which
 * the driver controls the phases of an epoch.
 */
#pragma once

#include "machine_sleep.h"
#include "resolver.h"
#include "shared.h"
#include "support/recorder.h"

#include <glib.h>
#include <sys/types.h>

#define CHAOS_WORKERS   6
#define CHAOS_THREADS   4
#define CHAOS_ACTORS    3    /* further threads: see chaos_actors.h */
#define CHAOS_PROCESSES 256  /* numbers of processes in one epoch, restarts included */
#define CHAOS_NUMBERS   8192 /* the further ones are those of their children */
#define CHAOS_LOSSES    64
#define CHAOS_ROOT      "/chaos"
#define CHAOS_TICK_MS   500 /* the longest that a server has */

typedef enum
{
  CHAOS_MUTEX,
  CHAOS_SEMAPHORE_MUTEX,
  CHAOS_SEMAPHORE,
  CHAOS_RW_LOCK,
  CHAOS_FIXED, /* a node without a queue, in the lock's path */
  CHAOS_MULTI  /* of the mutex "first" and the semaphore mutex CHAOS_SECOND */
} ChaosRecipe;

/* How often it is looked whether a process runs. */
#define TICK_OF_WATCH_MS 20
/* In place of the number of a process: where the driver did not run, the servers may not have run
 * either. */
#define CHAOS_MACHINE 0
/* Its threads, each with a log of its own. */
#define CHAOS_THIRD_THREAD   1
#define CHAOS_CLOCK_THREAD   2
#define CHAOS_SERVERS_THREAD 3

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

typedef enum
{
  CHAOS_CONNECT, /* workers connect */
  CHAOS_RUN,
  CHAOS_QUIET, /* turns end, no new one begins */
  CHAOS_END
} ChaosPhase;

/* Between these two looks the hold was lost. */
typedef struct
{
  gint64 held_ns;
  gint64 lost_ns;
  gint32 process;
} ChaosLoss;

/* What a process begins with. */
typedef struct
{
  gint32 session_ms; /* the timeout of its sessions */
  guint32 seed;
  gint32 boot_offset_s; /* of a time namespace of its own, as on a machine that has slept before */
  guint32 slot;
} ChaosStart;

/* The file in the directory of an epoch that its driver and its workers share. */
#define CHAOS_CELLS "chaos.cells"

typedef struct
{
  guint32 phase;
  ChaosStart starts[CHAOS_PROCESSES];
  ResolverNames names[CHAOS_WORKERS];    /* for the processes of each slot */
  guint32 ready[CHAOS_PROCESSES];        /* connected */
  guint32 stalled_ms[CHAOS_PROCESSES];   /* of each process, in which it did not run */
  guint32 idle[CHAOS_PROCESSES];         /* threads that are quiet */
  guint32 unexpected;                    /* errors without a fault that explains them */
  MachineClocks clocks[CHAOS_PROCESSES]; /* as the processes see them */
  guint32 in_namespace;                  /* processes with another boot time than the driver */
  guint32 dead_reentries;                /* acquires that re-entered a lost hold */

  guint32 chosen;                  /* kinds of disturbance, bits */
  guint32 tell;                    /* workers print what they know of their clients */
  guint32 n_children;              /* so far */
  guint32 lives_in[CHAOS_NUMBERS]; /* of a child: the number of its parent */
  guint32 child[CHAOS_PROCESSES];  /* that is alive; 0: none */
  guint32 lived;                   /* children that have acquired and released a lock */
  guint32 fork_hangs;              /* children that hung */
  guint32 fork_failures; /* children that crashed, or whose inherited objects did not refuse */
  guint32 blocks;        /* user functions that have blocked */
  guint32 n_losses;      /* of holds of clients whose user code blocks */
  ChaosLoss losses[CHAOS_LOSSES];
  guint32 ends;
  guint32 ends_in_calls; /* of these with a call under way */
  guint32 slow_ends;     /* that took longer than client.h says */
} ChaosCells;

/* Into a file that exists. */
gboolean chaos_write (const char *path, const char *text);

/* Waits for a tick. Records by how much it was late, if that is a stall: then the whole process did
 * not run. Returns it in milliseconds, otherwise 0. */
int chaos_watch (Recorder *recorder);

void chaos_print_stacks (pid_t pid); /* of all its threads, by gdb */
