#include "views/frame.h"

#include "output/text.h"
#include "views/views.h"

#define KIND_WIDTH  10
#define AGE_WIDTH   6
#define COUNT_WIDTH 4
#define MIN_QUEUE   17
#define MIN_NAME    12
#define MAX_QUEUED  5
/* Narrower terminals do not show the column. */
#define WIDTH_FOR_KIND  64
#define WIDTH_FOR_QUEUE 48

#define BOLD    "\x1b[1m"
#define INVERSE "\x1b[7m"
#define GREEN   "\x1b[32m"
#define YELLOW  "\x1b[33m"
#define RED     "\x1b[31m"
#define DIM     "\x1b[2m"
#define PLAIN   "\x1b[0m"

typedef struct
{
  const FrameStyle *style;
  GString *out;
  int rows; /* number written so far */
  int lock_width;
  int kind_width; /* 0: not shown */
  int holder_width;
  int queue_width; /* 0: not shown; -1: no limit */
} Frame;

static void
colour (Frame *frame, const char *code)
{
  if (frame->style->in_colour)
    {
      g_string_append (frame->out, code);
    }
}

/* The colours of a lock say nothing while it is out of date. */
static void
colour_lock (Frame *frame, const char *code)
{
  colour (frame, frame->style->is_stale ? DIM : code);
}

/* Terminals differ in what they erase after a character in the last column, so each line is erased
 * before it is written. */
static void
end_line (Frame *frame)
{
  g_string_append (frame->out, frame->style->is_live ? "\r\n\x1b[K" : "\n");
  frame->rows++;
}

static char *
holder_of (const CuratorInspection *lock)
{
  const guint n = curator_inspection_get_n_holders (lock);

  if (n == 0)
    {
      return g_strdup ("nobody");
    }
  g_autofree char *label =
      text_label (curator_participant_get_data (curator_inspection_get_participant (lock, 0)));
  return n == 1 ? g_steal_pointer (&label) : g_strdup_printf ("%s +%u", label, n - 1);
}

/* "1 root@db2:88 12s, 2 ..."; without a limit of columns, a few of them and the number of the others. */
static char *
queue_of (const CuratorInspection *lock, int width)
{
  GString *text = g_string_new (NULL);

  guint n = 0;
  for (guint i = 0; i < curator_inspection_get_n_participants (lock)
                    && (width == 0 ? n < MAX_QUEUED : text->len <= (gsize) width * 4);
       i++)
    {
      const CuratorParticipant *one = curator_inspection_get_participant (lock, i);
      /* A lease not granted yet belongs to the first turn, which has a row of its own. */
      if (curator_participant_is_holder (one)
          || curator_participant_get_kind (one) == CURATOR_PARTICIPANT_LEASE)
        {
          continue;
        }
      g_autofree char *label = text_label (curator_participant_get_data (one));
      g_autofree char *age = text_age (curator_participant_get_age_ms (one));
      g_string_append_printf (text, "%s%u %s %s", text->len > 0 ? ", " : "",
                              curator_participant_get_position (one), label, age);
      n++;
    }
  if (width == 0 && curator_inspection_get_n_waiting (lock) > n)
    {
      g_string_append_printf (text, " and %u more", curator_inspection_get_n_waiting (lock) - n);
    }
  return g_string_free (text, FALSE);
}

