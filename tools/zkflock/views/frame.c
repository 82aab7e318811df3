/* Renders the display of top: pure functions from what was read to text. */
#include "views/frame-private.h"

#include "output/text.h"
#include "views/who.h"

#define KIND_WIDTH  10
#define AGE_WIDTH   6
#define COUNT_WIDTH 4
#define MIN_QUEUE   17
#define MAX_QUEUED  5
#define MAX_MIXED   3 /* lines about paths of several kinds */
/* Narrower terminals do not show the column. */
#define WIDTH_FOR_KIND  64
#define WIDTH_FOR_QUEUE 48

void
frame_colour (Frame *frame, const char *code)
{
  if (frame->style->in_colour)
    g_string_append (frame->out, code);
}

/* The colours of a lock say nothing while it is out of date. */
static void
colour_lock (Frame *frame, const char *code)
{
  frame_colour (frame, frame->style->is_stale ? DIM : code);
}

/* Terminals differ in what they erase after a character in the last column, so each line is erased
 * before it is written. */
void
frame_end_line (Frame *frame)
{
  g_string_append (frame->out, frame->style->is_live ? "\r\n\x1b[K" : "\n");
  frame->rows++;
}

/* "1 root@db2:88 12s, 2 ..."; without a limit of columns, a few of them and the number of the
 * others. */
static char *
queue_of (const CuratorInspection *lock, int width)
{
  GString *text = g_string_new (NULL);

  guint n = 0;
  for (guint i = 0; i < curator_inspection_get_n_participants (lock)
                    && (width == 0 ? n < MAX_QUEUED : text->len <= (gsize) width * 4);
       i++) {
    const CuratorParticipant *one = curator_inspection_get_participant (lock, i);
    /* A lease not granted yet belongs to the first turn, which has a row of its own. */
    if (curator_participant_is_holder (one)
        || curator_participant_get_kind (one) == CURATOR_PARTICIPANT_KIND_LEASE)
      continue;
    g_autofree char *place = who_place (one);
    g_autofree char *label = who_label (one);
    g_autofree char *age = text_age (curator_participant_get_age_ms (one));
    g_string_append_printf (text, "%s%s %s %s", text->len > 0 ? ", " : "", place, label, age);
    n++;
  }
  if (width == 0 && curator_inspection_get_n_waiting (lock) > n)
    g_string_append_printf (text, " and %u more", curator_inspection_get_n_waiting (lock) - n);
  return g_string_free (text, FALSE);
}

/* Shares the room between the two names; a short one leaves its rest to the other. */
static void
share_room (Frame *frame, int room)
{
  const int half = room / 2;

  if (frame->lock_width + frame->holder_width <= room)
    return;
  if (frame->lock_width <= half) {
    frame->holder_width = room - frame->lock_width;
  } else if (frame->holder_width <= half) {
    frame->lock_width = room - frame->holder_width;
  } else {
    frame->lock_width = room - half;
    frame->holder_width = half;
  }
}

static void
measure (Frame *frame, GPtrArray *locks)
{
  const int width = frame->style->width;

  frame->lock_width = text_width ("LOCK");
  frame->holder_width = text_width ("HELD BY");
  for (guint i = 0; i < locks->len; i++) {
    const CuratorInspection *lock = g_ptr_array_index (locks, i);
    g_autofree char *path = who_path (lock);
    g_autofree char *holder = who_holder (lock, TRUE);
    frame->lock_width = MAX (frame->lock_width, text_width (path));
    frame->holder_width = MAX (frame->holder_width, text_width (holder));
  }
  frame->kind_width = width == 0 || width >= WIDTH_FOR_KIND ? KIND_WIDTH : 0;
  frame->queue_width = -1;
  if (width == 0)
    return;
  /* Beside the fixed columns, the queue gets its minimum and the two names share the rest. A space
   * follows every column but the last. */
  const int fixed = frame->kind_width + (frame->kind_width > 0) + AGE_WIDTH + COUNT_WIDTH + 4;
  const int queue = width >= WIDTH_FOR_QUEUE ? MAX (MIN_QUEUE, width / 4) : 0;
  share_room (frame, MAX (width - fixed - queue, 2));
  frame->queue_width =
      queue > 0 ? MAX (width - fixed - frame->lock_width - frame->holder_width, 1) : 0;
}

