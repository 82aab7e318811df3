/* Text for people: columns, ages, labels. */
#include "output/text.h"

#include <curator/curator.h>
#include <sys/ioctl.h>
#include <unistd.h>

int
text_terminal_width (void)
{
  struct winsize size = { 0 };
  return ioctl (STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static int
width_of (gunichar c)
{
  return g_unichar_iszerowidth (c) ? 0 : g_unichar_iswide (c) ? 2 : 1;
}

int
text_width (const char *text)
{
  int width = 0;
  for (const char *c = text; *c != '\0'; c = g_utf8_next_char (c))
    width += width_of (g_utf8_get_char (c));
  return width;
}

static const char *
cut_mark (void)
{
  return g_get_charset (NULL) ? "…" : "~";
}

static void
pad (GString *out, int n)
{
  for (; n > 0; n--)
    g_string_append_c (out, ' ');
}

void
text_fit (GString *out, const char *text, int width, gboolean left)
{
  const int whole = text_width (text);

  if (width <= 0)
    return;
  if (whole <= width) {
    pad (out, left ? width - whole : 0);
    g_string_append (out, text);
    pad (out, left ? 0 : width - whole);
    return;
  }
  int used = 0;
  const char *c = text;
  while (used + width_of (g_utf8_get_char (c)) <= width - 1) {
    used += width_of (g_utf8_get_char (c));
    c = g_utf8_next_char (c);
  }
  g_string_append_len (out, text, c - text);
  g_string_append (out, cut_mark ());
  pad (out, width - 1 - used);
}

void
text_fit_end (GString *out, const char *text, int width)
{
  int left = text_width (text);
  const char *c = text;

  if (left <= width || width <= 0) {
    text_fit (out, text, width, FALSE);
    return;
  }
  for (; left > width - 1; c = g_utf8_next_char (c))
    left -= width_of (g_utf8_get_char (c));
  /* Skip combining characters whose base character was cut. */
  while (*c != '\0' && width_of (g_utf8_get_char (c)) == 0)
    c = g_utf8_next_char (c);
  g_string_append (out, cut_mark ());
  g_string_append (out, c);
  pad (out, width - 1 - left);
}

char *
text_age (gint64 ms)
{
  const gint64 s = MAX (ms, 0) / 1000;

  if (s < 60)
    return g_strdup_printf ("%ds", (int) s);
  if (s < 3600)
    return g_strdup_printf ("%dm%02ds", (int) (s / 60), (int) (s % 60));
  if (s < 86400)
    return g_strdup_printf ("%dh%02dm", (int) (s / 3600), (int) (s / 60 % 60));
  return g_strdup_printf ("%" G_GINT64_FORMAT "d%02dh", s / 86400, (int) (s / 3600 % 24));
}

char *
text_label (GBytes *bytes)
{
  gsize length;
  const char *data = g_bytes_get_data (bytes, &length);
  return length > 0 ? curator_escape_name (data, (gssize) length) : g_strdup ("-");
}
