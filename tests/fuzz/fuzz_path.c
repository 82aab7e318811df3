/* Paths and namespaces: compared with the rules of Java's PathUtils, on UTF-16 units. Escaped, any
 * text is printable and can be unescaped. */
#include "fuzz.h"

#include "base/path.h"

static gboolean
java_accepts (const char *path)
{
  glong n = 0;
  g_autofree gunichar2 *units = g_utf8_to_utf16 (path, -1, NULL, &n, NULL);
  gunichar2 last = '/';

  if (units == NULL || n == 0 || units[0] != '/' || (n > 1 && units[n - 1] == '/'))
    return FALSE;
  for (glong i = 1; i < n; last = units[i], i++) {
    const gunichar2 c = units[i];
    const gboolean part_ends = i + 1 == n || units[i + 1] == '/';
    if ((c == '/' && last == '/')
        || (c == '.' && part_ends && (last == '/' || (last == '.' && units[i - 2] == '/')))
        || (c > 0x00 && c <= 0x1f) || (c >= 0x7f && c <= 0x9f) || (c >= 0xd800 && c <= 0xf8ff)
        || (c >= 0xfff0))
      return FALSE;
  }
  return TRUE;
}

static gboolean
we_may_accept (const char *path)
{
  return java_accepts (path) && strlen (path) > 1 && strlen (path) <= CURATOR_PATH_MAX_LENGTH
         && strcmp (path, "/zookeeper") != 0 && !g_str_has_prefix (path, "/zookeeper/");
}

static void
check_parts (const char *path)
{
  g_autofree char *parent = curator_path_parent (path);
  g_autofree char *whole = curator_path_join (parent, curator_path_leaf (path));
  g_autofree char *below = curator_path_join ("/base", path);
  g_assert_cmpstr (whole, ==, path);
  g_assert_true (g_str_has_prefix (below, "/base/"));
  g_assert_cmpstr (below + strlen ("/base"), ==, path);
}

static char *
unescape (const char *shown)
{
  GString *text = g_string_new (NULL);
  while (*shown != '\0') {
    if (*shown != '\\') {
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

static void
check_escape (const char *name)
{
  g_autofree char *shown = curator_path_escape (name);
  g_autofree char *back = unescape (shown);

  g_assert_true (g_utf8_validate (shown, -1, NULL));
  for (const char *c = shown; *c != '\0'; c = g_utf8_next_char (c))
    g_assert_true (g_unichar_isprint (g_utf8_get_char (c)));
  g_assert_cmpstr (back, ==, name);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autofree char *path = fuzz_text (data, size);
  g_autofree char *below_root = g_strconcat ("/", path, NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (GError) namespace_error = NULL;
  const gboolean accepted = curator_path_validate (path, &error);
  const gboolean is_namespace = curator_namespace_validate (path, &namespace_error);

  check_escape (path);
  g_assert_true (accepted == we_may_accept (path));
  g_assert_true (accepted == (error == NULL));
  g_assert_true (is_namespace == (*path != '\0' && we_may_accept (below_root)));
  g_assert_true (is_namespace == (namespace_error == NULL));
  g_assert_true (error == NULL || g_utf8_validate (error->message, -1, NULL));
  if (accepted) {
    check_parts (path);
  } else {
    g_autofree char *joined = curator_path_join (path, path);
    g_autofree char *parent = curator_path_parent (path);
    g_assert_true (*joined == '/');
    g_assert_cmpuint (strlen (parent), <=, MAX (strlen (path), 1));
    g_assert_nonnull (strstr (path, curator_path_leaf (path)));
  }
  return 0;
}