void
frame_append_line (Frame *frame, const char *colour, const char *text)
{
  if (colour != NULL)
    frame_colour (frame, colour);
  text_fit (frame->out, text, frame->style->width > 0 ? frame->style->width : text_width (text),
            FALSE);
  if (colour != NULL)
    frame_colour (frame, PLAIN);
  frame_end_line (frame);
}

void
frame_append_trouble (Frame *frame)
{
  if (frame->style->trouble != NULL)
    frame_append_line (frame, RED, frame->style->trouble);
}

static void
append_header (Frame *frame, GPtrArray *locks)
{
  guint held = 0;
  guint waiting = 0;

  for (guint i = 0; i < locks->len; i++) {
    held += curator_inspection_get_n_holders (g_ptr_array_index (locks, i)) > 0;
    waiting += curator_inspection_get_n_waiting (g_ptr_array_index (locks, i));
  }
  g_autofree char *hosts = curator_escape_name (frame->style->hosts, -1);
  g_autofree char *text =
      g_strdup_printf ("%s  zkflock top  %u %s, %u held, %u waiting  %s", frame->style->clock,
                       locks->len, locks->len == 1 ? "lock" : "locks", held, waiting, hosts);
  frame_append_line (frame, BOLD, text);
  frame_append_trouble (frame);
}

/* The order and the filter, where they are not the usual ones. */
static void
append_choice (Frame *frame, const Screen *screen, guint n_shown)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char *filter = curator_escape_name (screen->filter->str, -1);

  if (screen->is_typing || screen->filter->len > 0)
    g_string_append_printf (text, "filter: %s%s  %u found  ", filter, screen->is_typing ? "_" : "",
                            n_shown);
  if (screen->sort != SORT_LOCK || screen->is_reversed)
    g_string_append_printf (text, "by %s%s", screen_sort_to_string (screen->sort),
                            screen->is_reversed ? ", reversed" : "");
  if (text->len > 0)
    frame_append_line (frame, YELLOW, text->str);
}

/* Locks of several kinds at one path do not exclude each other. */
static void
append_mixed (Frame *frame, GPtrArray *locks)
{
  guint n = 0;

  for (guint i = 0; frame->style->others != NULL && i < locks->len && n < MAX_MIXED; i++) {
    const char *path = curator_inspection_get_path (g_ptr_array_index (locks, i));
    const guint kinds = GPOINTER_TO_UINT (g_hash_table_lookup (frame->style->others, path));
    if (kinds != 0) {
      g_autofree char *names = who_describe_kinds (kinds);
      g_autofree char *shown = curator_escape_name (path, -1);
      g_autofree char *text =
          g_strdup_printf ("%s: also used as %s: they do not exclude each other", shown, names);
      frame_append_line (frame, RED, text);
      n++;
    }
  }
}

static void
append_cell (Frame *frame, const char *title, int width, gboolean left)
{
  if (width > 0) {
    text_fit (frame->out, title, width, left);
    g_string_append_c (frame->out, ' ');
  }
}

static void
append_lock (Frame *frame, const CuratorInspection *lock, gboolean is_selected)
{
  const char *kind = curator_lock_kind_to_string (curator_inspection_get_kind (lock));
  const guint n_waiting = curator_inspection_get_n_waiting (lock);
  const gboolean is_held = curator_inspection_get_n_holders (lock) > 0;
  const CuratorParticipant *first = curator_inspection_get_participant (lock, 0);
  g_autofree char *path = who_path (lock);
  g_autofree char *holder = who_holder (lock, TRUE);
  g_autofree char *age =
      is_held ? text_age (curator_participant_get_age_ms (first)) : g_strdup ("-");
  g_autofree char *count = g_strdup_printf ("%u", n_waiting);
  g_autofree char *queue = queue_of (lock, MAX (frame->queue_width, 0));

  colour_lock (frame, PLAIN);
  frame_colour (frame, is_selected ? INVERSE : "");
  text_fit_end (frame->out, path, frame->lock_width);
  frame_colour (frame, is_selected ? PLAIN : "");
  colour_lock (frame, PLAIN);
  g_string_append_c (frame->out, is_selected && !frame->style->in_colour ? '>' : ' ');
  append_cell (frame, kind, frame->kind_width, FALSE);
  colour_lock (frame, is_held ? GREEN : RED);
  append_cell (frame, holder, frame->holder_width, FALSE);
  colour_lock (frame, PLAIN);
  append_cell (frame, age, AGE_WIDTH, TRUE);
  colour_lock (frame, n_waiting > 0 ? YELLOW : PLAIN);
  append_cell (frame, count, COUNT_WIDTH, TRUE);
  colour_lock (frame, PLAIN);
  text_fit (frame->out, queue, frame->queue_width < 0 ? text_width (queue) : frame->queue_width,
            FALSE);
  frame_colour (frame, PLAIN);
  frame_end_line (frame);
}

