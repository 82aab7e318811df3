/* Validates, splits, joins and escapes ZooKeeper paths.
 *
 * Mirrors ZooKeeper's PathUtils.validatePath and Curator's ZKPaths. Threads: any; pure, no lock.
 */
#include "base/path.h"

#include "curator/error.h"

#include <string.h>

/* The same characters as PathUtils. It checks UTF-16 units, so it refuses surrogates, and with them
 * every character beyond the basic plane. */
static gboolean
is_forbidden (gunichar c)
{
  return c <= 0x1f || (c >= 0x7f && c <= 0x9f) || (c >= 0xd800 && c <= 0xf8ff) || c >= 0xfff0;
}

static const char *
fault_of_character (gunichar c)
{
  return c > 0xffff
             ? "it contains a character above U+FFFF, such as an emoji: ZooKeeper forbids them"
         : g_unichar_iscntrl (c) ? "it contains a control character"
                                 : "it contains a character that ZooKeeper forbids";
}

/* Why one part of a path is invalid; NULL if it is valid. */
static const char *
fault_of_part (const char *part, gsize length)
{
  if (length == 0)
    return "one of its parts is empty";
  if (length <= 2 && strncmp (part, "..", length) == 0)
    return "one of its parts is relative (. or ..)";
  for (const char *c = part; c < part + length; c = g_utf8_next_char (c))
    if (is_forbidden (g_utf8_get_char (c)))
      return fault_of_character (g_utf8_get_char (c));
  return NULL;
}

static const char *
fault_of_parts (const char *path)
{
  const char *part = path + 1;

  for (;;) {
    gsize length = strcspn (part, "/");
    const char *fault = fault_of_part (part, length);

    if (fault != NULL || part[length] == '\0')
      return fault;
    part += length + 1;
  }
}

static const char *
fault_of_path (const char *path)
{
  if (*path != '/')
    return "it does not start with a slash";
  if (path[1] == '\0')
    return "the root cannot be a lock";
  gsize length = strlen (path);
  if (length > CURATOR_PATH_MAX_LENGTH)
    return "it is longer than 1024 bytes";
  if (path[length - 1] == '/')
    return "it ends with a slash";
  if (!g_utf8_validate (path, (gssize) length, NULL))
    return "it is not valid UTF-8";
  if (g_str_has_prefix (path, "/zookeeper") && (path[10] == '\0' || path[10] == '/'))
    return "/zookeeper is reserved for the server";
  return fault_of_parts (path);
}

/* Keeps messages short: an invalid name may have any length. */
static char *
shorten_and_escape (const char *name)
{
  g_autofree char *head = g_strndup (name, 200);
  g_autofree char *shown = curator_path_escape (head);

  return g_strconcat (shown, strlen (head) < strlen (name) ? "..." : "", NULL);
}

static gboolean
report_fault (const char *what, const char *name, const char *fault, GError **error)
{
  if (fault == NULL)
    return TRUE;
  g_autofree char *shown = shorten_and_escape (name);
  g_set_error (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT, "invalid %s \"%s\": %s", what,
               shown, fault);
  return FALSE;
}

gboolean
curator_path_validate (const char *path, GError **error)
{
  return report_fault ("path", path != NULL ? path : "",
                       path != NULL ? fault_of_path (path) : "it is NULL", error);
}

gboolean
curator_namespace_validate (const char *namespace_, GError **error)
{
  if (namespace_ == NULL || *namespace_ == '\0')
    return report_fault ("namespace", "", "it is empty", error);
  g_autofree char *path = g_strconcat ("/", namespace_, NULL);

  return report_fault ("namespace", namespace_, fault_of_path (path), error);
}

/* Skips one slash at the end and, if leading, one at the start. */
static const char *
trim_slashes (const char *text, gboolean leading, gsize *length)
{
  if (leading && *text == '/')
    text++;
  *length = strlen (text);
  if (*length > 0 && text[*length - 1] == '/')
    (*length)--;
  return text;
}

char *
curator_path_join (const char *parent, const char *child)
{
  gsize parent_length = 0;
  gsize child_length = 0;
  const char *parent_text = trim_slashes (parent != NULL ? parent : "", FALSE, &parent_length);
  const char *child_text = trim_slashes (child != NULL ? child : "", TRUE, &child_length);
  char *path = g_malloc (parent_length + child_length + sizeof "//");
  char *end = path;

  if (parent_length > 0) {
    *end = '/';
    end += *parent_text == '/' ? 0 : 1;
    end = (char *) memcpy (end, parent_text, parent_length) + parent_length;
  }
  if (child_length > 0 || parent_length == 0) {
    *end++ = '/';
    end = (char *) memcpy (end, child_text, child_length) + child_length;
  }
  *end = '\0';
  return path;
}

char *
curator_path_parent (const char *path)
{
  g_return_val_if_fail (path != NULL, NULL);

  const char *slash = strrchr (path, '/');

  return slash == NULL || slash == path ? g_strdup ("/") : g_strndup (path, (gsize) (slash - path));
}

const char *
curator_path_leaf (const char *path)
{
  g_return_val_if_fail (path != NULL, NULL);

  const char *slash = strrchr (path, '/');

  return slash != NULL ? slash + 1 : path;
}

/* g_unichar_isprint() accepts U+2028 and U+2029, which break lines. */
static gboolean
is_printable (gunichar c)
{
  return c != '\\' && c != 0x2028 && c != 0x2029 && g_unichar_isprint (c);
}

char *
curator_path_escape (const char *name)
{
  if (name == NULL)
    return g_strdup ("(null)");
  GString *shown = g_string_sized_new (strlen (name));

  for (const char *c = name; *c != '\0';) {
    gunichar value = g_utf8_get_char_validated (c, -1);
    gboolean valid = value != (gunichar) -1 && value != (gunichar) -2;
    const char *next = valid ? g_utf8_next_char (c) : c + 1;

    if (valid && is_printable (value)) {
      g_string_append_len (shown, c, next - c);
      c = next;
    }
    for (; c < next; c++)
      g_string_append_printf (shown, "\\x%02x", (guchar) *c);
  }
  return g_string_free (shown, FALSE);
}

gboolean
curator_path_is_numbered (const char *name, const char *prefix)
{
  const gsize length = strlen (prefix);
  return strncmp (name, prefix, length) == 0 && strlen (name) == length + 10
         && strspn (name + length, "0123456789") == 10;
}
