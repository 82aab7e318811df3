/* Escaping: the result is printable and can be unescaped to the input. */
#include "fuzz.h"

#include "base/path.h"

static char *
unescape (const char *shown)
{
  GString *text = g_string_new (NULL);
  while (*shown != '\0')
    {
      if (*shown != '\\')
        {
          g_string_append_c (text, *shown++);
          continue;
        }
      g_assert_true (shown[1] == 'x' && g_ascii_isxdigit (shown[2]) && g_ascii_isxdigit (shown[3]));
      g_string_append_c (
          text, (char) (g_ascii_xdigit_value (shown[2]) * 16 + g_ascii_xdigit_value (shown[3])));
      shown += 4;
    }
  return g_string_free (text, FALSE);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autofree char *name = fuzz_text (data, size);
  g_autofree char *shown = curator_path_escape (name);
  g_autofree char *back = unescape (shown);

  g_assert_true (g_utf8_validate (shown, -1, NULL));
  for (const char *c = shown; *c != '\0'; c = g_utf8_next_char (c))
    g_assert_true (g_unichar_isprint (g_utf8_get_char (c)));
  g_assert_cmpstr (back, ==, name);
  return 0;
}
