/* SPDX-License-Identifier: Apache-2.0
 * The state of the demo: contenders, holder, queue and history. For the main thread only. */
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
  gint64 session;     /* known from the first grant whose node the observer finds; 0 until then */
  GPtrArray *threads; /* of Contender, owned by the scene */
  gboolean began;     /* whether a thread has called acquire */
  gboolean done;
  char *failure; /* NULL if there is none */
} Process;

typedef struct
{
  Process *process;
  guint index;  /* in the scene */
  guint number; /* of the thread, from 1 */
  ContenderState state;
  gint64 queued_ns;
  gint64 granted_ns;
  char *node;    /* the own node; NULL if unknown */
  guint64 token; /* token of that node; 0 if unknown */
} Contender;

typedef struct
{
  char *connect;
  char *path;
  GPtrArray *processes;  /* of Process */
  GPtrArray *contenders; /* of Contender */
  HoldCheck *check;
  GHashTable *granted; /* a set: names of all nodes that were granted */
  guint grants[N_LANGUAGES];
  gint64 created_ns;
  gint64 began_ns;  /* when every process had called acquire; 0 before */
  gint64 end_ns;    /* when to stop the workers; 0: they count acquisitions */
  guint per_thread; /* acquisitions per thread; 0: run for a time */
  gboolean finishing;
  gboolean interrupted;
} Scene;

const char *language_name (Language language);
gint64 scene_now_ns (void);

Scene *scene_new (const char *connect, const char *path);
void scene_free (Scene *scene);
Process *scene_add_process (Scene *scene, Language language, guint n_threads);
/* Returns the contender of the event; NULL if the event concerns the process or is unexpected. */
Contender *scene_apply (Scene *scene, Process *process, const WorkerEvent *event);
void process_fail (Process *process, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* Assigns nodes to waiters: the nodes of each session, in order, to its waiting threads, in order. */
void scene_place_waiters (Scene *scene, GPtrArray *queue);
/* All contenders: the holder, the waiters in queue order, then the rest. Free with g_ptr_array_unref(). */
GPtrArray *scene_ranking (Scene *scene);
gboolean scene_all_began (Scene *scene);
gboolean scene_all_done (Scene *scene);

#endif
