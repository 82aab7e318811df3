#include "cli/terminal.h"

#include "support/process.h"
#include "support/waiting.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MAX_SEQUENCE 32
#define MAX_ROWS     60
#define MAX_COLUMNS  220

struct _Terminal
{
  pid_t pid;
  int fd;
  int rows;
  int columns;
  gunichar cells[MAX_ROWS][MAX_COLUMNS];
  int row;
  int column; /* columns: behind the last character, still on it */
  gboolean alternate;
  gboolean coloured;
  int n_scrolled;
  GByteArray *pending; /* the beginning of a character or sequence */
};

Terminal *
terminal_start (char *const *argv)
{
  return terminal_start_sized (argv, TERMINAL_COLUMNS, TERMINAL_ROWS);
}

Terminal *
terminal_start_sized (char *const *argv, int columns, int rows)
{
  const struct winsize size = { .ws_row = (unsigned short) rows,
                                .ws_col = (unsigned short) columns };
  Terminal *self = g_new0 (Terminal, 1);

  g_assert (columns <= MAX_COLUMNS && rows <= MAX_ROWS);
  self->rows = rows;
  self->columns = columns;
  self->pending = g_byte_array_new ();
  self->pid = forkpty (&self->fd, NULL, NULL, &size);
  if (self->pid == 0)
    {
      prctl (PR_SET_PDEATHSIG, SIGKILL);
      close_range (3, ~0U, 0);
      setenv ("TERM", "xterm", TRUE);
      execv (argv[0], argv);
      _exit (125);
    }
  fcntl (self->fd, F_SETFD, FD_CLOEXEC);
  return self;
}

void
terminal_free (Terminal *self)
{
  if (self->pid > 0)
    process_kill (self->pid);
  close (self->fd);
  g_byte_array_unref (self->pending);
  g_free (self);
}

void
terminal_resize (Terminal *self, int columns, int rows)
{
  const struct winsize size = { .ws_row = (unsigned short) rows,
                                .ws_col = (unsigned short) columns };

  g_assert (columns <= MAX_COLUMNS && rows <= MAX_ROWS);
  self->rows = rows;
  self->columns = columns;
  self->row = MIN (self->row, rows - 1);
  self->column = MIN (self->column, columns);
  ioctl (self->fd, TIOCSWINSZ, &size);
}

pid_t
terminal_get_pid (Terminal *self)
{
  return self->pid;
}

void
terminal_type (Terminal *self, const char *keys)
{
  for (gsize done = 0; done < strlen (keys);)
    {
      const gssize n = write (self->fd, keys + done, strlen (keys) - done);
      if (n < 0 && errno != EINTR && errno != EAGAIN)
        return;
      done += n > 0 ? (gsize) n : 0;
    }
}

static void
erase (Terminal *self, int row, int column)
{
  for (; column < self->columns; column++)
    self->cells[row][column] = 0;
}

static void
line_feed (Terminal *self)
{
  if (self->row + 1 < self->rows)
    {
      self->row++;
      return;
    }
  memmove (self->cells[0], self->cells[1], (gsize) (self->rows - 1) * sizeof self->cells[0]);
  erase (self, self->rows - 1, 0);
  self->n_scrolled++;
}

static void
put (Terminal *self, gunichar c)
{
  if (c == '\r')
    {
      self->column = 0;
    }
  else if (c == '\n')
    {
      line_feed (self);
    }
  else if (c == '\b')
    {
      self->column -= self->column > 0;
    }
  else if (c >= ' ')
    {
      if (self->column == self->columns)
        {
          self->column = 0;
          line_feed (self);
        }
      self->cells[self->row][self->column++] = c;
    }
}

/* ESC [ parameters letter */
static void
obey (Terminal *self, const char *parameters, char letter)
{
  const int column = MIN (self->column, self->columns - 1);

  switch (letter)
    {
    case 'H':
      self->row = self->column = 0;
      break;
    case 'K':
      erase (self, self->row, column);
      break;
    case 'J':
      erase (self, self->row, column);
      for (int row = self->row + 1; row < self->rows; row++)
        erase (self, row, 0);
      break;
    case 'm':
      self->coloured = TRUE;
      break;
    default:
      if (strcmp (parameters, "?1049") == 0)
        self->alternate = letter == 'h';
      break;
    }
}

