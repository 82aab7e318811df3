/* What top shows: text of a given size from a list of locks. Pure, so that it can be looked at. */
#ifndef ZKFLOCK_FRAME_H
#define ZKFLOCK_FRAME_H

#include <glib.h>

typedef struct
{
  int width;  /* columns; 0: nothing is cut */
  int height; /* rows; 0: all are shown */
  gboolean in_colour;
  gboolean is_live; /* on a terminal: every line is cleared before it is written */
  const char *hosts;
  const char *clock;   /* "14:03:22" */
  const char *trouble; /* NULL, or why the view is old */
} FrameStyle;

/* locks: CuratorInspection. */
char *frame_draw (const FrameStyle *style, GPtrArray *locks);

#endif
