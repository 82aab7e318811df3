/* A function to be called later, once, with its data. */
#ifndef CURATOR_TASK_H
#define CURATOR_TASK_H

#include "core/dispatch.h"

typedef struct _CuratorTask CuratorTask;

CuratorTask *curator_task_new (CuratorWork func, gpointer data, GDestroyNotify destroy);
/* Calls func. For a GSource: returns G_SOURCE_REMOVE. */
gboolean curator_task_run (gpointer task);
/* Destroys the data. */
void curator_task_free (gpointer task);

#endif
