/* The configuration files: defaults for options about the servers. */
#include "base/exit_code.h"
#include "base/message.h"
#include "base/options-private.h"

#include <curator/curator.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GROUP        "zkflock"
#define SYSTEM_FILE  "/etc/zkflock.conf"
#define MAX_SIZE     65536
#define MAX_OF_FIELD 32

typedef struct
{
  const char *name; /* of the option, too */
  char **value;
} Key;

static void
list_keys (RawOptions *raw, Key *keys)
{
  const Key all[] = {
    { "hosts", &raw->hosts },
    { "session-timeout", &raw->times.session_timeout },
    { "connect-timeout", &raw->times.connect_timeout },
    { "kill-after", &raw->times.kill_after },
    { "label", &raw->label },
    { "auth-file", &raw->auth_file },
    { "acl", &raw->acl },
    { "tls-ca", &raw->secure.tls_ca },
    { "tls-crl", &raw->secure.tls_crl },
    { "tls-cert", &raw->secure.tls_cert },
    { "tls-key", &raw->secure.tls_key },
    { "tls-key-password-file", &raw->secure.tls_key_password_file },
    { "tls-server-name", &raw->secure.tls_server_name },
    { "sasl", &raw->secure.sasl_mechanism },
    { "sasl-user", &raw->secure.sasl_user },
    { "sasl-password-file", &raw->secure.sasl_password_file },
    { "sasl-server-principal", &raw->secure.sasl_server_principal },
    { NULL },
  };
  memcpy (keys, all, sizeof all);
}

static gboolean
refuse (const char *file, const char *why)
{
  print_error (NULL, "%s: %s", file, why);
  return FALSE;
}

/* Whoever writes the file decides which servers get our passwords and whom we trust. */
static gboolean
check_file (int fd, const char *file)
{
  struct stat info;

  if (fstat (fd, &info) != 0)
    return refuse (file, g_strerror (errno));
  if (!S_ISREG (info.st_mode))
    return refuse (file, "not a regular file");
  if (info.st_uid != geteuid () && info.st_uid != 0)
    return refuse (file, "it belongs to another user");
  if ((info.st_mode & 022) != 0)
    return refuse (file, "other users can write it; its mode must be 0644 or stricter");
  return info.st_size <= MAX_SIZE || refuse (file, "it is too large");
}

/* The text of the file that was checked. */
static char *
read_file (int fd, const char *file)
{
  char *text = g_malloc0 (MAX_SIZE + 1);
  gssize length = 0;
  gssize n = 0;

  while (length < MAX_SIZE && (n = read (fd, text + length, (gsize) (MAX_SIZE - length))) > 0)
    length += n;
  if (n < 0)
    {
      refuse (file, g_strerror (errno));
      g_clear_pointer (&text, g_free);
    }
  return text;
}

/* The number of the line that begins with that text, as a whole word. */
static guint
line_of (const char *text, const char *start)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  const gsize length = strlen (start);

  for (guint i = 0; lines[i] != NULL; i++)
    {
      const char *line = lines[i] + strspn (lines[i], " \t");
      if (strncmp (line, start, length) == 0 && strchr (" \t\r=", line[length]) != NULL)
        return i + 1;
    }
  return 1;
}

static gboolean
complain (const char *file, const char *text, const char *start, const char *what)
{
  g_autofree char *shown = curator_escape_name (start, -1);
  print_error (NULL, "%s, line %u: %s %s", file, line_of (text, start), shown, what);
  return FALSE;
}

static gboolean
is_seconds (const char *value)
{
  char *end;
  const double seconds = g_ascii_strtod (value, &end);
  return end != value && *end == '\0' && seconds >= 0 && seconds <= 1e6;
}

/* Takes one value; what another file has set stays. */
static gboolean
take_key (GKeyFile *parsed, const char *name, const Key *keys, const char *file, const char *text)
{
  while (keys->name != NULL && strcmp (keys->name, name) != 0)
    keys++;
  if (keys->name == NULL)
    return complain (file, text, name, "is no key of this file; see zkflock(1)");
  g_autofree char *value = g_key_file_get_string (parsed, GROUP, name, NULL);
  if (value == NULL || *value == '\0')
    return complain (file, text, name, "has no value");
  if ((g_str_has_suffix (name, "-timeout") || strcmp (name, "kill-after") == 0)
      && !is_seconds (value))
    {
      return complain (file, text, name, "takes a number of seconds");
    }
  if (*keys->value == NULL)
    *keys->value = g_steal_pointer (&value);
  return TRUE;
}