/* How many bytes at the start of these make a whole; 0: more are needed. */
static gsize
take_one (Terminal *self, const char *bytes, gsize length)
{
  if (*bytes != '\x1b')
    {
      const gunichar c = g_utf8_get_char_validated (bytes, (gssize) length);
      if (c == (gunichar) -2)
        return 0;
      put (self, c == (gunichar) -1 ? '?' : c);
      return c == (gunichar) -1 ? 1 : (gsize) g_unichar_to_utf8 (c, NULL);
    }
  for (gsize i = 2; i < length && i < MAX_SEQUENCE; i++)
    {
      if (bytes[i] >= '@' && bytes[i] <= '~')
        {
          g_autofree char *parameters = g_strndup (bytes + 2, i - 2);
          obey (self, parameters, bytes[i]);
          return i + 1;
        }
    }
  return length < MAX_SEQUENCE ? 0 : 1;
}

static void
take (Terminal *self, const char *bytes, gsize length)
{
  g_byte_array_append (self->pending, (const guint8 *) bytes, (guint) length);
  while (self->pending->len > 0)
    {
      const gsize n = take_one (self, (const char *) self->pending->data, self->pending->len);
      if (n == 0)
        return;
      g_byte_array_remove_range (self->pending, 0, (guint) n);
    }
}

/* FALSE when nothing more can come. */
static gboolean
pump (Terminal *self, int timeout_ms)
{
  struct pollfd poll_fd = { .fd = self->fd, .events = POLLIN };
  char bytes[4096];

  if (poll (&poll_fd, 1, timeout_ms) <= 0)
    return TRUE;
  const gssize n = read (self->fd, bytes, sizeof bytes);
  if (n > 0)
    take (self, bytes, (gsize) n);
  return n > 0 || (n < 0 && errno == EINTR);
}

char *
terminal_get_row (Terminal *self, int row)
{
  GString *text = g_string_new (NULL);

  for (int column = 0; column < self->columns; column++)
    {
      g_string_append_unichar (text,
                               self->cells[row][column] != 0 ? self->cells[row][column] : ' ');
    }
  return g_strchomp (g_string_free (text, FALSE));
}

char *
terminal_get_picture (Terminal *self)
{
  GString *text = g_string_new (NULL);

  for (int row = 0; row < self->rows; row++)
    {
      g_autofree char *line = terminal_get_row (self, row);
      g_string_append_printf (text, "|%s\n", line);
    }
  return g_string_free (text, FALSE);
}

static gboolean
shows (Terminal *self, const char *text)
{
  for (int row = 0; row < self->rows; row++)
    {
      g_autofree char *line = terminal_get_row (self, row);
      if (strstr (line, text) != NULL)
        return TRUE;
    }
  return FALSE;
}

static gboolean
shows_not (Terminal *self, const char *text)
{
  return !shows (self, text);
}

static gboolean
is_at (Terminal *self, const char *prompt)
{
  g_autofree char *line = terminal_get_row (self, self->row);
  return g_str_has_suffix (line, prompt);
}

static gboolean
wait_for (Terminal *self, gboolean (*is_so) (Terminal *, const char *), const char *text,
          int timeout_ms)
{
  const gint64 end = wait_now_ms () + timeout_ms;

  while (!is_so (self, text))
    if (wait_now_ms () >= end || !pump (self, 20))
      return is_so (self, text);
  return TRUE;
}

gboolean
terminal_wait_text (Terminal *self, const char *text, int timeout_ms)
{
  return wait_for (self, shows, text, timeout_ms);
}

gboolean
terminal_wait_no_text (Terminal *self, const char *text, int timeout_ms)
{
  return wait_for (self, shows_not, text, timeout_ms);
}

gboolean
terminal_wait_prompt (Terminal *self, const char *prompt, int timeout_ms)
{
  return wait_for (self, is_at, prompt, timeout_ms);
}

gboolean
terminal_wait_end (Terminal *self, int timeout_ms, int *status)
{
  /* What it writes has to be read, or it does not end. */
  const gint64 end = wait_now_ms () + timeout_ms;
  while (pump (self, 20) && wait_now_ms () < end)
    {
    }
  if (!process_wait (self->pid, (int) MAX (end - wait_now_ms (), 0), status))
    return FALSE;
  self->pid = 0;
  return TRUE;
}

gboolean
terminal_is_alternate (Terminal *self)
{
  return self->alternate;
}

int
terminal_get_n_scrolled (Terminal *self)
{
  return self->n_scrolled;
}

gboolean
terminal_has_colours (Terminal *self)
{
  return self->coloured;
}