int
frame_rows_left (const Frame *frame)
{
  /* The last row stays empty: writing its last column would scroll. */
  return frame->style->height > 0 ? frame->style->height - frame->rows - 1 : G_MAXINT;
}

/* The rows of the locks below their titles, and how many do not fit. */
static void
append_locks (Frame *frame, GPtrArray *locks, Screen *screen)
{
  const gboolean is_live = frame->style->is_live;

  frame_colour (frame, INVERSE);
  append_cell (frame, "LOCK", frame->lock_width, FALSE);
  append_cell (frame, "KIND", frame->kind_width, FALSE);
  append_cell (frame, "HELD BY", frame->holder_width, FALSE);
  append_cell (frame, "AGE", AGE_WIDTH, TRUE);
  append_cell (frame, "WAIT", COUNT_WIDTH, TRUE);
  text_fit (frame->out, "QUEUE", frame->queue_width < 0 ? 5 : frame->queue_width, FALSE);
  frame_colour (frame, PLAIN);
  frame_end_line (frame);
  guint visible = (guint) MAX (frame_rows_left (frame), 1);
  visible -= is_live && locks->len > visible && visible > 1;
  screen_fit (&screen->locks, locks->len, visible);
  const guint end = MIN (locks->len, screen->locks.first + visible);
  for (guint i = screen->locks.first; i < end; i++)
    append_lock (frame, g_ptr_array_index (locks, i), is_live && i == screen->locks.row);
  if (end - screen->locks.first < locks->len) {
    g_autofree char *text =
        g_strdup_printf ("%u to %u of %u; ? for help", screen->locks.first + 1, end, locks->len);
    g_autofree char *brief =
        g_strdup_printf ("%u-%u/%u; ?", screen->locks.first + 1, end, locks->len);
    const int width = frame->style->width;
    frame_append_line (frame, DIM, width == 0 || text_width (text) <= width ? text : brief);
  }
}

char *
frame_draw (const FrameStyle *style, GPtrArray *locks, Screen *screen)
{
  Frame frame = { .style = style, .out = g_string_new (NULL) };
  g_autoptr (GPtrArray) shown = screen_arrange (screen, locks);

  measure (&frame, shown);
  append_header (&frame, locks);
  append_choice (&frame, screen, shown->len);
  if (shown->len == 0) {
    frame_append_line (&frame, NULL,
                       locks->len == 0 ? "no lock is held or waited for" : "no lock is like this");
    return g_string_free (frame.out, FALSE);
  }
  append_mixed (&frame, shown);
  append_locks (&frame, shown, screen);
  /* With one lock only, there is room for all its participants. */
  if (locks->len == 1 && frame_rows_left (&frame) >= 3) {
    g_autoptr (GString) rows = g_string_new (NULL);
    frame_end_line (&frame);
    who_append_rows (rows, g_ptr_array_index (locks, 0), style->width,
                     (guint) frame_rows_left (&frame));
    g_auto (GStrv) lines = g_strsplit (rows->str, "\n", -1);
    for (char **line = lines; *line != NULL && **line != '\0'; line++) {
      g_string_append (frame.out, *line);
      frame_end_line (&frame);
    }
  }
  return g_string_free (frame.out, FALSE);
}
