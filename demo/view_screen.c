/* SPDX-License-Identifier: Apache-2.0
 * The live view: the holder, the queue, and a chart of the last seconds in which no column may have two bars. */
#include "view.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CHART_CELL_NS     (G_GINT64_CONSTANT (100) * 1000 * 1000)
#define LABEL_WIDTH       20
#define ROWS_AROUND_CHART 5 /* the heading, the blank row after the chart, the totals */

/* A screen under construction. Text beyond the right or lower edge is dropped. */
typedef struct
{
  const View *view;
  GString *text;
  int columns;
  int rows;
  int column;
  int row;
} Frame;

static void put (Frame *frame, Style style, const char *format, ...) G_GNUC_PRINTF (3, 4);

static void
put (Frame *frame, Style style, const char *format, ...)
{
  va_list args;
  int space = frame->columns - frame->column;

  if (space <= 0 || frame->row >= frame->rows)
    return;
  va_start (args, format);
  g_autofree char *whole = g_strdup_vprintf (format, args);
  va_end (args);
  g_autofree char *shown = g_utf8_substring (whole, 0, MIN (g_utf8_strlen (whole, -1), space));
  frame->column += (int) g_utf8_strlen (shown, -1);
  g_string_append_printf (frame->text, "%s%s%s", view_style (frame->view, style), shown,
                          view_style (frame->view, STYLE_PLAIN));
}

static void
end_row (Frame *frame)
{
  if (frame->row < frame->rows)
    {
      g_string_append (frame->text, "\033[K");
      if (++frame->row < frame->rows)
        g_string_append (frame->text, "\r\n");
    }
  frame->column = 0;
}

static const char *
glyph (const Frame *frame, const char *unicode, const char *ascii)
{
  return frame->view->unicode ? unicode : ascii;
}

static void
put_bar (Frame *frame, Style style, double fraction, int width)
{
  int filled = (int) (CLAMP (fraction, 0.0, 1.0) * width + 0.5);

  for (int i = 0; i < width; i++)
    {
      put (frame, i < filled ? style : STYLE_DIM, "%s",
           i < filled ? glyph (frame, "━", "=") : glyph (frame, "─", "-"));
    }
}

static void
put_title (Frame *frame, Scene *scene, gint64 now_ns)
{
  double seconds = (double) (now_ns - (scene->began_ns != 0 ? scene->began_ns : now_ns)) / 1e9;
  guint total = scene->grants[LANGUAGE_C] + scene->grants[LANGUAGE_JAVA];
  guint wanted = scene->per_thread * scene->contenders->len;
  double whole = (double) (scene->end_ns - scene->began_ns) / 1e9;

  put (frame, STYLE_BOLD, " One lock, two languages");
  put (frame, STYLE_DIM, "   %s on %s", scene->path, scene->connect);
  end_row (frame);
  put (frame, STYLE_PLAIN, " ");
  if (scene->began_ns == 0)
    {
      put (frame, STYLE_DIM, "starting the workers ...");
    }
  else if (wanted > 0)
    {
      put_bar (frame, STYLE_GOOD, (double) total / wanted, frame->columns - 26);
      put (frame, STYLE_PLAIN, "  %u of %u", total, wanted);
    }
  else if (scene->finishing)
    {
      put (frame, STYLE_DIM, "finishing: waiting threads still get their turn ...");
    }
  else
    {
      put_bar (frame, STYLE_GOOD, seconds / whole, frame->columns - 22);
      put (frame, STYLE_PLAIN, "  %4.1f of %.0f s", seconds, whole);
    }
  end_row (frame);
  end_row (frame);
}

/* The random part of a node's name, of which the first letters are shown. */
static const char *
node_id (const Contender *contender)
{
  const char *node = contender->node != NULL ? contender->node : "";

  return g_str_has_prefix (node, "_c_") ? node + strlen ("_c_") : node;
}

