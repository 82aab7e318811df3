#include "support/metronome.h"

#include "support/suite.h"

#include <stdio.h>

gint64
metronome_waited_us (int pid)
{
  g_autofree char *folder = g_strdup_printf ("/proc/%d/task", pid);
  g_autoptr (GDir) threads = g_dir_open (folder, 0, NULL);
  const char *thread;
  gint64 sum_us = 0;
  while (threads != NULL && (thread = g_dir_read_name (threads)) != NULL) {
    g_autofree char *file = g_build_filename (folder, thread, "schedstat", NULL);
    g_autofree char *text = NULL;
    guint64 waited_ns = 0;
    if (g_file_get_contents (file, &text, NULL, NULL)
        && sscanf (text, "%*u %" G_GUINT64_FORMAT, &waited_ns) == 1)
      sum_us += (gint64) (waited_ns / 1000);
  }
  return sum_us;
}

void
metronome_assert (gint64 took_ms, gint64 bound_ms, gint64 since_ms, const char *file, int line)
{
  const gint64 late_us = metronome_stalled_us (since_ms * 1000);
  const gint64 late_ms = late_us / 1000;
  if (late_us < 0)
    _fail (file, line);
  if (took_ms <= bound_ms)
    return;
  print_message ("%d ms, where %d are promised, on a machine that was late by %d ms\n",
                 (int) took_ms, (int) bound_ms, (int) late_ms);
  if (took_ms > bound_ms + late_ms)
    _fail (file, line);
}
