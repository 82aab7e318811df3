/* A place in one queue at most. Threads: any; guarded by what guards the queues. */
#pragma once

#include <glib.h>

typedef struct
{
  GList link;
  GQueue *queue; /* which link is in; or NULL */
} CuratorLink;

/* Takes it out of the queue where it is, and to the tail of another. queue: NULL for none. */
static inline void
curator_link_place (CuratorLink *place, GQueue *queue, gpointer data)
{
  if (place->queue != NULL)
    g_queue_unlink (place->queue, &place->link);
  place->queue = queue;
  place->link.data = data;
  if (queue != NULL)
    g_queue_push_tail_link (queue, &place->link);
}