/* The keys that belong to one certificate come from one file. */
static gboolean
is_of_another_certificate (const RawOptions *defaults, gboolean has_certificate, const char *name)
{
  return has_certificate && defaults->secure.tls_cert != NULL && g_str_has_prefix (name, "tls-key");
}

/* The first line that no configuration has, or 0. Whoever names another file by mistake may have named a secret: the
 * line itself is not shown. */
static guint
foreign_line (const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  gboolean has_group = FALSE;

  for (guint i = 0; lines[i] != NULL; i++)
    {
      const char *line = g_strstrip (lines[i]);
      if (*line == '\0' || *line == '#')
        continue;
      if (*line == '[' ? strcmp (line, "[" GROUP "]") != 0
                       : !has_group || *line == '=' || strchr (line, '=') == NULL)
        return i + 1;
      has_group = TRUE;
    }
  return 0;
}

static gboolean
complain_of_line (const char *file, const char *text, guint line)
{
  static const char mark[] = "\xef\xbb\xbf";

  print_error (NULL, "%s, line %u: %s", file, line,
               g_str_has_prefix (text, mark)
                   ? "the file begins with a byte order mark; save it without"
                   : "neither [" GROUP "], the only group, nor NAME = VALUE below it, nor # and a "
                     "comment");
  return FALSE;
}

static gboolean
take_all (RawOptions *defaults, const char *file, const char *text)
{
  g_autoptr (GKeyFile) parsed = g_key_file_new ();
  const gboolean has_certificate = defaults->secure.tls_cert != NULL;
  Key keys[MAX_OF_FIELD];

  list_keys (defaults, keys);
  const guint foreign = foreign_line (text);
  if (foreign != 0)
    return complain_of_line (file, text, foreign);
  if (!g_key_file_load_from_data (parsed, text, (gsize) -1, G_KEY_FILE_NONE, NULL))
    return refuse (file, "it is no configuration");
  g_auto (GStrv) names = g_key_file_get_keys (parsed, GROUP, NULL, NULL);
  for (char **name = names; name != NULL && *name != NULL; name++)
    {
      if (!is_of_another_certificate (defaults, has_certificate, *name)
          && !take_key (parsed, *name, keys, file, text))
        {
          return FALSE;
        }
    }
  return TRUE;
}

/* FALSE also if it is in a folder that is closed to us, such as the home of root in a container that
 * runs as somebody else. */
static gboolean
is_there (const char *file)
{
  struct stat info;
  return stat (file, &info) == 0;
}

/* A file that nobody named may be missing. */
static gboolean
read_one (RawOptions *defaults, const char *file, gboolean is_optional, int *exit_code)
{
  g_autofree char *shown = curator_escape_name (file, -1);
  const int fd = open (file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

  *exit_code = EXIT_CODE_REFUSED;
  if (fd < 0)
    {
      const int number = errno;
      return (is_optional && !is_there (file)) || refuse (shown, g_strerror (number));
    }
  g_autofree char *text = check_file (fd, shown) ? read_file (fd, shown) : NULL;
  close (fd);
  if (text == NULL)
    return FALSE;
  *exit_code = EXIT_CODE_USAGE;
  return take_all (defaults, shown, text);
}

/* g_get_user_config_dir() writes a warning for a user without an entry. */
static char *
user_file (void)
{
  const char *folder = g_getenv ("XDG_CONFIG_HOME");
  const char *home = g_getenv ("HOME");

  if (folder != NULL && *folder == '/')
    return g_build_filename (folder, "zkflock.conf", NULL);
  return home != NULL && *home == '/' ? g_build_filename (home, ".config", "zkflock.conf", NULL)
                                      : NULL;
}

gboolean
config_read (RawOptions *defaults, int *exit_code)
{
  const char *named = g_getenv ("ZKFLOCK_CONFIG");
  g_autofree char *of_user = user_file ();

  if (named != NULL)
    return *named == '\0' || read_one (defaults, named, FALSE, exit_code);
  return (of_user == NULL || read_one (defaults, of_user, TRUE, exit_code))
         && read_one (defaults, SYSTEM_FILE, TRUE, exit_code);
}