/* Shares the room between the two names; a short one leaves its rest to the other. */
static void
share_room (Frame *frame, int room)
{
  const int half = room / 2;

  if (frame->lock_width + frame->holder_width <= room)
    {
      return;
    }
  if (frame->lock_width <= half)
    {
      frame->holder_width = room - frame->lock_width;
    }
  else if (frame->holder_width <= half)
    {
      frame->lock_width = room - frame->holder_width;
    }
  else
    {
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
  for (guint i = 0; i < locks->len; i++)
    {
      const CuratorInspection *lock = g_ptr_array_index (locks, i);
      g_autofree char *path = curator_escape_name (curator_inspection_get_path (lock), -1);
      g_autofree char *holder = holder_of (lock);
      frame->lock_width = MAX (frame->lock_width, text_width (path));
      frame->holder_width = MAX (frame->holder_width, text_width (holder));
    }
  frame->kind_width = width == 0 || width >= WIDTH_FOR_KIND ? KIND_WIDTH : 0;
  frame->queue_width = -1;
  if (width == 0)
    {
      return;
    }
  /* Beside the fixed columns, the queue gets its minimum and the two names share the rest. A space
   * follows every column but the last. */
  const int fixed = frame->kind_width + (frame->kind_width > 0) + AGE_WIDTH + COUNT_WIDTH + 4;
  const int queue = width >= WIDTH_FOR_QUEUE ? MAX (MIN_QUEUE, width / 4) : 0;
  share_room (frame, MAX (width - fixed - queue, 2 * MIN_NAME));
  frame->queue_width =
      queue > 0 ? MAX (width - fixed - frame->lock_width - frame->holder_width, 1) : 0;
}

static void
append_header (Frame *frame, GPtrArray *locks)
{
  guint held = 0;
  guint waiting = 0;

  for (guint i = 0; i < locks->len; i++)
    {
      held += curator_inspection_get_n_holders (g_ptr_array_index (locks, i)) > 0;
      waiting += curator_inspection_get_n_waiting (g_ptr_array_index (locks, i));
    }
  g_autofree char *hosts = curator_escape_name (frame->style->hosts, -1);
  g_autofree char *text =
      g_strdup_printf ("%s  zkflock top  %u %s, %u held, %u waiting  %s", frame->style->clock,
                       locks->len, locks->len == 1 ? "lock" : "locks", held, waiting, hosts);
  colour (frame, BOLD);
  text_fit (frame->out, text, frame->style->width > 0 ? frame->style->width : text_width (text),
            FALSE);
  colour (frame, PLAIN);
  end_line (frame);
  if (frame->style->trouble != NULL)
    {
      colour (frame, RED);
      text_fit (frame->out, frame->style->trouble,
                frame->style->width > 0 ? frame->style->width : text_width (frame->style->trouble),
                FALSE);
      colour (frame, PLAIN);
      end_line (frame);
    }
}

static void
append_cell (Frame *frame, const char *title, int width, gboolean left)
{
  if (width > 0)
    {
      text_fit (frame->out, title, width, left);
      g_string_append_c (frame->out, ' ');
    }
}

static void
append_cells (Frame *frame)
{
  colour (frame, INVERSE);
  append_cell (frame, "LOCK", frame->lock_width, FALSE);
  append_cell (frame, "KIND", frame->kind_width, FALSE);
  append_cell (frame, "HELD BY", frame->holder_width, FALSE);
  append_cell (frame, "AGE", AGE_WIDTH, TRUE);
  append_cell (frame, "WAIT", COUNT_WIDTH, TRUE);
  text_fit (frame->out, "QUEUE", frame->queue_width < 0 ? 5 : frame->queue_width, FALSE);
  colour (frame, PLAIN);
  end_line (frame);
}

static void
append_lock (Frame *frame, const CuratorInspection *lock)
{
  const char *kind = curator_lock_kind_to_string (curator_inspection_get_kind (lock));
  const guint n_waiting = curator_inspection_get_n_waiting (lock);
  const gboolean is_held = curator_inspection_get_n_holders (lock) > 0;
  const CuratorParticipant *first = curator_inspection_get_participant (lock, 0);
  g_autofree char *path = curator_escape_name (curator_inspection_get_path (lock), -1);
  g_autofree char *holder = holder_of (lock);
  g_autofree char *age =
      is_held ? text_age (curator_participant_get_age_ms (first)) : g_strdup ("-");
  g_autofree char *count = g_strdup_printf ("%u", n_waiting);
  g_autofree char *queue = queue_of (lock, MAX (frame->queue_width, 0));

  colour_lock (frame, PLAIN);
  text_fit_end (frame->out, path, frame->lock_width);
  g_string_append_c (frame->out, ' ');
  append_cell (frame, kind, frame->kind_width, FALSE);
  colour_lock (frame, is_held ? GREEN : RED);
  text_fit (frame->out, holder, frame->holder_width, FALSE);
  colour_lock (frame, PLAIN);
  g_string_append_c (frame->out, ' ');
  text_fit (frame->out, age, AGE_WIDTH, TRUE);
  g_string_append_c (frame->out, ' ');
  colour_lock (frame, n_waiting > 0 ? YELLOW : PLAIN);
  text_fit (frame->out, count, COUNT_WIDTH, TRUE);
  colour_lock (frame, PLAIN);
  g_string_append_c (frame->out, ' ');
  text_fit (frame->out, queue, frame->queue_width < 0 ? text_width (queue) : frame->queue_width,
            FALSE);
  colour (frame, PLAIN);
  end_line (frame);
}

static int
rows_left (const Frame *frame)
{
  /* The last row stays empty: writing its last column would scroll. */
  return frame->style->height > 0 ? frame->style->height - frame->rows - 1 : G_MAXINT;
}

/* With one lock only, there is room for all its participants. */
static void
append_details (Frame *frame, const CuratorInspection *lock)
{
  g_autoptr (GString) rows = g_string_new (NULL);

  if (rows_left (frame) < 3)
    {
      return;
    }
  end_line (frame);
  who_append_rows (rows, lock, frame->style->width, (guint) rows_left (frame));
  g_auto (GStrv) lines = g_strsplit (rows->str, "\n", -1);
  for (char **line = lines; *line != NULL && **line != '\0'; line++)
    {
      g_string_append (frame->out, *line);
      end_line (frame);
    }
}

char *
frame_draw (const FrameStyle *style, GPtrArray *locks)
{
  Frame frame = { .style = style, .out = g_string_new (NULL) };

  measure (&frame, locks);
  append_header (&frame, locks);
  if (locks->len == 0)
    {
      g_string_append (frame.out, "no lock is held or waited for");
      end_line (&frame);
    }
  else
    {
      append_cells (&frame);
    }
  for (guint i = style->first; i < locks->len; i++)
    {
      if (rows_left (&frame) <= 1 && i + 1 < locks->len)
        {
          g_string_append_printf (frame.out, "and %u more", locks->len - i);
          end_line (&frame);
          break;
        }
      append_lock (&frame, g_ptr_array_index (locks, i));
    }
  if (locks->len == 1)
    {
      append_details (&frame, g_ptr_array_index (locks, 0));
    }
  return g_string_free (frame.out, FALSE);
}
