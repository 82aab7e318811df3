/* Further actors of a worker, each on a thread of its own: children of fork, user code that blocks,
 * and clients and threads that end at any moment. Each does nothing unless its kind is chosen. */
#ifndef CURATOR_TEST_CHAOS_ACTORS_H
#define CURATOR_TEST_CHAOS_ACTORS_H

#include "chaos.h"
#include "chaos_kinds.h"

#include <curator/curator.h>
#include <pthread.h>

typedef struct
{
  const char *connect_string;
  int tick_ms;
  gint64 session_ms;
  ChaosCells *cells;
  const char *directory;
  int process;
  guint32 seed;
  CuratorClient *client; /* a busy one, which children inherit, with its lock */
  CuratorLock *lock;
} ChaosActor;

CuratorClient *chaos_client_new (const char *connect_string, gint64 session_ms, int tick_ms);

/* Prints its state and its statistics. */
void chaos_client_tell (CuratorClient *client, const char *what);

gboolean chaos_actor_is_chosen (const ChaosActor *actor, ChaosKind kind);
/* Until the epoch runs. */
void chaos_actor_wait (const ChaosActor *actor);
gboolean chaos_actor_runs (const ChaosActor *actor);

/* A client whose user code blocks lives as long as its process: no descriptor appears later. */
typedef struct _ChaosBlocks ChaosBlocks;

ChaosBlocks *chaos_blocks_open (const ChaosActor *actor); /* NULL: not chosen */
void chaos_blocks_tell (const ChaosBlocks *blocks);       /* NULL is allowed, as below */
void chaos_blocks_close (ChaosBlocks *blocks);

void chaos_blocks_run (const ChaosActor *actor, ChaosBlocks *blocks);
void chaos_forks_run (const ChaosActor *actor);
void chaos_ends_run (const ChaosActor *actor);

#endif
