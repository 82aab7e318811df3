/* A history as text, for judges that know nothing of this project: one operation a line, in any
 * order. tests/README.md describes the columns, scripts/verdict judges them. */
#pragma once

#include "recorder.h"

#define HISTORY_OPEN G_MAXINT64 /* an end that may be any time later */

typedef struct
{
  const char *op;      /* "acquire" or "release" */
  const char *kind;    /* "mutex", "read", "write" or "permit" */
  const char *lock;    /* no two locks of a history have the same name */
  const char *process; /* the process and thread, without blanks */
  guint64 hold;        /* tells apart the holds of one lock */
  gint64 start;
  gint64 end;
  guint64 token;
  int permits;
  int limit;
} HistoryOp;

/* Whether CURATOR_HISTORY names a file. All functions do nothing without one. */
gboolean history_is_wanted (void);
/* Appends a line. */
void history_add (const HistoryOp *op);
/* Appends what the holders of a recorded history believed. name: of the history. */
void history_add_events (const char *name, const GArray *events);
