/* Holds the lock on after the command has ended: --min-hold. */
#include "linger.h"

#include "base/outcome.h"
#include "runner/guard.h"
#include "runner/signals.h"

#define CHECK_MS 100

/* Wakes the loop. */
static gboolean
on_timer (gpointer data)
{
  return G_SOURCE_CONTINUE;
}

gboolean
linger (const Options *options, CuratorLease *lease, gint64 until_us)
{
  const gint64 left_us = until_us - boottime_us ();
  const guint timer = g_timeout_add (CHECK_MS, on_timer, NULL);
  gboolean is_stopped = FALSE;

  if (left_us > 0)
    print_verbose (options, "the lock is held on for %d ms", (int) (left_us / 1000));
  signals_set_handler (signals_note_stop, &is_stopped);
  while (!is_stopped && boottime_us () < until_us && curator_lease_get_remaining_ms (lease) > 0)
    g_main_context_iteration (NULL, TRUE);
  signals_set_handler (NULL, NULL);
  g_source_remove (timer);
  if (curator_lease_get_remaining_ms (lease) > 0)
    return TRUE;
  print_error (options->paths[0], "lock lost before --min-hold was over");
  return FALSE;
}