static void
put_contender (Frame *frame, const Contender *contender, guint place, gint64 now_ns)
{
  Style style = view_style_of (contender->process->language);
  gboolean holds = contender->state == CONTENDER_HOLDS;
  g_autofree char *token = contender->token != 0
                               ? g_strdup_printf ("%" G_GUINT64_FORMAT, contender->token)
                               : g_strdup ("");
  const char *sequence = contender->node != NULL ? strrchr (contender->node, '-') : NULL;

  if (holds)
    put (frame, STYLE_GOOD, " %s HOLDS ", glyph (frame, "●", "*"));
  else if (contender->state == CONTENDER_WAITS)
    put (frame, STYLE_PLAIN, "   %2u.   ", place);
  else
    put (frame, STYLE_DIM, "    -    ");
  put (frame, style, "%-5s", language_name (contender->process->language));
  put (frame, holds ? STYLE_BOLD : STYLE_PLAIN, "%8s %6u   %-13.4s%-10s  %12s  ",
       contender->process->pid, contender->number, node_id (contender),
       sequence != NULL ? sequence + 1 : "", token);
  if (contender->state != CONTENDER_RESTS)
    {
      gint64 since_ns = holds ? contender->granted_ns : contender->queued_ns;

      put (frame, holds ? STYLE_BOLD : STYLE_PLAIN, "%6.1f s",
           (double) MAX (now_ns - since_ns, 0) / 1e9);
    }
  end_row (frame);
}

static void
put_queue (Frame *frame, Scene *scene, gint64 now_ns)
{
  g_autoptr (GPtrArray) ranking = scene_ranking (scene);
  guint place = 0;

  /* Between two holds a row replaces the holder, so that the table does not move. */
  const Contender *first = g_ptr_array_index (ranking, 0);
  put (frame, STYLE_DIM,
       "         lang  process thread   node         sequence           token      for");
  end_row (frame);
  if (first->state != CONTENDER_HOLDS)
    {
      put (frame, STYLE_DIM, " %s handing over ...", glyph (frame, "○", "o"));
      end_row (frame);
    }
  for (guint i = 0; i < ranking->len; i++)
    {
      const Contender *contender = g_ptr_array_index (ranking, i);

      place += contender->state == CONTENDER_WAITS ? 1 : 0;
      put_contender (frame, contender, place, now_ns);
    }
  if (first->state == CONTENDER_HOLDS)
    end_row (frame);
}

typedef enum
{
  CELL_FREE,
  CELL_WAITS,
  CELL_HOLDS
} Cell;

static Cell
cell_of_hold (gint64 queued_ns, gint64 granted_ns, gint64 released_ns, gint64 at_ns)
{
  if (at_ns >= granted_ns && at_ns < released_ns)
    return CELL_HOLDS;
  return at_ns >= queued_ns && at_ns < granted_ns ? CELL_WAITS : CELL_FREE;
}

static Cell
cell_at (const Contender *contender, const HoldRecord *holds, guint n_holds, gint64 at_ns)
{
  Cell cell = CELL_FREE;

  if (contender->state == CONTENDER_HOLDS)
    cell = cell_of_hold (contender->queued_ns, contender->granted_ns, G_MAXINT64, at_ns);
  else if (contender->state == CONTENDER_WAITS)
    cell = cell_of_hold (contender->queued_ns, G_MAXINT64, G_MAXINT64, at_ns);
  for (guint i = 0; i < n_holds && cell == CELL_FREE; i++)
    {
      if (holds[i].owner == contender->index)
        {
          cell =
              cell_of_hold (holds[i].queued_ns, holds[i].granted_ns, holds[i].released_ns, at_ns);
        }
    }
  return cell;
}

