/* Further actors of a worker, each on a thread of its own: children of fork, user code that blocks,
 * and clients and threads that end at any moment. */
#pragma once

#include "chaos.h"
#include "chaos_kinds.h"

#include <curator/curator.h>

typedef struct _ChaosBlocks ChaosBlocks;

/* What all threads of a worker share. */
typedef struct
{
  const char *connect_string;
  gint64 session_ms;
  ChaosCells *cells;
  const char *directory;
  int number;
  guint32 seed;
  CuratorClient *client; /* a busy one, which children inherit, with its lock */
  CuratorLock *lock;
  ChaosBlocks *blocks; /* NULL: not chosen */
} ChaosProcess;

CuratorClient *chaos_client_new (const ChaosProcess *process);
/* Prints its state and its statistics. */
void chaos_client_tell (CuratorClient *client, const char *what);

gboolean chaos_is_chosen (const ChaosProcess *process, ChaosKind kind);

/* A client whose user code blocks lives as long as its process: no descriptor appears later. */
ChaosBlocks *chaos_blocks_open (const ChaosProcess *process);
void chaos_blocks_tell (const ChaosBlocks *blocks); /* NULL is allowed, as below */
void chaos_blocks_close (ChaosBlocks *blocks);

/* What the actors repeat. */
void chaos_blocks_once (const ChaosProcess *process, GRand *rand);
void chaos_forks_once (const ChaosProcess *process, GRand *rand);
void chaos_ends_once (const ChaosProcess *process, GRand *rand);
