#pragma once

#include "views/screen.h"

#include <curator/curator.h>

typedef struct
{
  int width;  /* columns; 0: no limit */
  int height; /* rows; 0: no limit */
  gboolean in_colour;
  gboolean is_stale;  /* the locks are shown dimmed */
  gboolean is_live;   /* on a terminal: every line is cleared before it is written */
  GHashTable *others; /* path to the bits of other kinds there (views.h) */
  const char *hosts;
  const char *clock;   /* "14:03:22" */
  const char *trouble; /* NULL, or why the display is out of date */
} FrameStyle;

/* locks: of CuratorInspection. Each returns a new string. */
char *frame_draw (const FrameStyle *style, GPtrArray *locks, Screen *screen);
/* addresses: gint64 session to char * address; NULL if they are not known. */
char *frame_draw_details (const FrameStyle *style, const CuratorInspection *lock,
                          GHashTable *addresses, Screen *screen);
char *frame_draw_help (const FrameStyle *style);
