/* SPDX-License-Identifier: Apache-2.0
 * The output of the demo: a live screen or a log, and the table at the end. */
#pragma once

#include "scene.h"

typedef struct
{
  gboolean live; /* whether stdout is a terminal that can be redrawn */
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
const char *view_style (const View *view, Style style); /* an escape sequence, or "" */
Style view_style_of (Language language);

void view_screen_draw (const View *view, Scene *scene);
/* Prints one line for a grant. */
void view_log_grant (const View *view, const Scene *scene, const Contender *contender);
/* Prints the table; returns TRUE if the run had no violation or failure. */
gboolean view_summary (const View *view, Scene *scene);