/* Each column is one instant, so two bars in a column would be two holders. */
static void
put_chart (Frame *frame, Scene *scene, gint64 now_ns)
{
  int width = MAX (frame->columns - LABEL_WIDTH - 1, 1);
  gint64 right = now_ns / CHART_CELL_NS;
  guint n_holds;
  const HoldRecord *holds = hold_check_get_holds (scene->check, &n_holds);
  guint from = n_holds;

  /* Skip holds that ended before the left edge; holds are sorted by their beginning. */
  while (from > 0 && holds[from - 1].released_ns > (right - width) * CHART_CELL_NS)
    from--;
  put (frame, STYLE_DIM, " The last %.0f seconds: a bar is a hold, dots are waiting",
       (double) (width * CHART_CELL_NS) / 1e9);
  end_row (frame);
  for (guint i = 0; i < scene->contenders->len; i++)
    {
      const Contender *contender = g_ptr_array_index (scene->contenders, i);
      Style style = view_style_of (contender->process->language);

      put (frame, style, " %-5s", language_name (contender->process->language));
      put (frame, STYLE_PLAIN, "%8s %-*u", contender->process->pid, LABEL_WIDTH - 15,
           contender->number);
      for (int column = 0; column < width; column++)
        {
          gint64 at_ns = (right - width + 1 + column) * CHART_CELL_NS;
          Cell cell = cell_at (contender, holds + from, n_holds - from, at_ns);

          put (frame, cell == CELL_HOLDS ? style : STYLE_DIM, "%s",
               cell == CELL_HOLDS   ? glyph (frame, "█", "#")
               : cell == CELL_WAITS ? glyph (frame, "·", ".")
                                    : " ");
        }
      end_row (frame);
    }
  end_row (frame);
}

static void
put_totals (Frame *frame, Scene *scene)
{
  HoldVerdict verdict = hold_check_get_verdict (scene->check);
  guint total = MAX (scene->grants[LANGUAGE_C] + scene->grants[LANGUAGE_JAVA], 1);

  for (int language = 0; language < N_LANGUAGES; language++)
    {
      put (frame, view_style_of (language), " %-5s", language_name (language));
      put (frame, STYLE_PLAIN, "%7u holds  ", scene->grants[language]);
      put_bar (frame, view_style_of (language), (double) scene->grants[language] / total,
               MAX (frame->columns - LABEL_WIDTH - 1, 1));
      end_row (frame);
    }
  put (frame, verdict.overlaps == 0 ? STYLE_GOOD : STYLE_BAD, " Two at once: %u", verdict.overlaps);
  put (frame, verdict.token_errors == 0 ? STYLE_GOOD : STYLE_BAD,
       "   Fencing token out of order: %u", verdict.token_errors);
  put (frame, STYLE_DIM, "   Ctrl-C ends early");
}

static void
terminal_size (int *columns, int *rows)
{
  struct winsize size = { 0 };

  ioctl (STDOUT_FILENO, TIOCGWINSZ, &size);
  *columns = size.ws_col > 0 ? size.ws_col : 80;
  *rows = size.ws_row > 0 ? size.ws_row : 24;
}

static void
write_all (const char *text, gsize length)
{
  while (length > 0)
    {
      ssize_t written = write (STDOUT_FILENO, text, length);

      if (written <= 0)
        return;
      text += written;
      length -= (gsize) written;
    }
}

void
view_screen_enter (const View *view)
{
  static const char enter[] = "\033[?1049h\033[?25l";

  if (view->live)
    write_all (enter, strlen (enter));
}

void
view_screen_leave (const View *view)
{
  static const char leave[] = "\033[0m\033[?25h\033[?1049l";

  if (view->live)
    write_all (leave, sizeof leave - 1);
}

void
view_screen_draw (const View *view, Scene *scene)
{
  Frame frame = { .view = view, .text = g_string_new ("\033[H") };
  gint64 now_ns = scene_now_ns ();

  terminal_size (&frame.columns, &frame.rows);
  put_title (&frame, scene, now_ns);
  put_queue (&frame, scene, now_ns);
  if (frame.row + (int) scene->contenders->len + ROWS_AROUND_CHART <= frame.rows)
    put_chart (&frame, scene, now_ns);
  put_totals (&frame, scene);
  g_string_append (frame.text, "\033[J");
  write_all (frame.text->str, frame.text->len);
  g_string_free (frame.text, TRUE);
}
