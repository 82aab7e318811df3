/* SPDX-License-Identifier: Apache-2.0 */
#include "observer.h"

#include <zookeeper/zookeeper.h>

#define SESSION_TIMEOUT_MS 10000
#define PERIOD_US          (40 * 1000)

struct _Observer
{
  char *connect;
  char *path;
  GThread *thread;
  int stopping; /* atomic */
  GMutex mutex;
  GPtrArray *queue; /* QueueNode; guarded by mutex */
};

static void
queue_node_free (gpointer data)
{
  QueueNode *node = data;

  g_free (node->name);
  g_free (node);
}

static gpointer
queue_node_copy (gconstpointer source, gpointer user_data)
{
  const QueueNode *from = source;
  QueueNode *node = g_new0 (QueueNode, 1);

  *node = *from;
  node->name = g_strdup (from->name);
  return node;
}

static int
compare_tokens (gconstpointer a, gconstpointer b)
{
  const QueueNode *left = *(QueueNode *const *) a;
  const QueueNode *right = *(QueueNode *const *) b;

  return (left->token > right->token) - (left->token < right->token);
}

/* Nodes are created in queue order, so sorting by token is sorting by sequence number. */
static GPtrArray *
read_queue (Observer *observer, zhandle_t *handle)
{
  GPtrArray *queue = g_ptr_array_new_with_free_func (queue_node_free);
  struct String_vector children = { 0, NULL };

  if (zoo_get_children (handle, observer->path, 0, &children) != ZOK)
    return queue;
  for (int i = 0; i < children.count; i++)
    {
      g_autofree char *path = g_strconcat (observer->path, "/", children.data[i], NULL);
      struct Stat stat;

      if (zoo_exists (handle, path, 0, &stat) == ZOK)
        {
          QueueNode *node = g_new0 (QueueNode, 1);

          node->name = g_strdup (children.data[i]);
          node->session = stat.ephemeralOwner;
          node->token = (guint64) stat.czxid;
          g_ptr_array_add (queue, node);
        }
    }
  deallocate_String_vector (&children);
  g_ptr_array_sort (queue, compare_tokens);
  return queue;
}

static void
ignore_events (zhandle_t *handle, int type, int state, const char *path, void *context)
{
}

static gpointer
observe (gpointer data)
{
  Observer *observer = data;
  zhandle_t *handle;

  zoo_set_debug_level (0);
  handle = zookeeper_init (observer->connect, ignore_events, SESSION_TIMEOUT_MS, NULL, NULL, 0);
  while (handle != NULL && !g_atomic_int_get (&observer->stopping))
    {
      if (zoo_state (handle) == ZOO_CONNECTED_STATE)
        {
          GPtrArray *queue = read_queue (observer, handle);

          g_mutex_lock (&observer->mutex);
          g_ptr_array_unref (observer->queue);
          observer->queue = queue;
          g_mutex_unlock (&observer->mutex);
        }
      g_usleep (PERIOD_US);
    }
  if (handle != NULL)
    zookeeper_close (handle);
  return NULL;
}

Observer *
observer_new (const char *connect, const char *path)
{
  Observer *observer = g_new0 (Observer, 1);

  observer->connect = g_strdup (connect);
  observer->path = g_strdup (path);
  observer->queue = g_ptr_array_new_with_free_func (queue_node_free);
  g_mutex_init (&observer->mutex);
  observer->thread = g_thread_new ("observer", observe, observer);
  return observer;
}

GPtrArray *
observer_get_queue (Observer *observer)
{
  g_mutex_lock (&observer->mutex);
  GPtrArray *copy = g_ptr_array_copy (observer->queue, queue_node_copy, NULL);
  g_mutex_unlock (&observer->mutex);
  return copy;
}

void
observer_free (Observer *observer)
{
  g_atomic_int_set (&observer->stopping, 1);
  g_thread_join (observer->thread);
  g_ptr_array_unref (observer->queue);
  g_mutex_clear (&observer->mutex);
  g_free (observer->connect);
  g_free (observer->path);
  g_free (observer);
}
