/* SPDX-License-Identifier: Apache-2.0
 * How the demo shows itself: a screen that is redrawn, a log that grows, and the table at the end. */
#ifndef CURATOR_DEMO_VIEW_H
#define CURATOR_DEMO_VIEW_H

#include "scene.h"

typedef struct
{
  gboolean live; /* stdout is a terminal that can be redrawn */
  gboolean colour;
  gboolean unicode;
} View;

typedef enum
{
  STYLE_PLAIN,
  STYLE_BOLD,
  STYLE_DIM,
  STYLE_GOOD,
  STYLE_BAD,
  STYLE_C,
  STYLE_JAVA
} Style;

View view_detect (gboolean force_log);
const char *view_style (const View *view, Style style); /* escape sequence, perhaps empty */
Style view_style_of (Language language);

void view_screen_enter (const View *view);
void view_screen_leave (const View *view);
void view_screen_draw (const View *view, Scene *scene);

/* One line for one grant. */
void view_log_grant (const View *view, Scene *scene, const Contender *contender);

/* The table; TRUE if the run was good. complaints: what workers said on stderr. */
gboolean view_summary (const View *view, Scene *scene, GPtrArray *complaints);

#endif
