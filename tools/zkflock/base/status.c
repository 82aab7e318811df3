/* What happens, for programs: --status-fd, one JSON object a line. On the main thread only; does
 * nothing without that option. */
#include "base/status.h"

#include "base/exit_code.h"
#include "base/json.h"
#include "base/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define FIRST_FREE_FD 3

static int write_status (const char *words);
static char *tell_dropped (guint n);

static struct
{
  int fd;
  Outlet outlet;
  gboolean is_in_doubt; /* as told */
  const char *verdict;
  gboolean command_ended;
  gboolean by_signal;
  int number;
} status = { .fd = -1, .outlet = { .write = write_status, .tell_dropped = tell_dropped } };

gboolean
status_open (int fd)
{
  const int flags = fcntl (fd, F_GETFL);

  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
    errno = flags < 0 ? errno : EBADF;
    return FALSE;
  }
  status.fd = fcntl (fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
  if (status.fd < 0)
    return FALSE;
  /* The command has the standard descriptors, whatever else they are used for. */
  if (fd >= FIRST_FREE_FD)
    close (fd);
  outlet_open (&status.outlet);
  return TRUE;
}

gboolean
status_is_wanted (void)
{
  return status.fd >= 0;
}

GString *
status_begin (const char *event)
{
  GString *line = g_string_new (NULL);
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();
  g_autofree char *time = g_date_time_format (now, "%Y-%m-%dT%H:%M:%S.%fZ");
  json_begin (line, NULL, '{');
  json_string (line, "event", event, -1);
  json_string (line, "time", time, -1);
  return line;
}

/* A line; takes the event. */
static char *
end_event (GString *event)
{
  json_end (event, '}');
  g_string_append_c (event, '\n');
  return g_string_free (event, FALSE);
}

static int
write_status (const char *words)
{
  return write_words (status.fd, words);
}

static char *
tell_dropped (guint n)
{
  GString *event = status_begin ("dropped");
  json_int (event, "count", n);
  return end_event (event);
}

void
status_send (GString *event)
{
  char *line = end_event (event);

  if (status_is_wanted ())
    outlet_send (&status.outlet, line);
  else
    g_free (line);
}

void
status_event (const char *event)
{
  status_send (status_begin (event));
}

void
status_note_hold (gboolean is_in_doubt, gint64 left_ms)
{
  if (is_in_doubt == status.is_in_doubt)
    return;
  status.is_in_doubt = is_in_doubt;
  GString *event = status_begin (is_in_doubt ? "suspect" : "held");
  json_int (event, "left_ms", left_ms);
  status_send (event);
}

void
status_set_verdict (const char *verdict)
{
  status.verdict = verdict;
}

void
status_note_command (gboolean by_signal, int number)
{
  status.command_ended = TRUE;
  status.by_signal = by_signal;
  status.number = number;
  GString *event = status_begin ("ended");
  json_int (event, by_signal ? "signal" : "exit_code", number);
  status_send (event);
}

static const char *
verdict_of (int exit_code)
{
  static const char *const verdicts[] = {
    [0] = "released",
    [EXIT_CODE_USAGE] = "usage",
    [EXIT_CODE_NOT_KILLED] = "not killed",
    [EXIT_CODE_SHORTAGE] = "shortage",
    [EXIT_CODE_OUTPUT] = "output",
    [EXIT_CODE_LOST] = "lost",
    [EXIT_CODE_TLS] = "tls",
    [EXIT_CODE_REFUSED] = "refused",
    [EXIT_CODE_NOT_EXECUTABLE] = "not started",
    [EXIT_CODE_NOT_FOUND] = "not started",
  };
  const char *verdict = exit_code < (int) G_N_ELEMENTS (verdicts) ? verdicts[exit_code] : NULL;
  return verdict != NULL ? verdict : exit_code > EXIT_CODE_SIGNAL ? "signal" : "unreachable";
}

void
status_finish (int exit_code)
{
  GString *event = status_begin ("exit");

  json_string (event, "verdict", status.verdict != NULL ? status.verdict : verdict_of (exit_code),
               -1);
  json_int (event, "exit_code", exit_code);
  if (status.command_ended) {
    json_begin (event, "command", '{');
    json_int (event, status.by_signal ? "signal" : "exit_code", status.number);
    json_end (event, '}');
  }
  status_send (event);
  outlets_finish ();
}
