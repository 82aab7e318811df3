/* Text for people: columns, ages, colours. */
#ifndef ZKFLOCK_TEXT_H
#define ZKFLOCK_TEXT_H

#include <glib.h>

/* Columns that text takes on a terminal. */
int text_width (const char *text);
/* Appends text in exactly width columns: cut with a mark, or padded (left: on its left). */
void text_fit (GString *out, const char *text, int width, gboolean left);
/* The same, but of what is too long the end is kept: paths and nodes differ there. */
void text_fit_end (GString *out, const char *text, int width);
/* "0s", "59s", "3m12s", "5h07m", "12d03h"; at most six columns. */
char *text_age (gint64 ms);
/* A payload, made safe; "-" for an empty one. */
char *text_label (GBytes *bytes);

#endif
