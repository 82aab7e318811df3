#include "cli/terminal.h"

#include "support/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_SEQUENCE 32

Terminal *
terminal_start_words (int columns, int rows, const char *const *words, gsize n)
{
  const struct winsize size = { .ws_row = (unsigned short) rows,
                                .ws_col = (unsigned short) columns };
  Terminal *self = g_new0 (Terminal, 1);
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();

  for (gsize i = 0; i < n; i++)
    g_ptr_array_add (argv, (gpointer) words[i]);
  g_ptr_array_add (argv, NULL);
  g_assert (columns <= TERMINAL_MAX_COLUMNS && rows <= TERMINAL_MAX_ROWS);
  self->rows = rows;
  self->columns = columns;
  self->pending = g_byte_array_new ();
  self->pid = forkpty (&self->fd, NULL, NULL, &size);
  if (self->pid == 0) {
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    close_range (3, ~0U, 0);
    setenv ("TERM", "xterm", TRUE);
    execv (words[0], (char *const *) argv->pdata);
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

  g_assert (columns <= TERMINAL_MAX_COLUMNS && rows <= TERMINAL_MAX_ROWS);
  self->rows = rows;
  self->columns = columns;
  self->row = MIN (self->row, rows - 1);
  self->column = MIN (self->column, columns);
  ioctl (self->fd, TIOCSWINSZ, &size);
}

void
terminal_type (Terminal *self, const char *keys)
{
  for (gsize done = 0; done < strlen (keys);) {
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
  if (self->row + 1 < self->rows) {
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
  if (c == '\r') {
    self->column = 0;
  } else if (c == '\n') {
    line_feed (self);
  } else if (c == '\b') {
    self->column -= self->column > 0;
  } else if (c >= ' ') {
    if (self->column == self->columns) {
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

  switch (letter) {
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
    self->has_colours = TRUE;
    break;
  default:
    if (strcmp (parameters, "?1049") == 0)
      self->is_alternate = letter == 'h';
    break;
  }
}

/* How many bytes at the start of these make a whole; 0: more are needed. */
static gsize
take_one (Terminal *self, const char *bytes, gsize length)
{
  if (*bytes != '\x1b') {
    const gunichar c = g_utf8_get_char_validated (bytes, (gssize) length);
    if (c == (gunichar) -2)
      return 0;
    put (self, c == (gunichar) -1 ? '?' : c);
    return c == (gunichar) -1 ? 1 : (gsize) g_unichar_to_utf8 (c, NULL);
  }
  for (gsize i = 2; i < length && i < MAX_SEQUENCE; i++) {
    if (bytes[i] >= '@' && bytes[i] <= '~') {
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
  while (self->pending->len > 0) {
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

  for (int column = 0; column < self->columns; column++) {
    g_string_append_unichar (text, self->cells[row][column] != 0 ? self->cells[row][column] : ' ');
  }
  return g_strchomp (g_string_free (text, FALSE));
}

void
terminal_has_row (Terminal *self, int row, const char *start, const char *end)
{
  g_autofree char *text = terminal_get_row (self, row);
  if (!g_str_has_prefix (text, start) || !g_str_has_suffix (text, end))
    fail_msg ("row %d: \"%s\", not \"%s ... %s\"", row, text, start, end);
}

char *
terminal_get_picture (Terminal *self)
{
  GString *text = g_string_new (NULL);

  for (int row = 0; row < self->rows; row++) {
    g_autofree char *line = terminal_get_row (self, row);
    g_string_append_printf (text, "|%s\n", line);
  }
  return g_string_free (text, FALSE);
}

static gboolean
shows (Terminal *self, const char *text)
{
  g_autofree char *picture = terminal_get_picture (self);
  return strstr (picture, text) != NULL;
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

static void
assert_soon_so (Terminal *self, gboolean (*is_so) (Terminal *, const char *), const char *text,
                const char *what)
{
  if (!wait_for (self, is_so, text, CLI_MS)) {
    g_autofree char *picture = terminal_get_picture (self);
    fail_msg ("the terminal %s \"%s\":\n%s", what, text, picture);
  }
}

void
terminal_shows (Terminal *self, const char *text)
{
  assert_soon_so (self, shows, text, "does not show");
}

void
terminal_hides (Terminal *self, const char *text)
{
  assert_soon_so (self, shows_not, text, "still shows");
}

void
terminal_prompts (Terminal *self)
{
  assert_soon_so (self, is_at, "$", "has no prompt");
}

gboolean
terminal_wait_text (Terminal *self, const char *text, int timeout_ms)
{
  return wait_for (self, shows, text, timeout_ms);
}

void
terminal_look (Terminal *self, int ms)
{
  for (const gint64 end = wait_now_ms () + ms; wait_now_ms () < end;)
    pump (self, 20);
}

void
terminal_ends (Terminal *self, int exit_code)
{
  int status = 0;

  /* What it writes has to be read, or it does not end. */
  for (const gint64 end = wait_now_ms () + CLI_MS; pump (self, 20) && wait_now_ms () < end;) {
  }
  assert_true (process_wait (self->pid, CLI_MS, &status));
  self->pid = 0;
  assert_true (WIFEXITED (status));
  assert_int_equal (WEXITSTATUS (status), exit_code);
  assert_false (self->is_alternate);
}
