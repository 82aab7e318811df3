/* SPDX-License-Identifier: Apache-2.0
 * The live view: the holder, the queue, and a chart of the last seconds in which no column may have
 * two bars. */
#include "view.h"

#include <stdio.h>
#include <string.h>
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
    g_string_append (frame->text, ++frame->row < frame->rows ? "\033[K\r\n" : "\033[K");
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
    put (frame, i < filled ? style : STYLE_DIM, "%s",
         i < filled ? glyph (frame, "━", "=") : glyph (frame, "─", "-"));
}

static void
put_title (Frame *frame, const Scene *scene, gint64 now_ns)
{
  guint total = scene->grants[LANGUAGE_C] + scene->grants[LANGUAGE_JAVA];
  guint wanted = scene->per_thread * scene->n_contenders;
  double seconds = (double) (now_ns - scene->began_ns) / 1e9;
  double whole = (double) (scene->end_ns - scene->began_ns) / 1e9;

  put (frame, STYLE_BOLD, " One lock, two languages");
  put (frame, STYLE_DIM, "   %s on %s", scene->path, scene->connect);
  end_row (frame);
  put (frame, STYLE_PLAIN, " ");
  if (scene->began_ns == 0 || (wanted == 0 && scene->finishing)) {
    put (frame, STYLE_DIM, "%s",
         scene->began_ns == 0 ? "starting the workers ..."
                              : "finishing: waiting threads still get their turn ...");
  } else if (wanted > 0) {
    put_bar (frame, STYLE_GOOD, (double) total / wanted, frame->columns - 26);
    put (frame, STYLE_PLAIN, "  %u of %u", total, wanted);
  } else {
    put_bar (frame, STYLE_GOOD, seconds / whole, frame->columns - 22);
    put (frame, STYLE_PLAIN, "  %4.1f of %.0f s", seconds, whole);
  }
  end_row (frame);
  end_row (frame);
}

static void
put_contender (Frame *frame, const Contender *contender, guint place, gint64 now_ns)
{
  gboolean holds = contender->state == CONTENDER_HOLDS;
  Style style = holds ? STYLE_BOLD : STYLE_PLAIN;
  /* Of a node's name, the first letters of the random part and the sequence number are shown. */
  const char *node = contender->node != NULL ? contender->node : "";
  const char *sequence = strrchr (node, '-');

  if (holds)
    put (frame, STYLE_GOOD, " %s HOLDS ", glyph (frame, "●", "*"));
  else if (contender->state == CONTENDER_WAITS)
    put (frame, STYLE_PLAIN, "   %2u.   ", place);
  else
    put (frame, STYLE_DIM, "    -    ");
  put (frame, view_style_of (contender->worker->language), "%-5s",
       language_name (contender->worker->language));
  put (frame, style, "%8s %6u   %-13.4s%-10s  ", contender->worker->pid, contender->number,
       g_str_has_prefix (node, "_c_") ? node + strlen ("_c_") : node,
       sequence != NULL ? sequence + 1 : "");
  if (contender->turn.token != 0)
    put (frame, style, "%12" G_GUINT64_FORMAT "  ", contender->turn.token);
  else
    put (frame, style, "%14s", "");
  if (contender->state != CONTENDER_RESTS) {
    gint64 since_ns = holds ? contender->turn.granted_ns : contender->turn.queued_ns;

    put (frame, style, "%6.1f s", (double) MAX (now_ns - since_ns, 0) / 1e9);
  }
  end_row (frame);
}

static guint64
rank (const Contender *contender)
{
  if (contender->state == CONTENDER_HOLDS)
    return 0;
  if (contender->state == CONTENDER_RESTS)
    return G_MAXUINT64;
  return contender->turn.token != 0 ? contender->turn.token : G_MAXUINT64 - 1;
}

/* The holder, the waiters in queue order, then the rest. */
static int
compare_ranks (gconstpointer a, gconstpointer b)
{
  const Contender *left = *(Contender *const *) a;
  const Contender *right = *(Contender *const *) b;

  if (rank (left) != rank (right))
    return rank (left) < rank (right) ? -1 : 1;
  if (left->turn.queued_ns != right->turn.queued_ns)
    return left->turn.queued_ns < right->turn.queued_ns ? -1 : 1;
  return left->turn.owner < right->turn.owner ? -1 : 1;
}

