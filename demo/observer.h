/* SPDX-License-Identifier: Apache-2.0
 * Reads the lock's queue from the servers, independently of the contenders' reports: plain ZooKeeper reads on a thread
 * of its own. */
#ifndef CURATOR_DEMO_OBSERVER_H
#define CURATOR_DEMO_OBSERVER_H

#include <glib.h>

typedef struct
{
  char *name;
  gint64 session; /* the session that owns the node */
  guint64 token;  /* czxid */
} QueueNode;

typedef struct _Observer Observer;

Observer *observer_new (const char *connect, const char *path);
/* The last queue read, as an array of QueueNode in queue order. Free with g_ptr_array_unref(). */
GPtrArray *observer_get_queue (Observer *observer);
void observer_free (Observer *observer);

#endif
