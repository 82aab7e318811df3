/* SPDX-License-Identifier: Apache-2.0 */
#include "view.h"

#include <unistd.h>

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

/* The sequence number of a node, which is enough to distinguish it. */
static const char *
short_name (const char *node)
{
  const char *dash = strrchr (node, '-');

  return dash != NULL ? dash + 1 : node;
}

void
view_log_grant (const View *view, Scene *scene, const Contender *contender)
{
  guint waiting = 0;

  for (guint i = 0; i < scene->contenders->len; i++)
    {
      const Contender *other = g_ptr_array_index (scene->contenders, i);

      waiting += other->state == CONTENDER_WAITS ? 1 : 0;
    }
  g_print ("[%6.2f s] %s%-4s%s process %s thread %u holds node %s, token %" G_GUINT64_FORMAT
           ", after %4.0f ms; %u waiting\n",
           (double) (contender->granted_ns - scene->created_ns) / 1e9,
           view_style (view, view_style_of (contender->process->language)),
           language_name (contender->process->language), view_style (view, STYLE_PLAIN),
           contender->process->pid, contender->number, short_name (contender->node),
           contender->token, (double) (contender->granted_ns - contender->queued_ns) / 1e6,
           waiting);
}
