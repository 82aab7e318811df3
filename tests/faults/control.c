#include "lab.h"
#include "support/process.h"
#include "support/waiting.h"

#include <glib/gstdio.h>
#include <string.h>

struct _Control
{
  pid_t pid;
  char *output;
};

Control *
control_start (Lab *lab, const char *connect_string, guint lock)
{
  Control *control = g_new0 (Control, 1);
  g_autofree char *path = g_strdup_printf ("/faults/%u", lock);
  g_autofree char *session = g_strdup_printf ("%d", LAB_SESSION_MS);
  const char *const argv[] = { CONTROL_JAVA,
                               "-Xmx64m",
                               "-XX:+UseSerialGC",
                               "-XX:TieredStopAtLevel=1",
                               "-XX:-UsePerfData",
                               "-cp",
                               CONTROL_CLASSPATH,
                               "HolderPeer",
                               connect_string,
                               path,
                               session,
                               NULL };
  control->output = g_strdup_printf ("%s-control-%u", lab_directory (lab), lock);
  control->pid = process_spawn ((char *const *) argv, control->output);
  assert_true (control->pid != 0);
  return control;
}

static gint64
find_word (const Control *control, const char *word)
{
  g_autofree char *text = NULL;
  g_file_get_contents (control->output, &text, NULL, NULL);
  g_auto (GStrv) lines = g_strsplit (text != NULL ? text : "", "\n", -1);
  for (char **line = lines; *line != NULL; line++)
    if (g_str_has_prefix (*line, word) && (*line)[strlen (word)] == ' ')
      return g_ascii_strtoll (*line + strlen (word), NULL, 10);
  return 0;
}

gint64
control_wait (Control *control, const char *word, int timeout_ms)
{
  const gint64 deadline = wait_now_ms () + timeout_ms;
  gint64 at_ns;
  while ((at_ns = find_word (control, word)) == 0 && wait_now_ms () < deadline)
    wait_ms (10);
  return at_ns;
}

void
control_stop (Control *control)
{
  if (control != NULL)
    {
      process_kill (control->pid);
      g_unlink (control->output);
      g_free (control->output);
      g_free (control);
    }
}
