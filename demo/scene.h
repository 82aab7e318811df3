/* SPDX-License-Identifier: Apache-2.0
 * Everything the demo knows: who contends, who holds, who waits, and what happened so far. The main thread's only. */
#ifndef CURATOR_DEMO_SCENE_H
#define CURATOR_DEMO_SCENE_H

#include "hold_check.h"
#include "observer.h"
#include "protocol.h"

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
  char *pid;
  gint64 session;     /* learnt from the first grant that the observer can place; 0 until then */
  GPtrArray *threads; /* Contender, owned by the scene */
  gboolean began;     /* a thread has asked for the lock */
  gboolean done;
  char *failure; /* NULL while all is well */
} Process;

typedef struct
{
  Process *process;
  guint index;  /* in the scene */
  guint number; /* of the thread, from 1 */
  ContenderState state;
  gint64 queued_ns;
  gint64 granted_ns;
  char *node;    /* own node, as far as known; NULL otherwise */
  guint64 token; /* goes with the node */
} Contender;

typedef struct
{
  char *connect;
  char *path;
  GPtrArray *processes;  /* Process */
  GPtrArray *contenders; /* Contender */
  HoldCheck *check;
  GHashTable *granted; /* names of all nodes that were granted: set */
  guint grants[N_LANGUAGES];
  gint64 created_ns;
  gint64 began_ns;  /* when every process had asked for the lock; 0 before */
  gint64 end_ns;    /* when the workers are asked to stop; 0: they count */
  guint per_thread; /* acquisitions per thread; 0: by time */
  gboolean finishing;
  gboolean interrupted;
} Scene;

const char *language_name (Language language);
gint64 scene_now_ns (void);

Scene *scene_new (const char *connect, const char *path);
void scene_free (Scene *scene);
Process *scene_add_process (Scene *scene, Language language, guint n_threads);
/* The contender that the event is about; NULL if it is about the process, or makes no sense. */
Contender *scene_apply (Scene *scene, Process *process, const WorkerEvent *event);
void process_fail (Process *process, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* Gives the waiters their nodes: each session's, in order, to its waiting threads, in order. */
void scene_place_waiters (Scene *scene, GPtrArray *queue);
/* Contenders: holder first, then the waiters by their place, then the rest. Free with g_ptr_array_unref. */
GPtrArray *scene_ranking (Scene *scene);
gboolean scene_all_began (Scene *scene);
gboolean scene_all_done (Scene *scene);

#endif
