#pragma once

#include <glib.h>

/* Columns of the terminal that standard output is; 0 if it is none. */
int text_terminal_width (void);
/* Number of columns that the text takes on a terminal. */
int text_width (const char *text);
/* Appends the text in exactly width columns, cut with a mark or padded. left: pads on the left. */
void text_fit (GString *out, const char *text, int width, gboolean left);
/* The same, but a cut keeps the end of the text, where paths and nodes differ. */
void text_fit_end (GString *out, const char *text, int width);
/* "0s", "59s", "3m12s", "5h07m", "12d03h"; at most six columns. */
char *text_age (gint64 ms);
/* An escaped payload; "-" for an empty one. */
char *text_label (GBytes *bytes);
