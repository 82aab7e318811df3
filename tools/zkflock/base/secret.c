/* Passwords and credentials, from files that no other user can read. */
#include "base/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SIZE  65536
#define AUTH_FILE "auth file "

static gboolean
refuse (GError **error, const char *file, const char *what, const char *why)
{
  g_autofree char *shown = curator_escape_name (file, -1);
  g_set_error (error, G_IO_ERROR, G_IO_ERROR_PERMISSION_DENIED, "%s%s: %s", what, shown, why);
  return FALSE;
}

static gboolean
check_file (int fd, const char *file, const char *what, gboolean is_secret, GError **error)
{
  struct stat info;

  if (fd < 0 || fstat (fd, &info) != 0)
    return refuse (error, file, what, g_strerror (errno));
  if (!S_ISREG (info.st_mode))
    return refuse (error, file, what, "not a regular file");
  if (is_secret && (info.st_mode & 077) != 0)
    return refuse (error, file, what,
                   "other users have access to it; its mode must be 0600 or stricter");
  if ((info.st_mode & 022) != 0)
    return refuse (error, file, what,
                   "other users can write it; its mode must be 0644 or stricter");
  return (info.st_uid == geteuid () || info.st_uid == 0)
         || refuse (error, file, what, "it belongs to another user");
}

/* -1 with error set. */
static int
open_own (const char *file, const char *what, gboolean is_secret, GError **error)
{
  const int fd = open (file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

  if (check_file (fd, file, what, is_secret, error))
    return fd;
  if (fd >= 0)
    close (fd);
  return -1;
}

gboolean
own_file_check (const char *file, GError **error)
{
  const int fd = open_own (file, "", FALSE, error);

  if (fd >= 0)
    close (fd);
  return fd >= 0;
}

char *
own_file_read (const char *file, const char *what, gboolean is_secret, GError **error)
{
  const int fd = open_own (file, what, is_secret, error);
  gssize length = 0;
  gssize n = 0;

  if (fd < 0)
    return NULL;
  char *text = g_malloc0 (MAX_SIZE + 2);
  while (length <= MAX_SIZE && (n = read (fd, text + length, (gsize) (MAX_SIZE + 1 - length))) > 0)
    length += n;
  const int number = errno;
  close (fd);
  if (n < 0 || length > MAX_SIZE || strlen (text) != (gsize) length) {
    refuse (error, file, what,
            n < 0               ? g_strerror (number)
            : length > MAX_SIZE ? "it is too large"
                                : "it contains a zero byte");
    explicit_bzero (text, MAX_SIZE + 1);
    g_clear_pointer (&text, g_free);
  }
  return text;
}

char *
secret_read_password (const char *file, const char *what, GError **error)
{
  char *text = own_file_read (file, what, TRUE, error);
  const gsize length = text != NULL ? strcspn (text, "\r\n") : 0;

  if (text == NULL)
    return NULL;
  const char *end = text + length;
  if (length == 0 || (*end != '\0' && strcmp (end, "\n") != 0 && strcmp (end, "\r\n") != 0)) {
    refuse (error, file, what, "it must consist of one line, the password");
    secret_free (text);
    return NULL;
  }
  text[length] = '\0';
  return text;
}

void
secret_free (char *secret)
{
  if (secret != NULL) {
    explicit_bzero (secret, strlen (secret));
    g_free (secret);
  }
}

static gboolean
parse_lines (GPtrArray *credentials, const char *text)
{
  for (gsize length; *text != '\0'; text += length + strspn (text + length, "\r\n")) {
    length = strcspn (text, "\r\n");
    if (length == 0 || *text == '#')
      continue;
    char *line = g_strndup (text, length);
    const char *colon = strchr (line, ':');
    g_ptr_array_add (credentials, line);
    if (colon == NULL || colon == line || colon[1] == '\0')
      return FALSE;
  }
  return credentials->len > 0;
}

GPtrArray *
credentials_read (const char *file, GError **error)
{
  g_autoptr (GPtrArray) credentials = g_ptr_array_new_with_free_func ((GDestroyNotify) secret_free);
  char *text = own_file_read (file, AUTH_FILE, TRUE, error);

  if (text == NULL)
    return NULL;
  const gboolean fine = parse_lines (credentials, text);
  secret_free (text);
  if (!fine) {
    refuse (error, file, AUTH_FILE, "it must consist of lines of scheme:credentials");
    return NULL;
  }
  return g_steal_pointer (&credentials);
}

void
credentials_apply (CuratorClient *client, GPtrArray *credentials)
{
  for (guint i = 0; i < credentials->len; i++) {
    const char *line = g_ptr_array_index (credentials, i);
    const char *colon = strchr (line, ':');
    g_autofree char *scheme = g_strndup (line, (gsize) (colon - line));
    curator_client_add_auth (client, scheme, colon + 1, strlen (colon + 1));
  }
}
