#include "base/auth.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SIZE 65536

static void
free_wiped (gpointer line)
{
  explicit_bzero (line, strlen (line));
  g_free (line);
}

static gboolean
refuse (GError **error, const char *file, const char *why)
{
  g_autofree char *shown = curator_escape_name (file, -1);
  g_set_error (error, G_IO_ERROR, G_IO_ERROR_PERMISSION_DENIED, "auth file %s: %s", shown, why);
  return FALSE;
}

static gboolean
check_file (int fd, const char *file, GError **error)
{
  struct stat info;

  if (fd < 0 || fstat (fd, &info) != 0)
    {
      return refuse (error, file, g_strerror (errno));
    }
  if (!S_ISREG (info.st_mode))
    {
      return refuse (error, file, "not a regular file");
    }
  if ((info.st_mode & 077) != 0)
    {
      return refuse (error, file,
                     "other users have access to it; its mode must be 0600 or stricter");
    }
  if (info.st_uid != geteuid () && info.st_uid != 0)
    {
      return refuse (error, file, "it belongs to another user");
    }
  return info.st_size <= MAX_SIZE || refuse (error, file, "it is too large");
}

static gboolean
parse_line (GPtrArray *credentials, const char *line, gsize length)
{
  if (length == 0 || *line == '#')
    {
      return TRUE;
    }
  char *copy = g_strndup (line, length);
  const char *colon = strchr (copy, ':');
  const gboolean fine = colon != NULL && colon != copy && colon[1] != '\0';
  if (!fine)
    {
      free_wiped (copy);
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
  const int fd = open (file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  char text[MAX_SIZE + 1];
  g_autoptr (GPtrArray) credentials = g_ptr_array_new_with_free_func (free_wiped);
  gssize length = 0;
  gssize n = 0;

  if (!check_file (fd, file, error))
    {
      if (fd >= 0)
        {
          close (fd);
        }
      return NULL;
    }
  while (length < MAX_SIZE && (n = read (fd, text + length, (gsize) (MAX_SIZE - length))) > 0)
    {
      length += n;
    }
  close (fd);
  text[length] = '\0';
  const gboolean fine = n >= 0 && parse_lines (credentials, text);
  explicit_bzero (text, sizeof text);
  if (!fine)
    {
      refuse (error, file, "it must consist of lines of scheme:credentials");
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
