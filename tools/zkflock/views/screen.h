#pragma once

#include <glib.h>

typedef enum
{
  SCREEN_LIST,
  SCREEN_DETAILS, /* of one lock */
  SCREEN_HELP
} ScreenMode;

typedef enum
{
  SORT_LOCK,
  SORT_KIND,
  SORT_HOLDER,
  SORT_AGE,
  SORT_WAITING,
  N_SORTS
} Sort;

typedef struct
{
  guint row;   /* of the cursor */
  guint first; /* the first row that is visible */
} Cursor;

typedef struct
{
  ScreenMode mode;
  Sort sort;
  gboolean is_reversed;
  GString *filter;    /* empty: all locks; set by whoever makes the screen */
  gboolean is_typing; /* keys go into the filter */
  char *selected;     /* path of the lock under the cursor, or NULL */
  Cursor locks;
  Cursor participants; /* of the details */
} Screen;

void screen_clear (Screen *screen);
/* Applies the keys of one read, which end with a NUL. page: rows that a page has. Returns TRUE to
 * quit. */
gboolean screen_type (Screen *screen, const char *keys, guint page);

/* The locks that pass the filter, in order, borrowed from locks; the cursor follows its lock. */
GPtrArray *screen_arrange (Screen *screen, GPtrArray *locks);
/* Moves the cursor and the first visible row, so that the cursor is on one of n rows and
 * visible. */
void screen_fit (Cursor *cursor, guint n, guint visible);

const char *screen_sort_to_string (Sort sort);
