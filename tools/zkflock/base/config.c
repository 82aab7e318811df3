/* The configuration files: defaults for options about the servers. */
#include "base/exit_code.h"
#include "base/message.h"
#include "base/options-private.h"
#include "base/secret.h"

#include <curator/curator.h>
#include <string.h>
#include <sys/stat.h>

#define GROUP       "zkflock"
#define SYSTEM_FILE "/etc/zkflock.conf"

/* About the line that begins with that text, as a whole word. */
static gboolean
complain (const char *file, const char *text, const char *start, const char *what)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  g_autofree char *shown = curator_escape_name (start, -1);
  const gsize length = strlen (start);
  guint number = 1;

  for (guint i = 0; lines[i] != NULL; i++) {
    const char *line = lines[i] + strspn (lines[i], " \t");
    if (strncmp (line, start, length) == 0 && strchr (" \t\r=", line[length]) != NULL) {
      number = i + 1;
      break;
    }
  }
  return options_usage ("%s, line %u: %s %s", file, number, shown, what);
}

/* Takes one value; what another file has set stays. */
static gboolean
take_key (GKeyFile *parsed, const char *name, RawOptions *defaults, const char *file,
          const char *text)
{
  const OptionRow *row = option_rows;
  gint64 ms;

  while (row->name != NULL && ((row->uses & OPTION_IN_FILE) == 0 || strcmp (row->name, name) != 0))
    row++;
  if (row->name == NULL)
    return complain (file, text, name, "is no key of this file; see zkflock(1)");
  g_autofree char *value = g_key_file_get_string (parsed, GROUP, name, NULL);
  if (value == NULL || *value == '\0')
    return complain (file, text, name, "has no value");
  if (row->type == OPTION_SECONDS && !option_parse_seconds (value, &ms))
    return complain (file, text, name, "takes a number of seconds");
  char **to = option_given (defaults, row);
  if (*to == NULL)
    *to = g_steal_pointer (&value);
  return TRUE;
}

/* The first line that no configuration has, or 0. Whoever names another file by mistake may have
 * named a secret: the line itself is not shown. */
static guint
foreign_line (const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  gboolean has_group = FALSE;

  for (guint i = 0; lines[i] != NULL; i++) {
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
take_all (RawOptions *defaults, const char *file, const char *text)
{
  g_autoptr (GKeyFile) parsed = g_key_file_new ();
  const gboolean has_certificate = defaults->options.secure.tls_cert != NULL;
  const guint foreign = foreign_line (text);

  if (foreign != 0)
    return options_usage (
        "%s, line %u: %s", file, foreign,
        g_str_has_prefix (text, "\xef\xbb\xbf")
            ? "the file begins with a byte order mark; save it without"
            : "neither [" GROUP
              "], the only group, nor NAME = VALUE below it, nor # and a comment");
  if (!g_key_file_load_from_data (parsed, text, (gsize) -1, G_KEY_FILE_NONE, NULL))
    return options_usage ("%s: it is no configuration", file);
  g_auto (GStrv) names = g_key_file_get_keys (parsed, GROUP, NULL, NULL);
  for (char **name = names; name != NULL && *name != NULL; name++) {
    /* The keys that belong to one certificate come from one file. */
    if (!(has_certificate && g_str_has_prefix (*name, "tls-key"))
        && !take_key (parsed, *name, defaults, file, text))
      return FALSE;
  }
  return TRUE;
}

/* A file that nobody named may be missing. Whoever writes it decides which servers get our
 * passwords and whom we trust. */
static gboolean
read_one (RawOptions *defaults, const char *file, gboolean is_optional, int *exit_code)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *shown = curator_escape_name (file, -1);
  struct stat info;

  /* It may also be in a folder that is closed to us, such as the home of root in a container that
   * runs as somebody else. */
  if (is_optional && stat (file, &info) != 0)
    return TRUE;
  g_autofree char *text = own_file_read (file, "", FALSE, &error);
  *exit_code = text != NULL ? EXIT_CODE_USAGE : EXIT_CODE_REFUSED;
  if (text != NULL)
    return take_all (defaults, shown, text);
  print_error (NULL, "%s", error->message);
  return FALSE;
}

gboolean
config_read (RawOptions *defaults, int *exit_code)
{
  const char *named = g_getenv ("ZKFLOCK_CONFIG");
  /* g_get_user_config_dir() writes a warning for a user without an entry. */
  const char *folder = g_getenv ("XDG_CONFIG_HOME");
  const char *home = g_getenv ("HOME");
  g_autofree char *of_user = NULL;

  if (named != NULL)
    return *named == '\0' || read_one (defaults, named, FALSE, exit_code);
  if (folder != NULL && *folder == '/')
    of_user = g_build_filename (folder, "zkflock.conf", NULL);
  else if (home != NULL && *home == '/')
    of_user = g_build_filename (home, ".config", "zkflock.conf", NULL);
  return (of_user == NULL || read_one (defaults, of_user, TRUE, exit_code))
         && read_one (defaults, SYSTEM_FILE, TRUE, exit_code);
}
