/* SPDX-License-Identifier: Apache-2.0
 * The state of the demo: workers, their threads, and who held the lock when. For the main thread
 * only. */
#pragma once

#include "hold_check.h"
#include "protocol.h"

#include <curator/curator.h>

typedef enum
{
  LANGUAGE_C,
  LANGUAGE_JAVA
} Language;
#define N_LANGUAGES 2

typedef enum
{
  CONTENDER_RESTS,
  CONTENDER_WAITS,
  CONTENDER_HOLDS
} ContenderState;

typedef struct
{
  Language language;
  GSubprocess *process;
  char *pid;
  int complaints; /* descriptor of a file: what it wrote to stderr */
  guint first;    /* index of its first thread in the scene */
  gint64 session; /* known from the first grant whose node is seen in the queue; 0 until then */
  gboolean began; /* whether a thread has called acquire */
  gboolean done;
  gboolean ended;
  char *failure; /* NULL if there is none */
} Worker;

typedef struct
{
  Worker *worker;
  guint number; /* of the thread, from 1 */
  ContenderState state;
  HoldRecord
      turn; /* the current one: times that have not come are G_MAXINT64, and an unknown token is 0 */
  char *node; /* the own node; NULL if unknown */
} Contender;

typedef struct
{
  const char *connect;
  const char *path;
  Worker *workers;
  guint n_workers;
  Contender *contenders; /* n_threads for each worker */
  guint n_contenders;
  guint n_threads;
  HoldCheck *check;
  GHashTable *granted; /* a set: names of all nodes that were granted */
  guint grants[N_LANGUAGES];
  gint64 created_ns;
  gint64 began_ns;  /* when every worker had called acquire; 0 before */
  gint64 end_ns;    /* when to stop the workers; 0: they count acquisitions */
  guint per_thread; /* acquisitions per thread; 0: run for a time */
  gboolean finishing;
  gboolean interrupted;
} Scene;

const char *language_name (Language language);
gint64 scene_now_ns (void);

/* So many workers in each language. */
void scene_init (Scene *scene, const guint workers[N_LANGUAGES], guint n_threads);
/* Returns the contender of the event; NULL if the event concerns the worker or is unexpected. */
const Contender *scene_apply (Scene *scene, Worker *worker, const WorkerEvent *event);
/* Assigns nodes to waiters: the nodes of each session, in order, to its waiting threads, in
 * order. */
void scene_place_waiters (Scene *scene, const CuratorInspection *queue);
gboolean scene_all_began (const Scene *scene);
guint scene_count (const Scene *scene, ContenderState state);

/* Keeps the first failure, which explains later ones. */
void worker_fail (Worker *worker, const char *format, ...) G_GNUC_PRINTF (2, 3);
