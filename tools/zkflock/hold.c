/* Holds the lock without a command, or on after the command has ended: --min-hold. */
#include "hold.h"

#include "base/outcome.h"
#include "base/outlet.h"
#include "base/status.h"
#include "runner/guard.h"
#include "runner/signals.h"

#include <errno.h>
#include <glib-unix.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define NO_CODE          -1
#define CHECK_MS         500
#define MAXIMUM_CHECK_MS 20
#define LINGER_CHECK_MS  100

struct _Hold
{
  const Options *options;
  CuratorLease *lease;
  gint64 ends_us;
  GMainLoop *loop;
  int code;
  gboolean lost;
};

static int
write_token (const char *words)
{
  return write_words (STDOUT_FILENO, words);
}

static Outlet token = { .write = write_token };

void
hold_open (const Options *options)
{
  if (options->command == NULL)
    outlet_open (&token);
}

int
hold_check_token (int code)
{
  const int error = code == 0 ? outlet_get_error (&token) : 0;

  if (error == 0)
    return code;
  print_error (NULL, "the token cannot be written: %s",
               error == EAGAIN ? "nobody reads it" : g_strerror (error));
  return EXIT_CODE_OUTPUT;
}

/* A reader that is late may still come. */
static gboolean
token_has_failed (void)
{
  const int error = outlet_get_error (&token);
  return error != 0 && error != EAGAIN;
}

static void
end (Hold *hold, int code)
{
  if (hold->code == NO_CODE) {
    hold->code = code;
    g_main_loop_quit (hold->loop);
  }
}

static void
on_signal (int signal, gpointer data)
{
  if (signal_stops (signal))
    end (data, EXIT_CODE_SIGNAL + signal);
}

static gboolean
on_stdin (int fd, GIOCondition condition, gpointer data)
{
  char text[4096];
  const gssize n = read (fd, text, sizeof text);

  if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
    return G_SOURCE_CONTINUE;
  end (data, 0);
  return G_SOURCE_CONTINUE;
}

/* A pipe that has ended lets go on purpose. */
static gboolean
is_over_from_the_start (void)
{
  struct stat file;
  char byte;

  return fstat (STDIN_FILENO, &file) == 0 && (S_ISCHR (file.st_mode) || S_ISREG (file.st_mode))
         && isatty (STDIN_FILENO) == 0 && read (STDIN_FILENO, &byte, 1) == 0;
}

static gboolean
on_lease_over (int fd, GIOCondition condition, gpointer data)
{
  Hold *hold = data;
  hold->lost = TRUE;
  end (hold, EXIT_CODE_LOST);
  return G_SOURCE_CONTINUE;
}

/* The hold may have ended by the clock before the lease changes its state. */
static gboolean
on_timer (gpointer data)
{
  Hold *hold = data;
  if (curator_lease_get_remaining_ms (hold->lease) == 0) {
    hold->lost = TRUE;
    end (hold, EXIT_CODE_LOST);
  } else if (boottime_us () >= hold->ends_us && hold->code == NO_CODE) {
    print_error (hold->options->paths[0], "held for its maximum of %g s",
                 (double) hold->options->max_hold_ms / 1000);
    status_set_verdict ("maximum");
    end (hold, EXIT_CODE_LOST);
  } else if (token_has_failed ()) {
    end (hold, hold_check_token (0));
  }
  return G_SOURCE_CONTINUE;
}

void
hold_revoke (Hold *hold)
{
  print_verbose (hold->options, "another client asks for the lock");
  end (hold, 0);
}

int
hold_run (const Options *options, CuratorLease *lease, gint64 ends_us, Hold **hold, gboolean *lost)
{
  const int lease_fd = curator_lease_get_fd (lease);
  g_autoptr (GMainLoop) loop = g_main_loop_new (NULL, FALSE);
  Hold self = {
    .options = options, .lease = lease, .ends_us = ends_us, .loop = loop, .code = NO_CODE
  };

  *lost = FALSE;
  outlet_send (
      &token, g_strdup_printf ("%" G_GUINT64_FORMAT "\n", curator_lease_get_fencing_token (lease)));
  if (token_has_failed ())
    return hold_check_token (0);
  *hold = &self;
  signals_set_handler (on_signal, &self);
  if (!options->hold && is_over_from_the_start ())
    print_error (options->paths[0],
                 "standard input is at its end, so the lock is released at once; --hold "
                 "holds it until a signal");
  const guint sources[] = {
    options->hold
        ? 0
        : g_unix_fd_add (STDIN_FILENO, G_IO_IN | G_IO_HUP | G_IO_ERR | G_IO_NVAL, on_stdin, &self),
    g_unix_fd_add (lease_fd, G_IO_IN, on_lease_over, &self),
    g_timeout_add (ends_us != G_MAXINT64 ? MAXIMUM_CHECK_MS : CHECK_MS, on_timer, &self)
  };
  g_main_loop_run (loop);
  signals_set_handler (NULL, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (sources); i++)
    if (sources[i] != 0)
      g_source_remove (sources[i]);
  *hold = NULL;
  *lost = self.lost;
  if (self.lost)
    print_error (options->paths[0], "lock lost");
  return self.code;
}

/* Wakes the loop. */
static gboolean
on_wake (gpointer data)
{
  return G_SOURCE_CONTINUE;
}

gboolean
linger (const Options *options, CuratorLease *lease, gint64 until_us)
{
  const gint64 left_us = until_us - boottime_us ();
  const guint timer = g_timeout_add (LINGER_CHECK_MS, on_wake, NULL);
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
