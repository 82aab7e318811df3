/* Renders the display of top: a pure function from a list of locks to text. */
#ifndef ZKFLOCK_FRAME_H
#define ZKFLOCK_FRAME_H

#include <glib.h>

typedef struct
{
  int width;  /* columns; 0: no limit */
  int height; /* rows; 0: no limit */
  gboolean in_colour;
  gboolean is_stale; /* the locks are shown dimmed */
  guint first;       /* index of the first lock to show */
  gboolean is_live;  /* on a terminal: every line is cleared before it is written */
  const char *hosts;
  const char *clock;   /* "14:03:22" */
  const char *trouble; /* NULL, or why the display is out of date */
} FrameStyle;

/* locks: of CuratorInspection. Returns a new string. */
char *frame_draw (const FrameStyle *style, GPtrArray *locks);

#endif
