/* SPDX-License-Identifier: Apache-2.0 */
#include "view.h"

#include <string.h>
#include <unistd.h>

#define MAX_COMPLAINTS 12 /* lines of a worker */

View
view_detect (gboolean force_log)
{
  const char *term = g_getenv ("TERM");
  const char *no_color = g_getenv ("NO_COLOR");
  gboolean terminal = isatty (STDOUT_FILENO) && term != NULL && !g_str_equal (term, "dumb");

  return (View){ .live = terminal && !force_log,
                 .colour = terminal && (no_color == NULL || *no_color == '\0'),
                 .unicode = g_get_charset (NULL) };
}

const char *
view_style (const View *view, Style style)
{
  static const char *const sequences[] = {
    [STYLE_PLAIN] = "\033[0m", [STYLE_BOLD] = "\033[1m",   [STYLE_DIM] = "\033[2m",
    [STYLE_GOOD] = "\033[32m", [STYLE_BAD] = "\033[1;31m", [STYLE_C] = "\033[36m",
    [STYLE_JAVA] = "\033[33m",
  };

  return view->colour ? sequences[style] : "";
}

Style
view_style_of (Language language)
{
  return language == LANGUAGE_C ? STYLE_C : STYLE_JAVA;
}

static void print (const View *view, Style style, const char *format, ...) G_GNUC_PRINTF (3, 4);

static void
print (const View *view, Style style, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  g_print ("%s%s%s", view_style (view, style), text, view_style (view, STYLE_PLAIN));
}

void
view_log_grant (const View *view, const Scene *scene, const Contender *contender)
{
  g_print ("[%6.2f s] ", (double) (contender->turn.granted_ns - scene->created_ns) / 1e9);
  print (view, view_style_of (contender->worker->language), "%-4s",
         language_name (contender->worker->language));
  /* The sequence number of a node is enough to distinguish it. */
  g_print (" process %s thread %u holds node %s, token %" G_GUINT64_FORMAT
           ", after %4.0f ms; %u waiting\n",
           contender->worker->pid, contender->number, strrchr (contender->node, '-') + 1,
           contender->turn.token,
           (double) (contender->turn.granted_ns - contender->turn.queued_ns) / 1e6,
           scene_count (scene, CONTENDER_WAITS));
}

static int
compare_doubles (gconstpointer a, gconstpointer b)
{
  double left = *(const double *) a;
  double right = *(const double *) b;

  return (left > right) - (left < right);
}

/* The times that acquire took in a language or, of hand-overs, from a release to the next grant if
 * the next holder was waiting already: in milliseconds, sorted. */
static GArray *
collect (const Scene *scene, Language language, gboolean handovers)
{
  GArray *times = g_array_new (FALSE, FALSE, sizeof (double));
  guint n_holds;
  const HoldRecord *holds = hold_check_get_holds (scene->check, &n_holds);

  for (guint i = handovers; i < n_holds; i++) {
    gint64 from_ns = handovers ? holds[i - 1].released_ns : holds[i].queued_ns;
    double ms = (double) (holds[i].granted_ns - from_ns) / 1e6;

    if (scene->contenders[holds[i].owner].worker->language == language
        && (!handovers || holds[i].queued_ns < from_ns))
      g_array_append_val (times, ms);
  }
  g_array_sort (times, compare_doubles);
  return times;
}

static double
percentile (GArray *times, guint percent)
{
  return times->len > 0 ? g_array_index (times, double, (times->len - 1) * percent / 100) : 0.0;
}

/* Returns whether the language was to run and starved. */
static gboolean
print_row (const View *view, const Scene *scene, Language language)
{
  g_autoptr (GArray) waits = collect (scene, language, FALSE);
  g_autoptr (GArray) handovers = collect (scene, language, TRUE);
  guint threads = 0;

  for (guint i = 0; i < scene->n_contenders; i++)
    threads += scene->contenders[i].worker->language == language;
  if (threads == 0)
    return FALSE;
  print (view, view_style_of (language), "  %-8s", language_name (language));
  g_print (" %7u %12u   %7.0f ms %7.0f ms %7.0f ms  %7.1f ms\n", threads, waits->len,
           percentile (waits, 50), percentile (waits, 95), percentile (waits, 100),
           percentile (handovers, 50));
  return waits->len == 0;
}

static void
print_complaints (const Worker *worker)
{
  char text[4096] = "";
  ssize_t length = pread (worker->complaints, text, sizeof text - 1, 0);
  g_auto (GStrv) lines = g_strsplit (length > 0 ? text : "", "\n", MAX_COMPLAINTS + 1);

  for (guint i = 0; i < MAX_COMPLAINTS && lines[i] != NULL && *lines[i] != '\0'; i++)
    g_print ("  | %s: %s\n", worker->pid, lines[i]);
}

gboolean
view_summary (const View *view, Scene *scene)
{
  HoldVerdict verdict = hold_check_get_verdict (scene->check);
  guint violations = verdict.overlaps + verdict.token_errors;
  gboolean starved[N_LANGUAGES];
  gboolean good = violations == 0;

  print (view, STYLE_BOLD, "\nOne lock, two languages: %s on %s\n\n", scene->path, scene->connect);
  print (view, STYLE_DIM,
         "                                  waited:                           hand-over:\n"
         "  language threads acquisitions       median       95 %%        max      median\n");
  for (int i = 0; i < N_LANGUAGES; i++)
    starved[i] = print_row (view, scene, i);
  g_print ("\n");
  for (guint i = 0; i < scene->n_workers; i++) {
    const Worker *worker = &scene->workers[i];

    if (worker->failure != NULL)
      print (view, STYLE_BAD, "  %s process %s: %s\n", language_name (worker->language),
             worker->pid, worker->failure);
    good = good && worker->failure == NULL;
  }
  for (int i = 0; i < N_LANGUAGES; i++) {
    if (starved[i])
      print (view, STYLE_BAD, "  %s never held the lock\n", language_name (i));
    good = good && !starved[i];
  }
  print (view, violations == 0 ? STYLE_GOOD : STYLE_BAD, "  violations: %u", violations);
  g_print ("   (two holders at once: %u; fencing token that did not rise: %u)\n", verdict.overlaps,
           verdict.token_errors);
  for (guint i = 0; i < scene->n_workers && !good; i++)
    print_complaints (&scene->workers[i]);
  print (view, good ? STYLE_GOOD : STYLE_BAD, "  %s\n",
         !good                ? "FAILED"
         : scene->interrupted ? "stopped early, no failure"
                              : "no failure");
  return good;
}
