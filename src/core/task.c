/* A function to be called later.
 *
 * Mirrors a Runnable. Threads: any; no lock.
 */
#include "core/task.h"

struct _CuratorTask
{
  CuratorWork func;
  gpointer data;
  GDestroyNotify destroy;
  gint posted; /* atomic: shows ThreadSanitizer the hand-over, which GLib does out of its sight */
};

CuratorTask *
curator_task_new (CuratorWork func, gpointer data, GDestroyNotify destroy)
{
  CuratorTask *task = g_new (CuratorTask, 1);
  task->func = func;
  task->data = data;
  task->destroy = destroy;
  g_atomic_int_set (&task->posted, TRUE);
  return task;
}

gboolean
curator_task_run (gpointer data)
{
  CuratorTask *task = data;
  g_assert (g_atomic_int_get (&task->posted));
  task->func (task->data);
  return G_SOURCE_REMOVE;
}

void
curator_task_free (gpointer data)
{
  CuratorTask *task = data;
  if (task->destroy != NULL)
    {
      task->destroy (task->data);
    }
  g_free (task);
}
