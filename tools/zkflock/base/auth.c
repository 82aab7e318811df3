/* Credentials, from a file that no other user can read. */
#include "base/auth.h"

#include "base/secret.h"

#include <gio/gio.h>
#include <string.h>

static void
free_line (gpointer line)
{
  secret_free (line);
}

static gboolean
parse_line (GPtrArray *credentials, const char *line, gsize length)
{
  if (length == 0 || *line == '#')
    return TRUE;
  char *copy = g_strndup (line, length);
  const char *colon = strchr (copy, ':');
  const gboolean fine = colon != NULL && colon != copy && colon[1] != '\0';
  if (!fine)
    {
      secret_free (copy);
      return FALSE;
    }
  g_ptr_array_add (credentials, copy);
  return TRUE;
}

static gboolean
parse_lines (GPtrArray *credentials, const char *text)
{
  gboolean fine = TRUE;

  for (const char *line = text; fine && *line != '\0';)
    {
      const gsize length = strcspn (line, "\r\n");
      fine = parse_line (credentials, line, length);
      line += length + strspn (line + length, "\r\n");
    }
  return fine && credentials->len > 0;
}

GPtrArray *
auth_read (const char *file, GError **error)
{
  g_autoptr (GPtrArray) credentials = g_ptr_array_new_with_free_func (free_line);
  char *text = secret_read (file, "auth file", error);

  if (text == NULL)
    return NULL;
  const gboolean fine = parse_lines (credentials, text);
  secret_free (text);
  if (!fine)
    {
      g_autofree char *shown = curator_escape_name (file, -1);
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_PERMISSION_DENIED,
                   "auth file %s: it must consist of lines of scheme:credentials", shown);
      return NULL;
    }
  return g_steal_pointer (&credentials);
}

void
auth_apply (CuratorClient *client, GPtrArray *credentials)
{
  for (guint i = 0; i < credentials->len; i++)
    {
      const char *line = g_ptr_array_index (credentials, i);
      const char *colon = strchr (line, ':');
      g_autofree char *scheme = g_strndup (line, (gsize) (colon - line));
      curator_client_add_auth (client, scheme, colon + 1, strlen (colon + 1));
    }
}
