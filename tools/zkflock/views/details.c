/* The display of top for one lock: its participants, and all about the one under the cursor. */
#include "output/text.h"
#include "views/frame-private.h"
#include "views/who.h"

#define NAME_WIDTH    9
#define ADDRESS_WIDTH 21
#define SESSION_WIDTH 18
/* Narrower terminals do not show the column. */
#define WIDTH_FOR_ADDRESS 72
#define WIDTH_FOR_SESSION 100
#define WIDTH_FOR_NODE    160
/* Lower terminals show no pane. */
#define HEIGHT_FOR_PANE 10

static const char *
address_of (const CuratorParticipant *one, GHashTable *addresses)
{
  const gint64 session = curator_participant_get_session_id (one);
  const char *address = addresses != NULL ? g_hash_table_lookup (addresses, &session) : NULL;
  return address != NULL ? address : "-";
}

/* row: its start. */
static void
append_cells (Frame *frame, GString *row, const char *label, const char *address,
              const char *session, const char *node)
{
  const int width = frame->style->width;
  const int start = 21;
  const int label_width = width - start - (width >= WIDTH_FOR_ADDRESS ? ADDRESS_WIDTH + 2 : 0)
                          - (width >= WIDTH_FOR_SESSION ? SESSION_WIDTH + 2 : 0)
                          - (width >= WIDTH_FOR_NODE ? 50 : 0);

  text_fit (row, label, MAX (label_width, 1), FALSE);
  if (width >= WIDTH_FOR_ADDRESS) {
    g_string_append (row, "  ");
    text_fit (row, address, ADDRESS_WIDTH, FALSE);
  }
  if (width >= WIDTH_FOR_SESSION) {
    g_string_append (row, "  ");
    text_fit (row, session, SESSION_WIDTH, FALSE);
  }
  if (width >= WIDTH_FOR_NODE) {
    g_string_append (row, "  ");
    text_fit_end (row, node, width - text_width (row->str));
  }
}

static void
append_participant (Frame *frame, const CuratorParticipant *one, GHashTable *addresses,
                    gboolean is_selected)
{
  g_autoptr (GString) row = g_string_new (NULL);
  g_autofree char *label = text_label (curator_participant_get_data (one));
  g_autofree char *session = who_session (one);
  g_autofree char *node = who_node (one);

  who_append_start (row, one);
  append_cells (frame, row, label, address_of (one, addresses), session, node);
  if (is_selected && !frame->style->in_colour)
    row->str[0] = '>';
  frame_append_line (frame, is_selected ? INVERSE : frame->style->is_stale ? DIM : NULL, row->str);
}

/* "payload  first@host:88"; a long value goes on in further lines. */
static void
append_value (GPtrArray *lines, const char *name, const char *value, int width)
{
  const glong room = MAX (width - NAME_WIDTH, 1);
  glong left = g_utf8_strlen (value, -1);

  do {
    g_autofree char *part = g_utf8_substring (value, 0, MIN (room, left));
    g_ptr_array_add (lines, g_strdup_printf ("%-*s%s", NAME_WIDTH, name, part));
    value = g_utf8_offset_to_pointer (value, MIN (room, left));
    left -= room;
    name = "";
  } while (left > 0);
}

static GPtrArray *
new_pane (const CuratorParticipant *one, GHashTable *addresses, int width)
{
  GPtrArray *lines = g_ptr_array_new_with_free_func (g_free);
  const char *address = address_of (one, addresses);
  g_autofree char *node = who_node (one);
  g_autofree char *session = who_session (one);
  g_autofree char *payload = text_label (curator_participant_get_data (one));

  append_value (lines, "node", node, width);
  append_value (lines, "session",
                curator_participant_get_session_id (one) == 0 ? "none: nobody owns it" : session,
                width);
  append_value (lines, "address", *address == '-' ? "not listed by \"cons\"" : address, width);
  append_value (lines, "payload", payload, width);
  return lines;
}

char *
frame_draw_details (const FrameStyle *style, const CuratorInspection *lock, GHashTable *addresses,
                    Screen *screen)
{
  Frame frame = { .style = style, .out = g_string_new (NULL) };
  const guint n = curator_inspection_get_n_participants (lock);
  g_autofree char *path = who_path (lock);
  g_autofree char *summary = who_summary (lock);
  g_autofree char *title = g_strdup_printf ("%s: %s", path, summary);
  g_autoptr (GPtrArray) pane = NULL;
  g_autoptr (GString) titles = g_string_new ("    #  KIND     AGE  ");
  Cursor *cursor = &screen->participants;

  frame_append_line (&frame, BOLD, title);
  frame_append_trouble (&frame);
  if (n == 0)
    return g_string_free (frame.out, FALSE);
  append_cells (&frame, titles, "LABEL", "ADDRESS", "SESSION", "NODE");
  frame_append_line (&frame, INVERSE, titles->str);
  cursor->row = MIN (cursor->row, n - 1);
  pane = new_pane (curator_inspection_get_participant (lock, cursor->row), addresses, style->width);
  const int room = frame_rows_left (&frame);
  const int pane_rows =
      style->height >= HEIGHT_FOR_PANE ? MIN ((int) pane->len, MAX (room - 2, 0)) : 0;
  const guint visible = (guint) MAX (room - pane_rows, 1);
  screen_fit (cursor, n, visible);
  for (guint i = cursor->first; i < MIN (n, cursor->first + visible); i++)
    append_participant (&frame, curator_inspection_get_participant (lock, i), addresses,
                        i == cursor->row);
  for (guint i = 0; i < (guint) pane_rows; i++)
    frame_append_line (&frame, YELLOW, g_ptr_array_index (pane, i));
  return g_string_free (frame.out, FALSE);
}

char *
frame_draw_help (const FrameStyle *style)
{
  static const char *const lines[] = {
    "up, down, j, k     one row",           "page up, page down one page; space, b",
    "g, G               first, last row",   "Enter              details of the lock",
    "/                  filter; Esc: none", "s, r               next order; reverse",
    "q                  back; quit",        "Any key closes this.",
  };
  Frame frame = { .style = style, .out = g_string_new (NULL) };

  frame_append_line (&frame, BOLD, "zkflock top: keys");
  for (gsize i = 0; i < G_N_ELEMENTS (lines) && frame_rows_left (&frame) > 0; i++)
    frame_append_line (&frame, NULL, lines[i]);
  return g_string_free (frame.out, FALSE);
}
