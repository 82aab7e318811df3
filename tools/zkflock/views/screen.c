/* What top shows, as the user's keys have set it: which locks, in which order, and where the cursor
 * is. Pure. */
#include "views/screen.h"

#include "output/text.h"
#include "views/who.h"

#include <curator/curator.h>
#include <string.h>

#define ESCAPE    "\x1b"
#define FAR       G_MAXINT
#define BACKSPACE 0x7f

typedef struct
{
  const char *keys;
  int rows;
  int pages;
} Move;

/* Cursor keys come in two forms. */
static const Move moves[] = {
  { "j", 1, 0 },          { ESCAPE "[B", 1, 0 },   { ESCAPE "OB", 1, 0 }, { "k", -1, 0 },
  { ESCAPE "[A", -1, 0 }, { ESCAPE "OA", -1, 0 },  { " ", 0, 1 },         { ESCAPE "[6~", 0, 1 },
  { "b", 0, -1 },         { ESCAPE "[5~", 0, -1 }, { "g", -FAR, 0 },      { ESCAPE "[H", -FAR, 0 },
  { "G", FAR, 0 },        { ESCAPE "[F", FAR, 0 },
};

void
screen_clear (Screen *screen)
{
  g_string_free (screen->filter, TRUE);
  g_free (screen->selected);
}

const char *
screen_sort_to_string (Sort sort)
{
  static const char *const names[] = { "lock", "kind", "holder", "age", "waiting" };
  return names[sort];
}

/* The number of bytes of the first key. */
static gsize
key_length (const char *keys)
{
  if (*keys != *ESCAPE || (keys[1] != '[' && keys[1] != 'O')) {
    const gunichar c = g_utf8_get_char_validated (keys, -1);
    return c >= (gunichar) -2 ? 1 : (gsize) g_unichar_to_utf8 (c, NULL);
  }
  gsize length = 2;
  while (keys[length] != '\0' && !(keys[length] >= '@' && keys[length] <= '~'))
    length++;
  return length + (keys[length] != '\0');
}

static void
go_to_start (Screen *screen)
{
  screen->locks = (Cursor){ 0 };
  g_clear_pointer (&screen->selected, g_free);
}

static void
type_filter (Screen *screen, const char *key)
{
  const gunichar c = g_utf8_get_char_validated (key, -1);
  GString *filter = screen->filter;

  go_to_start (screen);
  if (strcmp (key, "\r") == 0 || strcmp (key, "\n") == 0 || strcmp (key, ESCAPE) == 0) {
    screen->is_typing = FALSE;
    g_string_truncate (filter, *key == *ESCAPE ? 0 : filter->len);
  } else if (*key == BACKSPACE || *key == '\b') {
    const char *last = g_utf8_find_prev_char (filter->str, filter->str + filter->len);
    g_string_truncate (filter, last != NULL ? (gsize) (last - filter->str) : 0);
  } else if (c < (gunichar) -2 && g_unichar_isprint (c)) {
    g_string_append (filter, key);
  }
}

static gboolean
type_move (Screen *screen, const char *key, guint page)
{
  Cursor *cursor = screen->mode == SCREEN_DETAILS ? &screen->participants : &screen->locks;

  for (gsize i = 0; i < G_N_ELEMENTS (moves); i++) {
    if (strcmp (key, moves[i].keys) == 0) {
      const gint64 rows = moves[i].rows + (gint64) moves[i].pages * page;
      cursor->row = (guint) CLAMP (cursor->row + rows, 0, G_MAXINT);
      cursor->first = MIN (cursor->first, cursor->row);
      if (screen->mode != SCREEN_DETAILS)
        g_clear_pointer (&screen->selected, g_free);
      return TRUE;
    }
  }
  return FALSE;
}

static void
type_list (Screen *screen, const char *key)
{
  switch (*key) {
  case '\r':
  case '\n':
    screen->mode = SCREEN_DETAILS;
    screen->participants = (Cursor){ 0 };
    break;
  case '/':
    screen->is_typing = TRUE;
    break;
  case 's':
    screen->sort = (screen->sort + 1) % N_SORTS;
    go_to_start (screen);
    break;
  case 'r':
    screen->is_reversed = !screen->is_reversed;
    go_to_start (screen);
    break;
  default:
    break;
  }
}

/* Returns TRUE to quit. */
static gboolean
type_key (Screen *screen, const char *key, guint page)
{
  if (screen->is_typing) {
    type_filter (screen, key);
    return FALSE;
  }
  if (strcmp (key, "Q") == 0 || strcmp (key, "q") == 0 || strcmp (key, ESCAPE) == 0) {
    const gboolean quits = screen->mode == SCREEN_LIST && *key != *ESCAPE;
    g_string_truncate (screen->filter, screen->mode == SCREEN_LIST ? 0 : screen->filter->len);
    screen->mode = SCREEN_LIST;
    return quits;
  }
  if (screen->mode == SCREEN_HELP)
    screen->mode = SCREEN_LIST;
  else if (*key == '?' || *key == 'h')
    screen->mode = SCREEN_HELP;
  else if (!type_move (screen, key, page) && screen->mode == SCREEN_LIST)
    type_list (screen, key);
  return FALSE;
}

