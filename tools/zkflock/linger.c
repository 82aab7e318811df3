/* Holds the lock on after the command has ended: --min-hold. */
#include "linger.h"

#include "base/outcome.h"
#include "runner/guard.h"
#include "runner/signals.h"

#define CHECK_MS 100

typedef struct
{
  CuratorLease *lease;
  gint64 until_us;
  GMainLoop *loop;
} Linger;

static gboolean
is_over (Linger *self)
{
  return boottime_us () >= self->until_us || curator_lease_get_remaining_ms (self->lease) == 0;
}

static gboolean
on_timer (gpointer data)
{
  Linger *self = data;

  if (is_over (self))
    g_main_loop_quit (self->loop);
  return G_SOURCE_CONTINUE;
}

static void
on_signal (int signal, gpointer data)
{
  Linger *self = data;

  if (signal_stops (signal))
    g_main_loop_quit (self->loop);
}

gboolean
linger (const Options *options, CuratorLease *lease, gint64 until_us)
{
  Linger self = { .lease = lease, .until_us = until_us };

  if (!is_over (&self))
    {
      print_verbose (options, "the lock is held on for %d ms",
                     (int) ((until_us - boottime_us ()) / 1000));
      self.loop = g_main_loop_new (NULL, FALSE);
      signals_set_handler (on_signal, &self);
      const guint timer = g_timeout_add (CHECK_MS, on_timer, &self);
      g_main_loop_run (self.loop);
      g_source_remove (timer);
      signals_set_handler (NULL, NULL);
      g_main_loop_unref (self.loop);
    }
  if (curator_lease_get_remaining_ms (lease) > 0)
    return TRUE;
  print_error (options->paths[0], "lock lost before --min-hold was over");
  return FALSE;
}
