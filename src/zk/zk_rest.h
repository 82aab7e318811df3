/* When zookeeper_close() may be called; see zk_rest.c. */
#pragma once

#include <glib.h>
#include <stdatomic.h>

/* Of one handle; zeroed. */
typedef struct
{
  atomic_uint n_begun; /* deliveries: answers and events */
  atomic_uint n_ended;
  _Atomic gint64 closing_us; /* monotonic; 0: nobody closes it */
  /* Of the session lane: how many deliveries it has seen, and since when. */
  guint n_seen;
  gint64 seen_us;
} CuratorZkRest;

/* Enclose all that libzookeeper's completion thread does here. NULL: nobody closes the handle
 * here. */
void curator_zk_rest_enter (CuratorZkRest *rest);
void curator_zk_rest_leave (CuratorZkRest *rest);

/* For a handle whose IO thread has ended or is about to: 0 if its completion thread rests, else
 * after how many microseconds to ask again. On the session lane. */
gint64 curator_zk_rest_left_us (CuratorZkRest *rest);
/* Waits for the delivery that is under way, if there is one; zookeeper_close() is called next. */
void curator_zk_rest_close (CuratorZkRest *rest);
