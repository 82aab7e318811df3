/* What happens, for programs: --status-fd, one JSON object a line. On the main thread only; does
 * nothing without that option. */
#include "base/status.h"

#include "base/exit_code.h"
#include "base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#define FIRST_FREE_FD 3
#define LAST_WAIT_MS  1000 /* for a reader that is busy, at the end */

static struct
{
  int fd;
  GString *
      unread; /* a full pipe must not stop the clock of the lock, so what does not fit waits here */
  const char *verdict;
  gboolean command_ended;
  gboolean by_signal;
  int number;
} status = { .fd = -1 };

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
  status.unread = g_string_new (NULL);
  return TRUE;
}

gboolean
status_is_wanted (void)
{
  return status.fd >= 0;
}

/* A pipe that can be written to takes PIPE_BUF bytes without blocking. */
static void
flush (int wait_ms)
{
  const gint64 until = g_get_monotonic_time () + wait_ms * 1000;

  while (status.fd >= 0 && status.unread->len > 0) {
    struct pollfd one = { .fd = status.fd, .events = POLLOUT };
    const gint64 left_ms = MAX (until - g_get_monotonic_time (), 0) / 1000;
    const int ready = poll (&one, 1, (int) left_ms);
    if (ready == 0 || (ready < 0 && errno != EINTR))
      return;
    const gssize n =
        ready > 0 ? write (status.fd, status.unread->str, MIN (status.unread->len, 4096)) : 0;
    if (n < 0 && errno != EINTR && errno != EAGAIN) {
      /* Nobody reads any more. */
      close (status.fd);
      status.fd = -1;
    }
    g_string_erase (status.unread, 0, MAX (n, 0));
  }
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

void
status_send (GString *event)
{
  json_end (event, '}');
  g_string_append_c (event, '\n');
  if (status_is_wanted ())
    g_string_append_len (status.unread, event->str, (gssize) event->len);
  g_string_free (event, TRUE);
  flush (0);
}

void
status_event (const char *event)
{
  status_send (status_begin (event));
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
  flush (LAST_WAIT_MS);
}
