/* Parses the command line. Short options mean what they mean in flock(1). Options end at PATH or
 * the verb. */
#include "base/exit_code.h"
#include "base/options-private.h"

#include <curator/curator.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>
#include <zookeeper/zookeeper_version.h>

static void
report_no_path (const char *word)
{
  const char *verb = hint_verb (word, options_verb_names + VERB_WHO);
  g_autofree char *shown = curator_escape_name (word, -1);

  if (verb != NULL)
    {
      options_usage ("\"%s\" is no verb, and a path begins with a slash; did you mean \"%s\"?",
                     shown, verb);
    }
  else
    {
      options_usage ("\"%s\" is no verb, and a path begins with a slash; see zkflock --help",
                     shown);
    }
}

static void
set_defaults (Options *options)
{
  *options = (Options){ .session_timeout_ms = 15000,
                        .wait_ms = -1,
                        .conflict_code = 1,
                        .kill_after_ms = 2000,
                        .top.interval_ms = 1000,
                        .status_fd = -1 };
}

static void
take (char **to, char **from)
{
  if (*from != NULL)
    {
      g_free (*to);
      *to = g_steal_pointer (from);
    }
}

/* FALSE: the settings of TLS and SASL make no sense; the reason has been printed. */
static gboolean
take_hosts (Options *options, RawOptions *raw, RawOptions *defaults)
{
  const char *hosts = g_getenv ("ZKFLOCK_HOSTS");

  options->secure = raw->secure;
  raw->secure = (Secure){ 0 };
  take (&options->hosts, &raw->hosts);
  if (options->hosts == NULL && hosts != NULL && *hosts != '\0')
    options->hosts = g_strdup (hosts);
  else if (options->hosts == NULL)
    take (&options->hosts, &defaults->hosts);
  g_autofree char *mistake = secure_settle (&options->secure, &defaults->secure, options->hosts);
  if (mistake != NULL)
    {
      options_usage ("%s", mistake);
      return FALSE;
    }
  if (options->hosts == NULL)
    options->hosts = g_strdup (options->secure.is_tls ? DEFAULT_SECURE_HOSTS : DEFAULT_HOSTS);
  return TRUE;
}

gboolean
options_lack_hosts (const Options *options)
{
  const char *hosts = g_getenv ("ZKFLOCK_HOSTS");
  return (hosts == NULL || *hosts == '\0')
         && (strcmp (options->hosts, DEFAULT_HOSTS) == 0
             || strcmp (options->hosts, DEFAULT_SECURE_HOSTS) == 0);
}

/* g_get_user_name () writes a warning where the user has no entry, as in many containers. */
static char *
user_name (void)
{
  const struct passwd *entry = getpwuid (getuid ());
  return entry != NULL ? g_filename_display_name (entry->pw_name)
                       : g_strdup_printf ("%u", (guint) getuid ());
}

static void
take_strings (Options *options, RawOptions *raw)
{
  take (&options->auth_file, &raw->auth_file);
  take (&options->label, &raw->label);
  if (options->label == NULL)
    {
      g_autofree char *user = user_name ();
      options->label = g_strdup_printf ("%s@%s:%d", user, g_get_host_name (), (int) getpid ());
    }
  options->verbose = raw->verbose;
  options->syslog = raw->syslog;
  options->json = raw->json;
  options->only_paths = raw->paths;
  options->agreed = raw->yes;
  options->revocable = raw->revocable;
  options->mixed = raw->mixed;
  options->hold = raw->hold;
  options->compression = raw->compression;
  options->mode = raw->shared           ? MODE_READ
                  : raw->exclusive      ? MODE_WRITE
                  : raw->leases != NULL ? MODE_SEMAPHORE
                                        : MODE_MUTEX;
}

/* words: those after PATH. */
static gboolean
parse_command (Options *options, char **words)
{
  const guint n = g_strv_length (words);

  if (n == 0)
    {
      if (options->min_hold_ms > 0)
        {
          options_usage ("--min-hold needs a COMMAND");
          return FALSE;
        }
      return TRUE;
    }
  if (options->hold)
    {
      options_usage ("--hold takes no COMMAND");
      return FALSE;
    }
  if (strcmp (words[0], "-c") == 0 || strcmp (words[0], "--command") == 0)
    {
      if (n != 2)
        {
          options_usage ("-c takes exactly one STRING");
          return FALSE;
        }
      const char *const shell[] = { "/bin/sh", "-c", words[1], NULL };
      options->command = g_strdupv ((char **) shell);
      return TRUE;
    }
  options->command = g_strdupv (words + (strcmp (words[0], "--") == 0 ? 1 : 0));
  if (options->command[0] == NULL || *options->command[0] == '\0')
    {
      options_usage ("COMMAND is missing");
      return FALSE;
    }
  return TRUE;
}

