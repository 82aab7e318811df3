/* SPDX-License-Identifier: Apache-2.0
 * Looks at the lock's queue as the servers have it, independent of what the contenders say: plain ZooKeeper reads, on
 * a thread of its own. */
#ifndef CURATOR_DEMO_OBSERVER_H
#define CURATOR_DEMO_OBSERVER_H

#include <glib.h>

typedef struct
{
  char *name;
  gint64 session; /* whose node it is */
  guint64 token;  /* czxid */
} QueueNode;

typedef struct _Observer Observer;

Observer *observer_new (const char *connect, const char *path);
/* QueueNode in the order of the queue, as seen a moment ago. Free with g_ptr_array_unref. */
GPtrArray *observer_get_queue (Observer *observer);
void observer_free (Observer *observer);

#endif
