/* SPDX-License-Identifier: Apache-2.0
 * The events that workers of both languages print, one per line; tests/interop/java/LockWorker.java
 * defines them. */
#pragma once

#include <glib.h>

typedef enum
{
  WORKER_QUEUED,   /* thread, time */
  WORKER_GRANTED,  /* thread, time, node, token */
  WORKER_RELEASED, /* thread, time */
  WORKER_DONE,
  WORKER_ERROR /* text */
} WorkerEventType;

typedef struct
{
  WorkerEventType type;
  guint thread;
  gint64 time_ns; /* CLOCK_MONOTONIC */
  guint64 token;
  char *text; /* name of the node, or the error; NULL otherwise */
} WorkerEvent;

/* Returns FALSE if the line is no event. Clear the event in either case. */
gboolean worker_event_parse (const char *line, WorkerEvent *event);
void worker_event_clear (WorkerEvent *event);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (WorkerEvent, worker_event_clear)