static void
put_queue (Frame *frame, Scene *scene, gint64 now_ns)
{
  g_autoptr (GPtrArray) ranking = g_ptr_array_new ();
  guint holders = scene_count (scene, CONTENDER_HOLDS);

  for (guint i = 0; i < scene->n_contenders; i++)
    g_ptr_array_add (ranking, &scene->contenders[i]);
  g_ptr_array_sort (ranking, compare_ranks);
  put (frame, STYLE_DIM,
       "         lang  process thread   node         sequence           token      for");
  end_row (frame);
  /* Between two holds a row replaces the holder, so that the table does not move. */
  if (holders == 0) {
    put (frame, STYLE_DIM, " %s handing over ...", glyph (frame, "○", "o"));
    end_row (frame);
  }
  for (guint i = 0; i < ranking->len; i++)
    put_contender (frame, g_ptr_array_index (ranking, i), i + 1 - holders, now_ns);
  if (holders > 0)
    end_row (frame);
}

/* What a thread did at that time. */
static ContenderState
state_at (const Contender *contender, const HoldRecord *holds, guint n_holds, gint64 at_ns)
{
  for (guint i = 0; i <= n_holds; i++) {
    const HoldRecord *hold = i < n_holds ? &holds[i] : &contender->turn;

    if (hold->owner == contender->turn.owner && at_ns >= hold->queued_ns
        && at_ns < hold->released_ns)
      return at_ns >= hold->granted_ns ? CONTENDER_HOLDS : CONTENDER_WAITS;
  }
  return CONTENDER_RESTS;
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
  for (guint i = 0; i < scene->n_contenders; i++) {
    const Contender *contender = &scene->contenders[i];
    const char *cells[] = { " ", glyph (frame, "·", "."), glyph (frame, "█", "#") };
    Style style = view_style_of (contender->worker->language);

    put (frame, style, " %-5s", language_name (contender->worker->language));
    put (frame, STYLE_PLAIN, "%8s %-*u", contender->worker->pid, LABEL_WIDTH - 15,
         contender->number);
    for (int column = 0; column < width; column++) {
      gint64 at_ns = (right - width + 1 + column) * CHART_CELL_NS;
      ContenderState state = state_at (contender, holds + from, n_holds - from, at_ns);

      put (frame, state == CONTENDER_HOLDS ? style : STYLE_DIM, "%s", cells[state]);
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

  for (int language = 0; language < N_LANGUAGES; language++) {
    Style style = view_style_of (language);

    put (frame, style, " %-5s", language_name (language));
    put (frame, STYLE_PLAIN, "%7u holds  ", scene->grants[language]);
    put_bar (frame, style, (double) scene->grants[language] / total,
             MAX (frame->columns - LABEL_WIDTH - 1, 1));
    end_row (frame);
  }
  put (frame, verdict.overlaps == 0 ? STYLE_GOOD : STYLE_BAD, " Two at once: %u", verdict.overlaps);
  put (frame, verdict.token_errors == 0 ? STYLE_GOOD : STYLE_BAD,
       "   Fencing token out of order: %u", verdict.token_errors);
  put (frame, STYLE_DIM, "   Ctrl-C ends early");
}

void
view_screen_draw (const View *view, Scene *scene)
{
  g_autoptr (GString) text = g_string_new ("\033[H");
  struct winsize size = { 0 };
  gint64 now_ns = scene_now_ns ();

  ioctl (STDOUT_FILENO, TIOCGWINSZ, &size);
  Frame frame = { .view = view,
                  .text = text,
                  .columns = size.ws_col > 0 ? size.ws_col : 80,
                  .rows = size.ws_row > 0 ? size.ws_row : 24 };
  put_title (&frame, scene, now_ns);
  put_queue (&frame, scene, now_ns);
  if (frame.row + (int) scene->n_contenders + ROWS_AROUND_CHART <= frame.rows)
    put_chart (&frame, scene, now_ns);
  put_totals (&frame, scene);
  g_print ("%s\033[J", text->str);
}
