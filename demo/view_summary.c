/* SPDX-License-Identifier: Apache-2.0 */
#include "view.h"

/* Times in milliseconds, sorted before use. */
typedef struct
{
  GArray *waits;
  GArray *handovers;
} Times;

static int
compare_doubles (gconstpointer a, gconstpointer b)
{
  double left = *(const double *) a;
  double right = *(const double *) b;

  return (left > right) - (left < right);
}

static double
percentile (GArray *times, guint percent)
{
  return times->len > 0 ? g_array_index (times, double, (times->len - 1) * percent / 100) : 0.0;
}

static void
add_time (GArray *times, gint64 from_ns, gint64 to_ns)
{
  double ms = (double) (to_ns - from_ns) / 1e6;

  g_array_append_val (times, ms);
}

/* A hand-over lasts from a release to the next grant, if the next holder was waiting already. */
static void
collect (Scene *scene, Times times[N_LANGUAGES])
{
  guint n_holds;
  const HoldRecord *holds = hold_check_get_holds (scene->check, &n_holds);

  for (int i = 0; i < N_LANGUAGES; i++)
    {
      times[i].waits = g_array_new (FALSE, FALSE, sizeof (double));
      times[i].handovers = g_array_new (FALSE, FALSE, sizeof (double));
    }
  for (guint i = 0; i < n_holds; i++)
    {
      const Contender *owner = g_ptr_array_index (scene->contenders, holds[i].owner);
      Times *of = &times[owner->process->language];

      add_time (of->waits, holds[i].queued_ns, holds[i].granted_ns);
      if (i > 0 && holds[i].queued_ns < holds[i - 1].released_ns)
        add_time (of->handovers, holds[i - 1].released_ns, holds[i].granted_ns);
    }
  for (int i = 0; i < N_LANGUAGES; i++)
    {
      g_array_sort (times[i].waits, compare_doubles);
      g_array_sort (times[i].handovers, compare_doubles);
    }
}

static void
print_row (const View *view, Language language, guint threads, const Times *times)
{
  const char *plain = view_style (view, STYLE_PLAIN);

  g_print ("  %s%-8s%s %7u %12u   %7.0f ms %7.0f ms %7.0f ms  %7.1f ms\n",
           view_style (view, view_style_of (language)), language_name (language), plain, threads,
           times->waits->len, percentile (times->waits, 50), percentile (times->waits, 95),
           percentile (times->waits, 100), percentile (times->handovers, 50));
}

static guint
threads_of (Scene *scene, Language language)
{
  guint n = 0;

  for (guint i = 0; i < scene->contenders->len; i++)
    {
      const Contender *contender = g_ptr_array_index (scene->contenders, i);

      n += contender->process->language == language ? 1 : 0;
    }
  return n;
}

static guint
print_failures (const View *view, Scene *scene)
{
  guint failures = 0;

  for (guint i = 0; i < scene->processes->len; i++)
    {
      const Process *process = g_ptr_array_index (scene->processes, i);

      if (process->failure != NULL)
        {
          failures++;
          g_print ("  %s%s process %s: %s%s\n", view_style (view, STYLE_BAD),
                   language_name (process->language), process->pid, process->failure,
                   view_style (view, STYLE_PLAIN));
        }
    }
  return failures;
}

/* A language with threads but without a hold starved. */
static guint
print_starved (const View *view, Scene *scene, const Times times[N_LANGUAGES])
{
  guint starved = 0;

  for (int i = 0; i < N_LANGUAGES; i++)
    {
      if (threads_of (scene, i) > 0 && times[i].waits->len == 0)
        {
          starved++;
          g_print ("  %s%s never held the lock%s\n", view_style (view, STYLE_BAD),
                   language_name (i), view_style (view, STYLE_PLAIN));
        }
    }
  return starved;
}

gboolean
view_summary (const View *view, Scene *scene, GPtrArray *complaints)
{
  Times times[N_LANGUAGES];
  HoldVerdict verdict = hold_check_get_verdict (scene->check);
  const char *plain = view_style (view, STYLE_PLAIN);

  collect (scene, times);
  g_print ("\n%sOne lock, two languages: %s on %s%s\n\n", view_style (view, STYLE_BOLD),
           scene->path, scene->connect, plain);
  g_print ("  %s                                waited:                           hand-over:%s\n",
           view_style (view, STYLE_DIM), plain);
  g_print ("  %slanguage threads acquisitions       median       95 %%        max      median%s\n",
           view_style (view, STYLE_DIM), plain);
  for (int i = 0; i < N_LANGUAGES; i++)
    {
      guint threads = threads_of (scene, i);

      if (threads > 0)
        print_row (view, i, threads, &times[i]);
    }
  g_print ("\n");
  guint failures = print_failures (view, scene) + print_starved (view, scene, times);
  gboolean good = verdict.overlaps == 0 && verdict.token_errors == 0 && failures == 0;

  g_print (
      "  %sviolations: %u%s   (two holders at once: %u; fencing token that did not rise: %u)\n",
      view_style (view, verdict.overlaps + verdict.token_errors == 0 ? STYLE_GOOD : STYLE_BAD),
      verdict.overlaps + verdict.token_errors, plain, verdict.overlaps, verdict.token_errors);
  if (!good)
    {
      for (guint i = 0; i < complaints->len; i++)
        g_print ("  | %s\n", (const char *) g_ptr_array_index (complaints, i));
    }
  g_print ("  %s%s%s\n", view_style (view, good ? STYLE_GOOD : STYLE_BAD),
           !good                ? "FAILED"
           : scene->interrupted ? "stopped early, no failure"
                                : "no failure",
           plain);
  for (int i = 0; i < N_LANGUAGES; i++)
    {
      g_array_unref (times[i].waits);
      g_array_unref (times[i].handovers);
    }
  return good;
}
