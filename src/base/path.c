/* Validates, splits, joins and escapes ZooKeeper paths.
 *
 * Mirrors ZooKeeper's PathUtils.validatePath and Curator's ZKPaths. Threads: any; pure, no lock.
 */
#include "base/path.h"

#include "base/tag.h"

#include <string.h>

/* Why one part of a path is invalid; NULL if it is valid. The same characters as PathUtils, which
 * checks UTF-16 units, so it refuses surrogates, and with them every character beyond the basic
 * plane. */
static const char *
fault_of_part (const char *part, gsize length)
{
  if (length == 0)
    return "one of its parts is empty";
  if (length <= 2 && strncmp (part, "..", length) == 0)
    return "one of its parts is relative (. or ..)";
  for (const char *at = part; at < part + length; at = g_utf8_next_char (at)) {
    const gunichar c = g_utf8_get_char (at);
    if (g_unichar_iscntrl (c))
      return "it contains a control character";
    if (c > 0xffff)
      return "it contains a character above U+FFFF, such as an emoji: ZooKeeper forbids them";
    if ((c >= 0xd800 && c <= 0xf8ff) || c >= 0xfff0)
      return "it contains a character that ZooKeeper forbids";
  }
  return NULL;
}

static const char *
fault_of_path (const char *path)
{
  if (path == NULL)
    return "it is NULL";
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
  const char *fault = NULL;
  for (const char *slash = path; fault == NULL && *slash != '\0'; slash += 1 + length) {
    length = strcspn (slash + 1, "/");
    fault = fault_of_part (slash + 1, length);
  }
  return fault;
}

/* An invalid name may have any length: the message has its start. */
static gboolean
report_fault (const char *what, const char *name, const char *fault, GError **error)
{
  if (fault == NULL)
    return TRUE;
  g_autofree char *head = g_strndup (name, 200);
  g_autofree char *shown = curator_path_escape (head);
  const char *rest = strlen (head) < strlen (name) ? "..." : "";
  return CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT, "invalid %s \"%s%s\": %s", what,
                         shown, rest, fault);
}

gboolean
curator_path_validate (const char *path, GError **error)
{
  return report_fault ("path", path != NULL ? path : "", fault_of_path (path), error);
}

gboolean
curator_namespace_validate (const char *namespace_, GError **error)
{
  if (namespace_ == NULL || *namespace_ == '\0')
    return report_fault ("namespace", "", "it is empty", error);
  g_autofree char *path = g_strconcat ("/", namespace_, NULL);

  return report_fault ("namespace", namespace_, fault_of_path (path), error);
}

/* Without one slash at the end. */
static gsize
trimmed_length (const char *text)
{
  const gsize length = strlen (text);
  return length > 0 && text[length - 1] == '/' ? length - 1 : length;
}

char *
curator_path_join (const char *parent, const char *child)
{
  const char *front = parent != NULL ? parent : "";
  const char *back = child != NULL ? child + (*child == '/' ? 1 : 0) : "";
  const gsize front_length = trimmed_length (front);
  const gsize back_length = trimmed_length (back);
  char *path = g_malloc (front_length + back_length + sizeof "//");
  char *to = path;

  if (front_length > 0 && *front != '/')
    *to++ = '/';
  to = (char *) memcpy (to, front, front_length) + front_length;
  if (front_length == 0 || back_length > 0)
    *to++ = '/';
  to = (char *) memcpy (to, back, back_length) + back_length;
  *to = '\0';
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

    /* g_unichar_isprint() accepts U+2028 and U+2029, which break lines. */
    if (valid && value != '\\' && value != 0x2028 && value != 0x2029 && g_unichar_isprint (value)) {
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
  return g_str_has_prefix (name, prefix) && strlen (name + length) == 10
         && strspn (name + length, G_CSET_DIGITS) == 10;
}
