/* Holds the lock without a command. */
#include "hold.h"

#include "base/outcome.h"
#include "base/status.h"
#include "runner/guard.h"
#include "runner/signals.h"

#include <errno.h>
#include <glib-unix.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NO_CODE          -1
#define CHECK_MS         500
#define MAXIMUM_CHECK_MS 20

struct _Hold
{
  const Options *options;
  const char *path;
  CuratorLease *lease;
  gint64 ends_us;
  GMainLoop *loop;
  int code;
  gboolean lost;
};

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
    print_error (hold->path, "held for its maximum of %g s",
                 (double) hold->options->max_hold_ms / 1000);
    status_set_verdict ("maximum");
    end (hold, EXIT_CODE_LOST);
  }
  return G_SOURCE_CONTINUE;
}

Hold *
hold_new (const Options *options, const char *path, CuratorLease *lease, gint64 ends_us)
{
  Hold *hold = g_new0 (Hold, 1);

  hold->options = options;
  hold->path = path;
  hold->lease = lease;
  hold->ends_us = ends_us;
  hold->loop = g_main_loop_new (NULL, FALSE);
  hold->code = NO_CODE;
  return hold;
}

void
hold_free (Hold *hold)
{
  g_main_loop_unref (hold->loop);
  g_free (hold);
}

void
hold_revoke (Hold *hold)
{
  print_verbose (hold->options, "another client asks for the lock");
  end (hold, 0);
}

int
hold_run (Hold *hold, gboolean *lost)
{
  const int lease_fd = curator_lease_get_fd (hold->lease);

  *lost = FALSE;
  if (printf ("%" G_GUINT64_FORMAT "\n", curator_lease_get_fencing_token (hold->lease)) < 0
      || fflush (stdout) != 0) {
    print_error (hold->path, "the token cannot be written: %s", g_strerror (errno));
    return EXIT_CODE_OUTPUT;
  }
  signals_set_handler (on_signal, hold);
  if (!hold->options->hold && is_over_from_the_start ()) {
    print_error (hold->path,
                 "standard input is at its end, so the lock is released at once; --hold "
                 "holds it until a signal");
  }
  const guint sources[] = {
    hold->options->hold
        ? 0
        : g_unix_fd_add (STDIN_FILENO, G_IO_IN | G_IO_HUP | G_IO_ERR | G_IO_NVAL, on_stdin, hold),
    g_unix_fd_add (lease_fd, G_IO_IN, on_lease_over, hold),
    g_timeout_add (hold->ends_us != G_MAXINT64 ? MAXIMUM_CHECK_MS : CHECK_MS, on_timer, hold)
  };
  g_main_loop_run (hold->loop);
  signals_set_handler (NULL, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (sources); i++)
    if (sources[i] != 0)
      g_source_remove (sources[i]);
  *lost = hold->lost;
  if (hold->lost)
    print_error (hold->path, "lock lost");
  return hold->code;
}