/* words: PATH and the words after it. */
static gboolean
parse_lock_words (Options *options, char **words, char **multi)
{
  g_autoptr (GPtrArray) paths = g_ptr_array_new ();

  if (words[0] == NULL)
    {
      options_usage ("PATH is missing; see zkflock --help");
      return FALSE;
    }
  if (*words[0] != '/')
    {
      report_no_path (words[0]);
      return FALSE;
    }
  g_ptr_array_add (paths, g_strdup (words[0]));
  for (guint i = 0; multi != NULL && multi[i] != NULL; i++)
    g_ptr_array_add (paths, g_strdup (multi[i]));
  g_ptr_array_add (paths, NULL);
  options->paths = (char **) g_ptr_array_free (g_steal_pointer (&paths), FALSE);
  return parse_command (options, words + 1);
}

static gboolean
parse_verb_words (Options *options, char **words)
{
  const gboolean is_optional =
      options->verb == VERB_TREE || options->verb == VERB_DOCTOR || options->verb == VERB_TOP;
  const char *const root[] = { "/", NULL };
  const guint n = g_strv_length (words);

  if (n == 0 && !is_optional)
    {
      options_usage ("%s: PATH is missing", options_verb_names[options->verb]);
      return FALSE;
    }
  if (n > 1 && options->verb != VERB_TOP)
    {
      options_usage ("%s takes one PATH", options_verb_names[options->verb]);
      return FALSE;
    }
  options->paths = g_strdupv (n > 0 ? words : (char **) root);
  return TRUE;
}

static Verb
verb_of (const char *word)
{
  for (int i = VERB_WHO; word != NULL && options_verb_names[i] != NULL; i++)
    {
      if (strcmp (word, options_verb_names[i]) == 0)
        return (Verb) i;
    }
  return VERB_LOCK;
}

static void
drop_separator (char **words)
{
  if (words[0] != NULL && strcmp (words[0], "--") == 0)
    {
      g_free (words[0]);
      memmove (words, words + 1, g_strv_length (words + 1) * sizeof *words + sizeof *words);
    }
}

/* Options, and the verb, which takes the place of the program's name. */
static gboolean
parse_options (Options *options, RawOptions *raw, char ***words)
{
  if (!options_parse_raw (raw, words, FALSE))
    return FALSE;
  options->verb = verb_of ((*words)[1]);
  if (options->verb == VERB_LOCK || raw->version)
    return TRUE;
  g_free ((*words)[0]);
  memmove (*words, *words + 1, g_strv_length (*words) * sizeof **words);
  return options_parse_raw (raw, words, TRUE);
}

/* What no variable of the environment sets but ZKFLOCK_OPTIONS. */
static void
take_defaults (RawOptions *raw, RawOptions *defaults)
{
  char **const pairs[][2] = { { &raw->times.session_timeout, &defaults->times.session_timeout },
                              { &raw->times.connect_timeout, &defaults->times.connect_timeout },
                              { &raw->times.kill_after, &defaults->times.kill_after },
                              { &raw->auth_file, &defaults->auth_file },
                              { &raw->acl, &defaults->acl },
                              { &raw->label, &defaults->label } };

  for (gsize i = 0; i < G_N_ELEMENTS (pairs); i++)
    {
      if (*pairs[i][0] == NULL)
        take (pairs[i][0], pairs[i][1]);
    }
}

static gboolean
parse (Options *options, RawOptions *raw, char ***words, int *exit_code)
{
  RawOptions defaults = { 0 };

  if (!parse_options (options, raw, words))
    return FALSE;
  if (raw->version)
    return TRUE;
  drop_separator (*words + 1);
  gboolean good = config_read (&defaults, exit_code);
  if (good)
    {
      take_defaults (raw, &defaults);
      take_strings (options, raw);
      *exit_code = EXIT_CODE_USAGE;
      good = take_hosts (options, raw, &defaults);
    }
  options_clear_raw (&defaults);
  return good && options_parse_values (options, raw) && options_check_combination (options, raw)
         && (options->verb == VERB_LOCK ? parse_lock_words (options, *words + 1, raw->multi)
                                        : parse_verb_words (options, *words + 1));
}