gboolean
screen_type (Screen *screen, const char *keys, guint page)
{
  gboolean quits = FALSE;

  while (*keys != '\0' && !quits) {
    const gsize length = key_length (keys);
    g_autofree char *key = g_strndup (keys, length);
    quits = type_key (screen, key, page);
    keys += length;
  }
  return quits;
}

static char *
holder_label (const CuratorInspection *lock)
{
  return curator_inspection_get_n_holders (lock) > 0 ? text_label (
             curator_participant_get_data (curator_inspection_get_participant (lock, 0)))
                                                     : g_strdup ("");
}

static gint64
age_of (const CuratorInspection *lock)
{
  return curator_inspection_get_n_holders (lock) > 0
             ? curator_participant_get_age_ms (curator_inspection_get_participant (lock, 0))
             : -1;
}

static int
compare_holders (const CuratorInspection *a, const CuratorInspection *b)
{
  g_autofree char *left = holder_label (a);
  g_autofree char *right = holder_label (b);
  return strcmp (left, right);
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* The oldest and the longest queues come first. */
static int
compare_locks (gconstpointer left, gconstpointer right, gpointer data)
{
  const Screen *screen = data;
  const CuratorInspection *a = *(const CuratorInspection *const *) left;
  const CuratorInspection *b = *(const CuratorInspection *const *) right;
  int order = 0;

  switch (screen->sort) {
  case SORT_KIND:
    order = COMPARE (curator_inspection_get_kind (a), curator_inspection_get_kind (b));
    break;
  case SORT_HOLDER:
    order = compare_holders (a, b);
    break;
  case SORT_AGE:
    order = COMPARE (age_of (b), age_of (a));
    break;
  case SORT_WAITING:
    order = COMPARE (curator_inspection_get_n_waiting (b), curator_inspection_get_n_waiting (a));
    break;
  case SORT_LOCK:
  case N_SORTS:
  default:
    break;
  }
  if (order == 0)
    order = strcmp (curator_inspection_get_path (a), curator_inspection_get_path (b));
  return screen->is_reversed ? -order : order;
}

static gboolean
contains (const char *text, const char *folded)
{
  g_autofree char *lower = g_utf8_casefold (text, -1);
  return strstr (lower, folded) != NULL;
}

/* Puts the cursor on the lock that it was on. */
static void
follow_selected (Screen *screen, GPtrArray *locks)
{
  for (guint i = 0; screen->selected != NULL && i < locks->len; i++) {
    if (strcmp (curator_inspection_get_path (g_ptr_array_index (locks, i)), screen->selected)
        == 0) {
      screen->locks.row = i;
      return;
    }
  }
  screen->locks.row = MIN (screen->locks.row, MAX (locks->len, 1) - 1);
  if (screen->mode != SCREEN_DETAILS || screen->selected == NULL) {
    g_free (screen->selected);
    screen->selected =
        locks->len > 0
            ? g_strdup (curator_inspection_get_path (g_ptr_array_index (locks, screen->locks.row)))
            : NULL;
  }
  if (screen->mode == SCREEN_DETAILS && screen->selected == NULL)
    screen->mode = SCREEN_LIST;
}

GPtrArray *
screen_arrange (Screen *screen, GPtrArray *locks)
{
  GPtrArray *arranged = g_ptr_array_sized_new (locks->len);
  g_autofree char *folded = g_utf8_casefold (screen->filter->str, -1);

  for (guint i = 0; i < locks->len; i++) {
    CuratorInspection *lock = g_ptr_array_index (locks, i);
    g_autofree char *path = who_path (lock);
    g_autofree char *holder = holder_label (lock);
    if (*folded == '\0' || contains (path, folded) || contains (holder, folded)
        || contains (curator_lock_kind_to_string (curator_inspection_get_kind (lock)), folded))
      g_ptr_array_add (arranged, lock);
  }
  if (screen->sort != SORT_LOCK || screen->is_reversed)
    g_ptr_array_sort_with_data (arranged, compare_locks, screen);
  follow_selected (screen, arranged);
  return arranged;
}

void
screen_fit (Cursor *cursor, guint n, guint visible)
{
  visible = MAX (visible, 1);
  cursor->row = MIN (cursor->row, MAX (n, 1) - 1);
  if (cursor->row < cursor->first)
    cursor->first = cursor->row;
  else if (cursor->row >= cursor->first + visible)
    cursor->first = cursor->row - visible + 1;
  /* No empty rows at the end. */
  cursor->first = MIN (cursor->first, n > visible ? n - visible : 0);
}
