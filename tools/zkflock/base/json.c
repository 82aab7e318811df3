/* Writes JSON: characters that a terminal would obey, or that nobody sees, as \u. Text that is not
 * UTF-8 is escaped by curator_escape_name(). */
#include "base/json.h"

#include "base/message.h"

#include <curator/curator.h>
#include <string.h>

static void
append_quoted (GString *out, const char *text)
{
  g_string_append_c (out, '"');
  for (const char *c = text; *c != '\0'; c = g_utf8_next_char (c)) {
    const gunichar value = g_utf8_get_char (c);
    if (value == '"' || value == '\\')
      g_string_append_printf (out, "\\%c", *c);
    else if (message_is_printable (value))
      g_string_append_unichar (out, value);
    else if (value <= 0xffff)
      g_string_append_printf (out, "\\u%04x", value);
    else
      g_string_append_printf (out, "\\u%04x\\u%04x", 0xd7c0 + (value >> 10),
                              0xdc00 + (value & 0x3ff));
  }
  g_string_append_c (out, '"');
}

/* A comma unless this is the first in its object or array. */
static void
begin_member (GString *out, const char *name)
{
  const char last = out->len > 0 ? out->str[out->len - 1] : '{';

  if (last != '{' && last != '[' && last != '\n')
    g_string_append_c (out, ',');
  if (name != NULL) {
    append_quoted (out, name);
    g_string_append_c (out, ':');
  }
}

void
json_begin (GString *out, const char *name, char bracket)
{
  begin_member (out, name);
  g_string_append_c (out, bracket);
}

void
json_end (GString *out, char bracket)
{
  g_string_append_c (out, bracket);
}

void
json_string (GString *out, const char *name, const char *bytes, gssize length)
{
  const gsize n = length < 0 ? strlen (bytes) : (gsize) length;
  const gboolean is_text =
      n == 0 || (memchr (bytes, '\0', n) == NULL && g_utf8_validate (bytes, (gssize) n, NULL));
  g_autofree char *text = is_text ? g_strndup (bytes, n) : curator_escape_name (bytes, (gssize) n);

  begin_member (out, name);
  append_quoted (out, text);
}

void
json_int (GString *out, const char *name, gint64 value)
{
  begin_member (out, name);
  g_string_append_printf (out, "%" G_GINT64_FORMAT, value);
}

void
json_bool (GString *out, const char *name, gboolean value)
{
  begin_member (out, name);
  g_string_append (out, value ? "true" : "false");
}

void
json_share (GString *out, const char *name, double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  begin_member (out, name);
  g_string_append (out, g_ascii_formatd (text, sizeof text, "%.6f", value));
}