static char **
words_of (const char *first, char **second, char **third)
{
  GPtrArray *words = g_ptr_array_new ();

  g_ptr_array_add (words, g_strdup (first));
  for (char **word = second; *word != NULL; word++)
    g_ptr_array_add (words, g_strdup (*word));
  for (char **word = third; *word != NULL; word++)
    g_ptr_array_add (words, g_strdup (*word));
  g_ptr_array_add (words, NULL);
  return (char **) g_ptr_array_free (words, FALSE);
}

/* Puts the options of $ZKFLOCK_OPTIONS before those of the command line. */
static gboolean
add_environment (char ***words)
{
  const char *text = g_getenv ("ZKFLOCK_OPTIONS");
  g_auto (GStrv) options = NULL;
  g_autoptr (GError) error = NULL;
  RawOptions scratch = { 0 };

  if (text == NULL || text[strspn (text, " \t\n")] == '\0')
    return TRUE;
  if (!g_shell_parse_argv (text, NULL, &options, &error))
    {
      options_usage ("ZKFLOCK_OPTIONS: %s", error->message);
      return FALSE;
    }
  char *no_more[] = { NULL };
  g_auto (GStrv) alone = words_of ((*words)[0], options, no_more);
  const gboolean parsed = options_parse_raw (&scratch, &alone, FALSE);
  options_clear_raw (&scratch);
  if (!parsed)
    return FALSE;
  if (g_strv_length (alone) > 1)
    {
      options_usage ("ZKFLOCK_OPTIONS holds options only, not \"%s\"", alone[1]);
      return FALSE;
    }
  char **all = words_of ((*words)[0], options, *words + 1);
  g_strfreev (*words);
  *words = all;
  return TRUE;
}

static gboolean
check_command_line (char **argv, gboolean *waits)
{
  Options options = { 0 };
  RawOptions scratch = { 0 };
  g_auto (GStrv) words = g_strdupv (argv);
  const gboolean good =
      parse_options (&options, &scratch, &words) && options_check_verb (&options, &scratch);

  *waits = scratch.times.wait != NULL;
  options_clear_raw (&scratch);
  return good;
}

static const char *
yes_or_no (gboolean is_built_in)
{
  return is_built_in ? "yes" : "no";
}

static void
print_versions (void)
{
  g_autoptr (CuratorTls) tls = curator_tls_new ();
  g_autoptr (CuratorClient) client = curator_client_new ("localhost", NULL);

  g_print ("zkflock %d.%d.%d, libcurator %s, TLS: %s, SASL: %s\n", CURATOR_MAJOR_VERSION,
           CURATOR_MINOR_VERSION, CURATOR_MICRO_VERSION, curator_get_version (),
           yes_or_no (curator_client_set_tls (client, tls, NULL)),
           yes_or_no (curator_client_set_sasl_gssapi (client, NULL, NULL, NULL)));
  g_print ("libzookeeper %s (built against)\n", ZOO_VERSION);
}

gboolean
options_parse (Options *options, int argc, char **argv, int *exit_code)
{
  RawOptions raw = { 0 };
  g_auto (GStrv) words = g_strdupv (argv);

  set_defaults (options);
  *exit_code = EXIT_CODE_USAGE;
  const gboolean parsed = check_command_line (argv, &options->waits) && add_environment (&words)
                          && parse (options, &raw, &words, exit_code);
  const gboolean version = raw.version;
  options_clear_raw (&raw);
  if (parsed && version)
    print_versions ();
  *exit_code = parsed ? 0 : *exit_code;
  return parsed && !version;
}

void
options_clear (Options *options)
{
  g_free (options->hosts);
  g_free (options->label);
  g_free (options->auth_file);
  secure_clear (&options->secure);
  g_strfreev (options->command);
  g_strfreev (options->paths);
}

const char *
mode_to_string (const Options *options)
{
  static const char *const names[] = { "mutex", "read", "write", "semaphore" };
  return g_strv_length (options->paths) > 1 ? "multi" : names[options->mode];
}
