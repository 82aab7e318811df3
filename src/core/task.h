/* A function to be called later, once, with its data. Any thread; no lock. */
#pragma once

#include <glib.h>

typedef struct
{
  void (*func) (gpointer data); /* may be NULL */
  gpointer data;
  GDestroyNotify destroy; /* of the data; may be NULL */
  gint posted; /* atomic: shows ThreadSanitizer the hand-over, which GLib does out of its sight */
} CuratorTask;

static inline CuratorTask *
curator_task_new (void (*func) (gpointer data), gpointer data, GDestroyNotify destroy)
{
  CuratorTask *task = g_new (CuratorTask, 1);
  *task = (CuratorTask){ .func = func, .data = data, .destroy = destroy };
  g_atomic_int_set (&task->posted, TRUE);
  return task;
}

/* Calls func. For a GSource: returns G_SOURCE_REMOVE. */
static inline gboolean
curator_task_run (gpointer data)
{
  CuratorTask *task = data;
  g_assert (g_atomic_int_get (&task->posted));
  if (task->func != NULL)
    task->func (task->data);
  return G_SOURCE_REMOVE;
}

static inline void
curator_task_free (gpointer data)
{
  CuratorTask *task = data;
  if (task->destroy != NULL)
    task->destroy (task->data);
  g_free (task);
}
